//! What a checker is.

use crate::history::Event;
use crate::timeline::{Attempt, Step};

use super::evidence::Evidence;
use super::verdict::Verdict;

/// Judges one property. Sees everything once, in order of time, and keeps no more than what is
/// under way; only a violation may look at the history again, through the evidence, to explain.
pub trait Checker {
    /// An attempt made a step.
    fn step(&mut self, _at_ns: u64, _attempt: &Attempt, _step: Step) {}

    /// Something happened that is not about exactly one attempt's lock.
    fn event(&mut self, _event: &Event) {}

    /// The history is over, and all open holds were ended.
    fn finish(self: Box<Self>, evidence: &Evidence<'_>) -> Verdict;
}
