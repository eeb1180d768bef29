//! Runs that are made again, because the machine was too slow for them: nothing could be judged, so the
//! lock was not put to the test.

use picklock_harness::check::machine_was_too_slow;

use super::cell_builder::JudgedRun;
use super::runner::Runner;
use super::selection::Task;
use crate::interrupt::Interrupt;

/// How often a run is made again in which the machine was too slow.
const REPEATS: u64 = 3;

/// After so many repeats in a row in which it was too slow once more, no run is made again: that is how this
/// machine is, and the table should end.
const FRUITLESS: u32 = 10;

/// True if the machine was too slow for the run: it says nothing about the lock.
pub fn is_spoiled(run: &JudgedRun) -> bool {
    machine_was_too_slow(&run.verdicts)
}

/// Makes runs again.
#[derive(Debug, Default)]
pub struct Reruns {
    /// Repeats in a row in which the machine was too slow again.
    fruitless: u32,
}

impl Reruns {
    /// Makes a spoiled run of the cell again as long as the machine was too slow; `None` if the user
    /// interrupted it.
    ///
    /// # Errors
    /// Why a run left no history.
    pub async fn rerun(
        &mut self,
        task: &Task,
        mut run: Box<JudgedRun>,
        runner: &Runner,
        interrupt: &Interrupt,
    ) -> Option<Result<Box<JudgedRun>, String>> {
        for repeats in 1..=REPEATS {
            if !is_spoiled(&run) || self.fruitless >= FRUITLESS {
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
            self.fruitless = match is_spoiled(&run) {
                true => self.fruitless + 1,
                false => 0,
            };
        }
        Some(Ok(run))
    }
}
