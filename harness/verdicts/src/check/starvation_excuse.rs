//! Why it is the machine's doing, and not the lock's, that nobody got it for a time.

use std::collections::BTreeMap;

use super::finding::Starvation;
use super::standstill::Standstill;
use super::sufficiency::unjudged_for;
use super::unjudged::{StarvedBy, Unjudged};
use crate::history::{Event, EventKind};
use crate::timeline::ms;

/// What the machine did in a run that can keep everybody from a lock.
#[derive(Debug, Default)]
pub(super) struct StarvationExcuses {
    workers: usize,
    /// A node that failed by itself, and how.
    lost_node: Option<Unjudged>,
    /// The workers whose clients the wire refused, and the first time that it did.
    refused: BTreeMap<usize, Unjudged>,
    /// Servers and workers that stood still for a short time.
    standstills: Vec<Standstill>,
    /// When the harness stood still: from, until.
    harness_pauses: Vec<(u64, u64)>,
}

impl StarvationExcuses {
    /// For a run with so many workers.
    pub(super) fn new(workers: usize) -> Self {
        StarvationExcuses {
            workers,
            ..StarvationExcuses::default()
        }
    }

    /// An event of the history.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::NodeLost { .. } if self.lost_node.is_none() => {
                self.lost_node = unjudged_for(&event.what);
            }
            EventKind::ClientRefused { worker, .. } if *worker < self.workers => {
                if let Some(why) = unjudged_for(&event.what) {
                    self.refused.entry(*worker).or_insert(why);
                }
            }
            EventKind::Stalled { late_ms } => {
                let from_ns = event.at_ns.saturating_sub(ms(*late_ms));
                self.harness_pauses.push((from_ns, event.at_ns));
            }
            _ => {}
        }
    }

    /// Somebody stood still for so short a time that the lock is not judged anew after it.
    pub(super) fn stood_still(&mut self, standstill: Standstill) {
        self.standstills.push(standstill);
    }

    /// Why this may be due to the machine and not to the lock.
    pub(super) fn of(&self, first: &Starvation) -> Option<Unjudged> {
        // It is not known since when the node was gone, so no waiting can be held against the lock.
        if self.lost_node.is_some() {
            return self.lost_node.clone();
        }
        // One that was served shows by itself whether it gets the lock.
        if self.refused.len() >= self.workers {
            return self.refused.values().next().cloned();
        }
        let span = (first.from_ns, first.until_ns);
        let mut standstills = self.standstills.iter();
        if let Some(standstill) = standstills.find(|it| it.meets(span)) {
            return Some(standstill.reason());
        }
        let meanwhile = |(from_ns, until_ns): &&(u64, u64)| {
            *from_ns <= first.until_ns && first.from_ns <= *until_ns
        };
        let (from_ns, until_ns) = self.harness_pauses.iter().find(meanwhile)?;
        let by = StarvedBy::HarnessPause((until_ns - from_ns) / 1_000_000);
        Some(Unjudged::Starved { by })
    }
}
