//! Cells of the simulation: threads that take pieces of the work until there are none.
//!
//! A piece is some seeds of one cell, so that a matrix of few cells and many seeds keeps every
//! processor as busy as one of many cells and few seeds. Each history is judged on the thread that
//! made it, and dropped there: what goes on is a few numbers.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use picklock_harness::assemble::counts;
use picklock_harness::check::judge;
use picklock_harness::history::History;
use picklock_harness::latency;
use picklock_harness::sim::{Simulation, run_many};
use tokio::sync::mpsc::UnboundedSender;

use super::gathering::{Looked, Measured};
use super::progress::News;
use super::selection::Task;
use crate::sim_run::simulation;

/// The most seeds of one piece: enough to make nothing of a thread's cost, few enough to share out.
const LARGEST_PIECE: u64 = 25;

/// Number of the cell, the cell, and runs of it.
type Piece = (usize, Arc<Task>, Range<u64>);

/// What is left to do, and who wants to know. Runs are counted from the cell's first seed.
struct Work {
    pieces: Mutex<VecDeque<Piece>>,
    stop: Arc<AtomicBool>,
    tell: UnboundedSender<News>,
}

/// Starts the threads; their results come as [`News`]. Once `stop` is set, no new piece is begun.
pub fn start(
    tasks: &[(usize, Arc<Task>)],
    seeds: u64,
    jobs: usize,
    stop: Arc<AtomicBool>,
    tell: UnboundedSender<News>,
) {
    let mut pieces = VecDeque::new();
    for (index, task) in tasks {
        let mut done = 0;
        while done < seeds {
            let end = seeds.min(done + LARGEST_PIECE);
            pieces.push_back((*index, Arc::clone(task), done..end));
            done = end;
        }
    }
    let work = Arc::new(Work {
        pieces: Mutex::new(pieces),
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
            let Some((index, task, runs)) = pieces.pop_front() else {
                return;
            };
            drop(pieces);
            // Nobody listens any more: there is nobody to work for.
            if self.tell.send(News::Begun(index)).is_err() || !self.simulate(index, &task, runs) {
                return;
            }
        }
    }

    /// False when nobody listens any more.
    fn simulate(&self, index: usize, task: &Task, runs: Range<u64>) -> bool {
        let mut seeds = runs.map(|run| task.order.seed + run);
        let simulations: Result<Vec<Simulation>, _> = seeds
            .clone()
            .map(|seed| simulation(&task.order.with_seed(seed)))
            .collect();
        let results = match simulations {
            Ok(simulations) => run_many(simulations, look),
            Err(failure) => {
                let failed = |seed| News::Failed(index, seed, failure.to_string());
                return seeds.all(|seed| self.tell.send(failed(seed)).is_ok());
            }
        };
        seeds.zip(results).all(|(seed, result)| {
            let news = match result {
                Ok(looked) => News::Ran(index, Box::new(looked)),
                Err(error) => News::Failed(index, seed, error.to_string()),
            };
            self.tell.send(news).is_ok()
        })
    }
}

fn look(history: History) -> Looked {
    Looked {
        seed: history.header.seed,
        verdicts: judge(&history),
        counts: counts(&history),
        latency: Measured::Samples(latency::samples(&history)),
        version: None,
        elapsed_ms: None,
    }
}
