//! Runs that are made again, because they could not be judged: the lock was not put to the test.

use picklock_harness::check::{Property, Status, Unjudged, machine_was_too_slow};
use picklock_scenarios::{BackendName, Expectation};

use super::cell_builder::JudgedRun;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// How often a run is made again that could not be judged.
const REPEATS: u64 = 3;

/// After so many repeats in a row that could not be judged either, no run is made again: that is how this
/// machine or this lock is, and the table should end.
const FRUITLESS: u32 = 10;

/// True if the machine was too slow for the run, or if all that differs from what is expected is that something was
/// not judged, and that may have been chance. A violation of what should hold is proven, whatever else could not be
/// judged. Simulated runs leave nothing to chance.
pub fn is_spoiled(task: &Task, run: &JudgedRun) -> bool {
    if task.spec.backend == BackendName::Sim {
        return false;
    }
    let should_hold = |property: &Property| {
        let expected = task.expected.get(*property);
        expected.is_none_or(|it| *it == Expectation::Held)
    };
    let mut verdicts = run.verdicts.iter();
    if verdicts.any(|(property, it)| it.status == Status::Violated && should_hold(property)) {
        return false;
    }
    let surprises = task.expected.surprises(&run.verdicts);
    let by_chance = |property| {
        let verdict = run.verdicts.get(property);
        verdict.is_some_and(|it| !it.reasons.iter().any(Unjudged::is_lasting))
    };
    let mut by_chance_only = surprises
        .iter()
        .map(|it| !it.is_judged() && by_chance(&it.property));
    machine_was_too_slow(&run.verdicts) || !surprises.is_empty() && by_chance_only.all(|it| it)
}

/// Makes runs again.
#[derive(Debug, Default)]
pub struct Reruns {
    /// Repeats in a row that could not be judged either.
    fruitless: u32,
}

impl Reruns {
    /// Makes a spoiled run of the cell again as long as it is spoiled; `None` if the user interrupted it.
    /// `Err`: why a run left no history.
    pub async fn rerun(
        &mut self,
        task: &Task,
        mut run: Box<JudgedRun>,
        runner: &Runner,
        interrupt: &Interrupt,
    ) -> Option<Result<Box<JudgedRun>, String>> {
        for repeats in 1..=REPEATS {
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
            run.repeats = repeats;
            self.fruitless = match is_spoiled(task, &run) {
                true => self.fruitless + 1,
                false => 0,
            };
        }
        Some(Ok(run))
    }
}
