//! The interface of a checker.

use crate::history::{Event, Header};
use crate::key_history::KeyUpdate;

use super::description::Description;
use super::finding::Judgement;
use crate::timeline::{Attempt, Step, Timeline};

/// Judges one property.
///
/// A checker receives every event once, in order of time, and all holds at the end. It returns its findings, and does
/// not determine causes.
pub trait Checker: Sized {
    /// The description of the property for reports.
    const DESCRIPTION: Description;

    /// Creates a checker for a history with this header.
    fn new(header: &Header) -> Self;

    /// Handles a step of an attempt.
    fn step(&mut self, _at_ns: u64, _attempt: &Attempt, _step: Step) {}

    /// Handles an access to the stock or the value. A third of the events of a long history are accesses, and most
    /// checkers ignore them.
    fn accessed(&mut self, _event: &Event) {}

    /// Handles any other event that is not a step of exactly one attempt.
    fn event(&mut self, _event: &Event) {}

    /// Handles the change of a key on a node. Called only for histories with key history.
    fn key_changed(&mut self, _at_ns: u64, _update: &KeyUpdate<'_>) {}

    /// Returns the judgement at the end of the history, when all active holds have been ended. `timeline` has all holds
    /// and faults.
    fn finish(self, timeline: &Timeline<'_>) -> Judgement;
}
