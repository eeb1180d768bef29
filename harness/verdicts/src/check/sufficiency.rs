//! Whether a history shows enough to be judged.
//!
//! If it does not, `held` becomes `unknown`. A proven violation stays a violation.

use crate::history::{EndReason, Event, Header, What};
use crate::timeline::{Attempt, Step};

use super::overlap::Overlaps;
use super::verdict::STORY_LINES;

/// Watches whether the lock was put to the test.
#[derive(Debug)]
pub(super) struct Sufficiency {
    grants: u64,
    min_grants: u64,
    /// For each key: attempts, from the request to the end of the hold (or the refusal). Not
    /// maintained any more once two workers have competed.
    keys: Vec<Overlaps>,
    competed: bool,
    reasons: Vec<String>,
}

impl Sufficiency {
    /// For a history with this header.
    pub fn new(header: &Header) -> Self {
        Sufficiency {
            grants: 0,
            min_grants: header.min_grants,
            keys: vec![Overlaps::default(); header.keys.len()],
            competed: false,
            reasons: Vec::new(),
        }
    }

    /// An attempt made a step.
    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.grants += u64::from(step == Step::Begun);
        if self.competed {
            return;
        }
        let Some(key) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        // One worker has one attempt at a time, so two overlapping attempts belong to two
        // workers.
        let name = attempt.worker as u64;
        let over_already = attempt.ended.is_some() && !matches!(step, Step::Ended(_));
        self.competed = match step {
            Step::Asked => key.begin(at_ns, name) != (0, None),
            Step::Denied { .. } | Step::Ended(_) | Step::Gone if !over_already => {
                key.end(at_ns, name, attempt.acquire_ns).0 > 0
            }
            _ => false,
        };
    }

    /// Something else happened.
    pub fn event(&mut self, event: &Event) {
        match &event.what {
            What::FaultMissed {
                fault,
                reason,
                optional: false,
            } => self
                .reasons
                .push(format!("the fault `{fault}` never struck: {reason}")),
            What::NodeLost { node, reason } => self
                .reasons
                .push(format!("node {node} failed on its own: {reason}")),
            What::End {
                reason: EndReason::Interrupted,
                ..
            } => self.reasons.push("the run was interrupted".into()),
            _ => {}
        }
    }

    /// Why this history does not show enough; empty if it does.
    ///
    /// `end_ns` is when the history ends. Two workers that are still asking then have competed.
    pub fn reasons(mut self, end_ns: u64) -> Vec<String> {
        let mut keys = self.keys.iter_mut();
        self.competed |= keys.any(|key| key.shown_by(end_ns) != (0, None));
        if self.grants < self.min_grants {
            self.reasons.push(format!(
                "too little to judge: the lock was granted {} times, and the scenario asks for at least {}",
                self.grants, self.min_grants
            ));
        }
        if !self.competed {
            self.reasons
                .push("too little to judge: no two workers ever competed for a lock".into());
        }
        self.reasons.truncate(STORY_LINES);
        self.reasons
    }
}
