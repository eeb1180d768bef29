//! Repeats inconclusive runs.

use picklock_harness::expectation::MAX_RERUNS;
use picklock_scenarios::BackendName;

use super::cell_builder::JudgedRun;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// Maximum number of consecutive reruns that stay inconclusive. After that no run is repeated: this machine or this
/// lock does not do better, and the matrix should end.
const FRUITLESS: u32 = 10;

/// Returns whether a run should be repeated. Simulated runs are deterministic, so repeating them is useless.
pub fn is_spoiled(task: &Task, run: &JudgedRun) -> bool {
    task.spec.backend != BackendName::Sim && task.expected.is_spoiled(&run.verdicts)
}

/// Repeats inconclusive runs.
#[derive(Debug, Default)]
pub struct Reruns {
    /// Number of consecutive reruns that were inconclusive, too.
    fruitless: u32,
}

impl Reruns {
    /// Makes a spoiled run of the cell again as long as it is spoiled; `None` if the user interrupted it.
    ///
    /// # Errors
    /// Returns the reason why a run left no history.
    pub async fn rerun(
        &mut self,
        task: &Task,
        mut run: Box<JudgedRun>,
        runner: &Runner,
        interrupt: &Interrupt,
    ) -> Option<Result<Box<JudgedRun>, String>> {
        for reruns in 1..=MAX_RERUNS {
            if !is_spoiled(task, &run) || self.fruitless >= FRUITLESS {
                break;
            }
            if interrupt.is_wanted() {
                return None;
            }
            *run = match runner.run(task, &[run.seed]).await?.pop()? {
                Ok(again) => again,
                Err(reason) => return Some(Err(reason)),
            };
            run.reruns = reruns;
            self.fruitless = if is_spoiled(task, &run) {
                self.fruitless + 1
            } else {
                0
            };
        }
        Some(Ok(run))
    }
}
