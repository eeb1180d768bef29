//! What a checker is.

use crate::history::{Event, Header};
use crate::key_history::KeyUpdate;

use super::description::Description;
use super::finding::Judgement;
use crate::timeline::{Attempt, Step, Timeline};

/// Judges one property.
///
/// A checker sees every event once, in order of time, and all holds in the end. It
/// returns what it found; it does not look for causes.
pub trait Checker: Sized {
    /// What reports say about the property.
    const DESCRIPTION: Description;

    /// A checker for a history with this header.
    fn new(header: &Header) -> Self;

    /// An attempt made a step.
    fn step(&mut self, _at_ns: u64, _attempt: &Attempt, _step: Step) {}

    /// An event that is not about exactly one attempt.
    fn event(&mut self, _event: &Event) {}

    /// A key of a node was changed. Only for histories with key history.
    fn key_changed(&mut self, _at_ns: u64, _update: &KeyUpdate<'_>) {}

    /// The history is over, and all open holds have been ended. `timeline` has all holds
    /// and faults.
    fn finish(self, timeline: &Timeline<'_>) -> Judgement;
}
