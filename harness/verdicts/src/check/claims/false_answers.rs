//! When workers may have been told by their servers what was not so.
//!
//! A fault can answer a command with an error although it was executed. A lock that believes that says something
//! untrue in good faith, so it is not held to what it says of an attempt that the fault may have met.

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, lies};

/// The faults that lie, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct FalseAnswers(Vec<FalseAnswer>);

#[derive(Debug, Clone)]
struct FalseAnswer {
    id: u32,
    /// None: it met all.
    workers: Vec<usize>,
    ended_ns: Option<u64>,
}

impl FalseAnswers {
    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id, fault, workers, ..
            } if lies(fault) => self.0.push(FalseAnswer {
                id: *id,
                workers: workers.clone(),
                ended_ns: None,
            }),
            EventKind::FaultEnded { id } => {
                let mut all = self.0.iter_mut();
                if let Some(fault) = all.find(|fault| fault.id == *id) {
                    fault.ended_ns = Some(event.at_ns);
                }
            }
            _ => {}
        }
    }

    /// True if the worker may have been told something untrue since it was asked for this attempt.
    pub(in crate::check) fn may_mislead(&self, attempt: &Attempt) -> bool {
        self.0.iter().any(|fault| {
            let met = fault.workers.is_empty() || fault.workers.contains(&attempt.worker);
            met && fault
                .ended_ns
                .is_none_or(|ended| ended >= attempt.acquire_ns)
        })
    }
}
