//! Cells of the simulation, run by threads that share the work.
//!
//! A piece of work is some seeds of one cell, so that a matrix with few cells and many seeds uses
//! all processors, like one with many cells and few seeds. Each history is judged and dropped on
//! the thread that made it; only a few numbers are passed on.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use picklock_harness::assemble::counts;
use picklock_harness::check::judge;
use picklock_harness::context::Plan;
use picklock_harness::history::History;
use picklock_harness::latency;
use picklock_harness::record::Redis;
use picklock_harness::run::modelled;
use picklock_harness::sim::{Simulation, run_many};
use tokio::sync::mpsc::UnboundedSender;

use super::cell_builder::RunResult;
use super::cell_latency::RunLatency;
use super::pieces::Pieces;
use super::progress::RunReport;
use super::selection::Task;
use crate::lock::in_process;

/// The most seeds in one piece: enough to outweigh a thread's cost, few enough to share out.
const LARGEST_PIECE: u64 = 25;

/// The remaining work, and where results go.
struct Work {
    pieces: Mutex<Pieces>,
    stop: Arc<AtomicBool>,
    tell: UnboundedSender<RunReport>,
}

/// Starts the threads; their results arrive as [`RunReport`]. No new piece begins once `stop` is
/// set.
pub fn start(
    tasks: &[(usize, Arc<Task>)],
    seeds: u64,
    jobs: usize,
    stop: Arc<AtomicBool>,
    tell: UnboundedSender<RunReport>,
) {
    let work = Arc::new(Work {
        pieces: Mutex::new(Pieces::of(tasks, seeds, LARGEST_PIECE)),
        stop,
        tell,
    });
    for _ in 0..jobs {
        let work = Arc::clone(&work);
        std::thread::spawn(move || work.take_pieces());
    }
}

impl Work {
    fn take_pieces(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((index, task, runs)) = pieces.next() else {
                return;
            };
            drop(pieces);
            // Without a receiver the results are no longer wanted.
            if self.tell.send(RunReport::Begun(index)).is_err()
                || !self.simulate(index, &task, runs)
            {
                return;
            }
        }
    }

    /// False if the receiver is gone.
    fn simulate(&self, index: usize, task: &Task, runs: Range<u64>) -> bool {
        let mut seeds = runs.map(|run| task.spec.seed + run);
        let results = match in_process(&task.spec.lock) {
            Ok(lock) => {
                let plan = task.spec.plan();
                let simulation = |seed| Simulation {
                    plan: Plan {
                        seed,
                        ..plan.clone()
                    },
                    lock: lock.clone(),
                    log: None,
                };
                run_many(seeds.clone().map(simulation).collect(), evaluate)
            }
            Err(failure) => {
                let failed = |seed| RunReport::Failed(index, seed, failure.to_string());
                return seeds.all(|seed| self.tell.send(failed(seed)).is_ok());
            }
        };
        seeds.zip(results).all(|(seed, result)| {
            let report = match result {
                Ok(result) => {
                    let redis = modelled(task.spec.plan().model);
                    RunReport::Ran(index, Box::new(RunResult { redis, ..result }))
                }
                Err(error) => RunReport::Failed(index, seed, error.to_string()),
            };
            self.tell.send(report).is_ok()
        })
    }
}

fn evaluate(history: History) -> RunResult {
    RunResult {
        seed: history.header.seed,
        verdicts: judge(&history),
        counts: counts(&history),
        latency: RunLatency::Samples(latency::samples(&history)),
        version: None,
        redis: Redis::default(),
        elapsed_ms: None,
        repeats: 0,
    }
}
