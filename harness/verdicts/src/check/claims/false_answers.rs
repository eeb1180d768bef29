//! Faults that give false answers to commands.
//!
//! Such a fault answers a command with an error although the server executed it. A lock that relies on the answer
//! reports something untrue in good faith, so its reports about attempts that the fault may have affected do not count.

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, answers_falsely, includes};

/// The faults that give false answers, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct FalseAnswers(Vec<FalseAnswer>);

#[derive(Debug, Clone)]
struct FalseAnswer {
    id: u32,
    /// The affected workers; empty if it affects all of them.
    workers: Vec<usize>,
    ended_ns: Option<u64>,
}

impl FalseAnswers {
    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id, fault, workers, ..
            } if answers_falsely(fault) => self.0.push(FalseAnswer {
                id: *id,
                workers: workers.clone(),
                ended_ns: None,
            }),
            EventKind::FaultEnded { id } => {
                if let Some(fault) = self.0.iter_mut().find(|fault| fault.id == *id) {
                    fault.ended_ns = Some(event.at_ns);
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if the worker may have received a false answer since this attempt was requested.
    pub(in crate::check) fn may_mislead(&self, attempt: &Attempt) -> bool {
        self.0.iter().any(|fault| {
            let is_affected = includes(&fault.workers, attempt.worker);
            let lasted = (fault.ended_ns).is_none_or(|ended_ns| ended_ns >= attempt.acquire_ns);
            is_affected && lasted
        })
    }
}
