//! What a violation is explained from; each part is read at most once.

use std::cell::OnceCell;

use crate::history::History;
use crate::timeline::{FaultSpan, Hold, Timeline};

use super::ownership::{Theft, thefts};

/// What a violation is explained from.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The history itself.
    pub history: &'a History,
    timeline: Timeline<'a>,
    thefts: OnceCell<Vec<Theft>>,
}

impl<'a> Evidence<'a> {
    /// Of this history; nothing is read yet.
    pub fn new(history: &'a History) -> Self {
        Evidence {
            history,
            timeline: Timeline::of(history),
            thefts: OnceCell::new(),
        }
    }

    /// All holds, in the order in which they began.
    pub fn holds(&self) -> &[Hold] {
        self.timeline.holds()
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
        self.timeline.faults()
    }
}
