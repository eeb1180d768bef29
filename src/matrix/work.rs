//! The remaining runs, handed out in pieces until none is left or the user interrupts.
//!
//! A piece of work consists of some seeds of one cell, so that a matrix with few cells and many seeds uses all CPUs,
//! like a matrix with many cells and few seeds.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::progress::RunReport;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// Index of the cell, the cell, and some of its runs, counted from the cell's first seed.
type Piece = (usize, Arc<Task>, Range<u64>);

/// The remaining work, and the channel for its results.
pub struct Work {
    runner: Arc<Runner>,
    jobs: usize,
    pieces: Mutex<Box<dyn Iterator<Item = Piece> + Send>>,
    /// One permit for each run that may be in progress.
    permits: Semaphore,
    interrupt: Interrupt,
    tell: UnboundedSender<RunReport>,
}

impl Work {
    /// Creates work of `runs` runs for each of these new cells, `jobs` at a time. Their reports are sent to `tell`.
    pub fn new(
        runner: Arc<Runner>,
        cells: Vec<(usize, Arc<Task>)>,
        runs: u64,
        jobs: usize,
        interrupt: Interrupt,
        tell: UnboundedSender<RunReport>,
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
            jobs,
            pieces: Mutex::new(Box::new(pieces)),
            permits: Semaphore::new(jobs),
            interrupt,
            tell,
        }
    }

    /// Does all the work. After the user interrupts, nothing new begins: running processes end gracefully, and running
    /// simulations finish without a report.
    pub async fn run(self) {
        let work = Arc::new(self);
        let mut takers = JoinSet::new();
        for _ in 0..work.jobs {
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
            let needs = self.runner.needs(&task, self.jobs);
            // The semaphore is never closed.
            let Ok(permits) = self.permits.acquire_many(needs).await else {
                return;
            };
            // A closed channel means that the results are no longer needed.
            if self.interrupt.is_wanted() || self.tell.send(RunReport::Begun(index)).is_err() {
                return;
            }
            let seeds: Vec<u64> = runs.map(|run| task.spec.seed + run).collect();
            let Some(results) = self.runner.run(&task, &seeds).await else {
                return;
            };
            drop(permits);
            for (seed, result) in seeds.into_iter().zip(results) {
                let report = RunReport::Ended(index, seed, result.map(Box::new));
                if self.tell.send(report).is_err() {
                    return;
                }
            }
        }
    }
}
