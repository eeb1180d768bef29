//! Runs a search on separate threads, shows its progress, and ends it when required.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::ProgressBar;
use picklock_harness::clock::Clock;
use picklock_harness::search::{Progress, Violation};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::units::{count, span_ms};

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::status_line::StatusLine;

/// Time of the first occurrence of each violation, in seconds since the search began.
pub type SeenAfter = BTreeMap<Violation, f64>;

/// The signals that end a search early: the user, or its time limit. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Ends the search.
    pub search: Arc<AtomicBool>,
    /// Also ends everything after the search.
    pub all: Arc<AtomicBool>,
}

/// Shows the progress of a search.
pub struct SearchProgress {
    shown: StatusLine,
    clock: Clock,
    seen: SeenAfter,
    time: Option<Duration>,
    next_line_s: f64,
}

/// Minimum time between lines in a file or pipe, in seconds.
const LINE_EVERY_S: f64 = 10.0;

impl SearchProgress {
    /// Creates the display. `time` is the time limit of the search.
    pub fn new(quiet: bool, time: Option<Duration>) -> SearchProgress {
        let template = "{spinner} {elapsed} {wide_msg}";
        SearchProgress {
            shown: StatusLine::new(quiet, ProgressBar::new_spinner, template),
            clock: Clock::start(),
            seen: SeenAfter::new(),
            time,
            next_line_s: LINE_EVERY_S,
        }
    }

    /// Shows the current progress.
    pub fn show(&mut self, progress: &Progress<'_>) {
        let elapsed_s = self.clock.elapsed().as_secs_f64();
        for violation in progress.counterexamples.violations() {
            self.seen.entry(violation).or_insert_with(|| {
                let Violation { property, cause } = violation;
                let runs = count(progress.schedules, "schedule");
                let after_s = format!("{elapsed_s:.1}");
                let line = inert!(
                    "found after {} s and {}: {} violated: {}",
                    after_s,
                    runs,
                    property,
                    cause
                );
                self.shown.print_line(&line);
                elapsed_s
            });
        }
        let line = self.line(progress, elapsed_s);
        match &self.shown {
            StatusLine::Bar(bar) => bar.show(&line),
            StatusLine::Lines if elapsed_s >= self.next_line_s => {
                self.next_line_s = elapsed_s + LINE_EVERY_S;
                self.shown.print_line(&line);
            }
            _ => {}
        }
    }

    fn line(&self, progress: &Progress<'_>, elapsed_s: f64) -> Inert {
        let rate = progress.schedules as f64 / elapsed_s.max(0.001);
        let schedules = count(progress.schedules, "schedule");
        let mut line = format!("{schedules} · {rate:.0} a second");
        let by_count = progress.done.filter(|done| *done > 0.0).map(|done| {
            line.push_str(&format!(" · {} %", (100.0 * done) as u64));
            elapsed_s * (1.0 - done) / done
        });
        let by_time = self.time.map(|it| (it.as_secs_f64() - elapsed_s).max(0.0));
        let left_s = by_count.into_iter().chain(by_time).reduce(f64::min);
        if let Some(left_s) = left_s {
            line.push_str(&format!(" · {} left", span_ms((left_s * 1e3) as u64)));
        }
        let best = progress.counterexamples.simplest_violation();
        if let Some(Violation { property, cause }) = best {
            let others = progress.counterexamples.violations().len() - 1;
            line.push_str(&format!(" · best: {property}: {cause}"));
            if others > 0 {
                line.push_str(&format!(" and {others} more"));
            }
        }
        inert!("{}", line)
    }
}

/// Does the work on a thread that may block, and stops it when the user interrupts or its time is over. Returns the
/// result of the work, the time of the first occurrence of each violation, and the duration in seconds.
///
/// # Errors
/// Returns an error if the thread panicked, which is a defect of Picklock.
pub async fn search<T: Send + 'static>(
    interrupt: &Interrupt,
    stop: &Stop,
    mut progress: SearchProgress,
    work: impl FnOnce(&AtomicBool, &mut SearchProgress) -> T + Send + 'static,
) -> Result<(T, SeenAfter, f64), Failure> {
    let (time, clock) = (progress.time, Clock::start());
    let own = stop.clone();
    let working = on_blocking_thread(interrupt, stop, move || {
        let done = work(&own.search, &mut progress);
        (done, progress.seen)
    });
    let over = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let mut working = std::pin::pin!(working);
    let done = tokio::select! {
        done = &mut working => done,
        () = over => {
            stop.search.store(true, Ordering::Relaxed);
            working.await
        }
    };
    let (done, seen) = done?;
    Ok((done, seen, clock.elapsed().as_secs_f64()))
}

/// Does some work on a thread that may block, and stops everything when the user interrupts.
///
/// # Errors
/// Returns an error if the thread panicked, which is a defect of Picklock.
pub async fn on_blocking_thread<T: Send + 'static>(
    interrupt: &Interrupt,
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let mut working = tokio::task::spawn_blocking(work);
    let done = tokio::select! {
        done = &mut working => done,
        () = interrupt.clone().wanted() => {
            stop.search.store(true, Ordering::Relaxed);
            stop.all.store(true, Ordering::Relaxed);
            working.await
        }
    };
    done.map_err(|error| Failure::Environment(inert!("the search failed: {}", error)))
}
