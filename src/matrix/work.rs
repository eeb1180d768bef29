//! The remaining runs, handed out in pieces until none is left or the user interrupts.
//!
//! A piece of work consists of some seeds of one cell, so that a matrix with few cells and many seeds uses all CPUs,
//! like a matrix with many cells and few seeds.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use picklock_harness::clock::Clock;
use procfs_core::process::Stat;
use procfs_core::{FromRead, LoadAverage};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::progress::RunReport;
use super::request::processors;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// Index of the cell, the cell, and some of its runs, counted from the cell's first seed.
type Piece = (usize, Arc<Task>, Range<u64>);

/// The remaining work, and the channel for its results.
pub struct Work {
    runner: Arc<Runner>,
    /// Maximum number of parallel runs. Doubles once the runs turn out to wait most of the time.
    jobs: AtomicUsize,
    max_jobs: usize,
    /// The number of runs that ended, and how long they took in total.
    ended: Mutex<(usize, Duration)>,
    pieces: Mutex<Box<dyn Iterator<Item = Piece> + Send>>,
    /// One permit for each run that may be in progress.
    permits: Semaphore,
    interrupt: Interrupt,
    reports: UnboundedSender<RunReport>,
}

impl Work {
    /// Creates work of `runs` runs for each of these new cells. `jobs` is the initial and the maximum number of
    /// parallel runs. The results are sent to `reports`.
    pub fn new(
        runner: Arc<Runner>,
        cells: Vec<(usize, Arc<Task>)>,
        runs: u64,
        (jobs, max_jobs): (usize, usize),
        interrupt: Interrupt,
        reports: UnboundedSender<RunReport>,
    ) -> Work {
        let largest = runner.largest_piece();
        // Lazy, because a user may ask for more runs than any list could hold.
        let pieces = cells.into_iter().flat_map(move |(index, task)| {
            (0..runs.div_ceil(largest)).map(move |piece| {
                let first = piece * largest;
                let end = runs.min(first.saturating_add(largest));
                (index, Arc::clone(&task), first..end)
            })
        });
        Work {
            runner,
            jobs: AtomicUsize::new(jobs),
            max_jobs,
            ended: Mutex::default(),
            pieces: Mutex::new(Box::new(pieces)),
            permits: Semaphore::new(jobs),
            interrupt,
            reports,
        }
    }

    /// Does all the work. After the user interrupts, nothing new begins: running processes end gracefully, and running
    /// simulations finish without a report.
    pub async fn run(self) {
        let work = Arc::new(self);
        let mut takers = JoinSet::new();
        for _ in 0..work.max_jobs {
            let taker = Arc::clone(&work);
            match *work.runner {
                // A simulation blocks its thread.
                Runner::Simulation => {
                    takers.spawn_blocking(move || Handle::current().block_on(taker.take_pieces()))
                }
                Runner::Servers(_) => takers.spawn_local(async move { taker.take_pieces().await }),
            };
        }
        takers.join_all().await;
    }

    fn next_piece(&self) -> Option<Piece> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.next()
    }

    async fn take_pieces(&self) {
        loop {
            let Some((index, task, runs)) = self.next_piece() else {
                return;
            };
            let jobs = self.jobs.load(Ordering::Relaxed);
            let needs = self.runner.needs(&task, jobs);
            // The semaphore is never closed.
            let Ok(permits) = self.permits.acquire_many(needs).await else {
                return;
            };
            // A closed channel means that the results are no longer needed.
            if self.interrupt.is_wanted() || self.reports.send(RunReport::Begun(index)).is_err() {
                return;
            }
            let seeds: Vec<u64> = runs.map(|run| task.spec.seed + run).collect();
            let clock = Clock::start();
            let Some(results) = self.runner.run(&task, &seeds).await else {
                return;
            };
            drop(permits);
            self.widen(clock.elapsed());
            for (seed, result) in seeds.into_iter().zip(results) {
                let report = RunReport::Ended(index, seed, result.map(Box::new));
                if self.reports.send(report).is_err() {
                    return;
                }
            }
        }
    }

    /// Counts a run that ended. Allows more parallel runs if the CPUs were mostly idle so far, because a run on servers
    /// mostly waits for leases.
    fn widen(&self, took: Duration) {
        let jobs = self.jobs.load(Ordering::Relaxed);
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.0 += 1;
        ended.1 += took;
        if jobs >= self.max_jobs || ended.0 < jobs {
            return;
        }
        let (Some(busy), Some(load)) = (children_cpu_time(), load_average()) else {
            return;
        };
        let busy_at_once = busy.as_secs_f64() / ended.1.as_secs_f64() * self.max_jobs as f64;
        let is_free = load <= MAX_LOAD * processors() as f64;
        if is_free && busy_at_once <= BUSY_PART * jobs as f64 {
            self.jobs.store(self.max_jobs, Ordering::Relaxed);
            self.permits.add_permits(self.max_jobs - jobs);
        }
    }
}

/// Maximum part of the CPUs that more parallel runs may be expected to keep busy.
const BUSY_PART: f64 = 0.6;

/// Maximum load of the machine, per CPU, at which more parallel runs are allowed.
const MAX_LOAD: f64 = 2.0;

/// Returns the load of the machine in the last minute: the average number of threads that run or wait for a CPU.
fn load_average() -> Option<f64> {
    let load = LoadAverage::from_file("/proc/loadavg").ok()?;
    Some(f64::from(load.one))
}

/// The unit of CPU times in `/proc`, on every architecture.
const TICK_MS: u64 = 10;

/// Returns the CPU time of all ended child processes, including that of the descendants for which they waited.
fn children_cpu_time() -> Option<Duration> {
    let stat = Stat::from_file("/proc/self/stat").ok()?;
    let ticks = u64::try_from(stat.cutime + stat.cstime).ok()?;
    Some(Duration::from_millis(ticks * TICK_MS))
}
