//! Runs a part of a matrix: the only step that differs by backend.

use picklock_harness::assemble::counts;
use picklock_harness::check::{judge, warnings};
use picklock_harness::latency;
use picklock_harness::run::RunResult;
use picklock_harness::sim::{Simulation, run_many};

use super::cell_builder::JudgedRun;
use super::cell_latency::RunLatency;
use super::child_run::ChildRuns;
use super::selection::Task;
use crate::lock::in_process;
use crate::specification::MANY_WORKERS;

/// Runs a part of a matrix.
pub enum Runner {
    /// Runs on a thread of this process, one after the other.
    Simulation,
    /// Runs as separate processes.
    Servers(ChildRuns),
}

impl Runner {
    /// Returns the maximum number of seeds in one piece. In the simulation, a piece is large enough to outweigh the
    /// cost of a thread and small enough to share the work.
    pub fn largest_piece(&self) -> u64 {
        match self {
            Runner::Simulation => 25,
            Runner::Servers(_) => 1,
        }
    }

    /// Runs the cell with each of these seeds. A run that left no history yields an error. Returns `None` if the user
    /// interrupted it.
    pub async fn run(&self, task: &Task, seeds: &[u64]) -> Option<Vec<Result<JudgedRun, String>>> {
        let children = match self {
            Runner::Simulation => return Some(simulate(task, seeds)),
            Runner::Servers(children) => children,
        };
        let mut runs = Vec::new();
        for seed in seeds {
            runs.push(children.run(task, *seed).await.transpose()?);
        }
        Some(runs)
    }

    /// Returns how many of the parallel jobs a run of this cell occupies. A run with many workers on servers occupies
    /// all of them.
    pub fn needs(&self, task: &Task, jobs: usize) -> u32 {
        let has_many = task.spec.scenario.workload.workers > MANY_WORKERS;
        let is_alone = has_many && matches!(self, Runner::Servers(_));
        let needs = if is_alone { jobs } else { 1 };
        u32::try_from(needs).unwrap_or(u32::MAX)
    }
}

/// Simulates the cell with each of these seeds, blocking this thread. Each history is judged and dropped on the thread
/// that made it; only a few numbers are passed on. An error explains why a run left no history.
fn simulate(task: &Task, seeds: &[u64]) -> Vec<Result<JudgedRun, String>> {
    let lock = match in_process(&task.spec.lock) {
        Ok(lock) => lock,
        Err(failure) => return vec![Err(failure.text().as_str().to_owned()); seeds.len()],
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
        warnings: warnings(history),
        latency: RunLatency::Samples(latency::samples(history)),
        version: None,
        redis: result.redis,
        elapsed_ms: None,
        reruns: 0,
    }
}
