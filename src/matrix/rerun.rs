//! Repeats inconclusive runs.

use std::panic::resume_unwind;
use std::sync::Arc;

use picklock_harness::expectation::MAX_RERUNS;
use picklock_scenarios::BackendName;
use tokio::task::JoinSet;

use super::cell_builder::JudgedRun;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// Maximum number of consecutive reruns that stay inconclusive. After that no run is repeated: further reruns on this
/// machine, or of this lock, are unlikely to succeed, and the matrix should end.
const FRUITLESS: u32 = 10;

/// Returns `true` if a run should be repeated. Simulated runs are deterministic, so repeating them is useless.
pub fn is_spoiled(task: &Task, run: &JudgedRun) -> bool {
    task.spec.backend != BackendName::Sim && task.expected.is_spoiled(&run.verdicts)
}

/// Repeats inconclusive runs.
#[derive(Debug, Default)]
pub struct Reruns {
    /// Number of consecutive reruns that were inconclusive, too.
    fruitless: u32,
}

/// A run to repeat, with the index of its cell and the cell.
pub type Spoiled = (usize, Arc<Task>, Box<JudgedRun>);

impl Reruns {
    /// Repeats each of these runs once, `jobs` at a time. Most runs are spoiled by other work of the machine, which
    /// would also disturb a run on its own. A run that fails or is interrupted keeps its earlier result.
    pub async fn rerun_together(
        &mut self,
        spoiled: Vec<Spoiled>,
        runner: &Arc<Runner>,
        jobs: usize,
        interrupt: &Interrupt,
    ) -> Vec<Spoiled> {
        let mut waiting = spoiled.into_iter();
        let mut running = JoinSet::new();
        let mut done = Vec::new();
        loop {
            while running.len() < jobs && !interrupt.is_wanted() {
                let Some((index, task, mut run)) = waiting.next() else {
                    break;
                };
                let runner = Arc::clone(runner);
                running.spawn_local(async move {
                    let again = runner.run(&task, &[run.seed]).await;
                    if let Some(Ok(again)) = again.and_then(|mut runs| runs.pop()) {
                        *run = JudgedRun { reruns: 1, ..again };
                    }
                    (index, task, run)
                });
            }
            match running.join_next().await {
                Some(Ok(spoiled)) => done.push(spoiled),
                Some(Err(error)) => resume_unwind(error.into_panic()),
                None => break,
            }
        }
        done.extend(waiting);
        let still = done.iter().filter(|(_, task, run)| is_spoiled(task, run));
        if still.count() == done.len() {
            self.fruitless = u32::try_from(done.len()).unwrap_or(u32::MAX);
        }
        done
    }

    /// Repeats a spoiled run of the cell until it is not spoiled, or the number of attempts is used up. Returns `None`
    /// if the user interrupted it.
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
        for reruns in run.reruns + 1..=MAX_RERUNS {
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
