//! Exclusion: no two holds of one key overlap.
//!
//! A hold is judged from the grant's arrival at the driver to the moment when the release was
//! sent (or the worker was gone, or the history ended). The true hold is no shorter: the client
//! had the grant before it arrived here, and had not been told to let go. So two overlapping
//! intervals are two clients inside at once; leases are not asked. A worker that dies by itself
//! holds until the driver sees its output close, which is when the process ends.
//!
//! [`Overlaps`] argues why overlap is strict, and why counting every pair costs O(1) an event.

use crate::timeline::{Attempt, Step};

use super::cause;
use super::checker::Checker;
use super::evidence::Evidence;
use super::overlap::{Overlaps, Tally};
use super::story;
use super::verdict::{Status, Verdict};

/// The checker.
#[derive(Debug)]
pub struct Exclusion {
    keys: Vec<Overlaps>,
    tally: Tally,
}

impl Exclusion {
    /// For a history with so many keys.
    pub fn new(keys: usize) -> Self {
        Exclusion {
            keys: vec![Overlaps::default(); keys],
            tally: Tally::default(),
        }
    }
}

impl Checker for Exclusion {
    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let Some(key) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        match step {
            Step::Begun => self.tally.begun(key.begin(at_ns, attempt.op)),
            Step::Ended(_) => {
                let ended = key.end(at_ns, attempt.op, attempt.begun_ns());
                self.tally.ended(ended);
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, evidence: &Evidence<'_>) -> Verdict {
        overlap_verdict(&self.tally, evidence)
    }
}

/// The verdict on overlapping pairs, whichever intervals they are of.
pub(super) fn overlap_verdict(tally: &Tally, evidence: &Evidence<'_>) -> Verdict {
    let Some(pair) = tally.first else {
        return Verdict::held();
    };
    let mut verdict = Verdict {
        status: Status::Violated,
        cause: None,
        story: Vec::new(),
        violations: tally.pairs,
        at_ns: Some(pair.onset_ns),
    };
    if let (Some(earlier), Some(later)) = (evidence.hold(pair.earlier), evidence.hold(pair.later)) {
        // Of leases, the one that was resumed may be the later one; people read by grants.
        let (first, second) = if earlier.begin_ns <= later.begin_ns {
            (earlier, later)
        } else {
            (later, earlier)
        };
        verdict.cause = Some(cause::of_overlap(evidence, first, second));
        verdict.story = story::of_overlap(evidence, first, second);
    }
    verdict
}
