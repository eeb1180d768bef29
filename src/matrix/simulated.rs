//! Simulated runs of a cell. Each history is judged and dropped on the thread that made it; only a few
//! numbers are passed on.

use picklock_harness::assemble::counts;
use picklock_harness::check::judge;
use picklock_harness::latency;
use picklock_harness::run::RunResult;
use picklock_harness::sim::{Simulation, run_many};

use super::cell_builder::JudgedRun;
use super::cell_latency::RunLatency;
use super::selection::Task;
use crate::lock::in_process;

/// Simulates the cell with each of these seeds, and blocks this thread meanwhile. An error says why a run
/// left no history.
pub fn simulate(task: &Task, seeds: &[u64]) -> Vec<Result<JudgedRun, String>> {
    let lock = match in_process(&task.spec.lock) {
        Ok(lock) => lock,
        Err(failure) => return vec![Err(failure.to_string()); seeds.len()],
    };
    let simulation = |seed: &u64| Simulation {
        spec: task.spec.with_seed(*seed),
        lock: lock.clone(),
        logs_commands: false,
    };
    let runs = run_many(seeds.iter().map(simulation).collect(), judged).into_iter();
    runs.map(|run| run.map_err(|error| error.to_string()))
        .collect()
}

fn judged(result: RunResult) -> JudgedRun {
    let history = &result.history;
    JudgedRun {
        seed: history.header.seed,
        verdicts: judge(history),
        counts: counts(history),
        latency: RunLatency::Samples(latency::samples(history)),
        version: None,
        redis: result.redis,
        elapsed_ms: None,
        repeats: 0,
    }
}
