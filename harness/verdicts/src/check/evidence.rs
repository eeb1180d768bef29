//! The history read a second time, to explain a violation; each part at most once.

use std::cell::OnceCell;

use crate::history::History;

use super::fault::{FaultSpan, fault_spans};
use super::holds::{Hold, holds};
use super::ownership::{Theft, thefts};

/// What a violation is explained from.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The history itself.
    pub history: &'a History,
    holds: OnceCell<Vec<Hold>>,
    thefts: OnceCell<Vec<Theft>>,
    faults: OnceCell<Vec<FaultSpan<'a>>>,
}

impl<'a> Evidence<'a> {
    /// Of this history; nothing is read yet.
    pub fn new(history: &'a History) -> Self {
        Evidence {
            history,
            holds: OnceCell::new(),
            thefts: OnceCell::new(),
            faults: OnceCell::new(),
        }
    }

    /// All holds, in the order in which they began.
    pub fn holds(&self) -> &[Hold] {
        self.holds.get_or_init(|| holds(self.history))
    }

    /// The hold of an attempt.
    pub fn hold(&self, op: u64) -> Option<&Hold> {
        self.holds().iter().find(|hold| hold.op == op)
    }

    /// All releases that took another's lock.
    pub fn thefts(&self) -> &[Theft] {
        self.thefts.get_or_init(|| thefts(self.history))
    }

    /// All faults, in the order in which they began.
    pub fn faults(&self) -> &[FaultSpan<'a>] {
        self.faults.get_or_init(|| fault_spans(self.history))
    }
}
