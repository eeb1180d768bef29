//! What runs a piece of a matrix: the one thing that differs by backend.

use super::cell_builder::JudgedRun;
use super::child_run::ChildRuns;
use super::selection::Task;
use super::simulated::simulate;
use crate::run::MANY_WORKERS;

/// What runs a piece.
pub enum Runner {
    /// A thread of this process, one after the other.
    Simulation,
    /// A process for each run.
    Servers(ChildRuns),
}

impl Runner {
    /// The most seeds in one piece. In the simulation: enough to outweigh a thread's cost, few enough to
    /// share out.
    pub fn largest_piece(&self) -> u64 {
        match self {
            Runner::Simulation => 25,
            Runner::Servers(_) => 1,
        }
    }

    /// Runs the cell with each of these seeds, an error for a run that left no history; `None` if the user
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

    /// How many of the jobs a run of this cell takes: on servers all of them if it has many workers.
    pub fn needs(&self, task: &Task, jobs: usize) -> u32 {
        let has_many = task.spec.scenario.workload.workers > MANY_WORKERS;
        let is_alone = has_many && matches!(self, Runner::Servers(_));
        let needs = if is_alone { jobs } else { 1 };
        u32::try_from(needs).unwrap_or(u32::MAX)
    }
}
