//! What the machine and other people's hands did while clients waited: why a starvation may not be the
//! lock's.

use std::collections::BTreeMap;

use crate::history::{Event, EventKind};
use crate::timeline::ms;

use super::finding::Starvation;
use super::standstill::Standstill;
use super::sufficiency::unjudged_for;
use super::unjudged::Unjudged;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct MachineExcuses {
    /// A node that failed by itself, and how.
    lost_node: Option<Unjudged>,
    /// When the harness stood still: from, until.
    harness_pauses: Vec<(u64, u64)>,
    /// What stood still without a fault.
    standstills: Vec<Standstill>,
    /// The workers whose clients the wire refused, and the first time that it did.
    refused: BTreeMap<usize, Unjudged>,
}

impl MachineExcuses {
    /// An event of the history.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::NodeLost { node, reason } => {
                self.lost_node.get_or_insert_with(|| Unjudged::NodeLost {
                    node: *node,
                    reason: reason.clone(),
                });
            }
            EventKind::ClientRefused { worker, .. } => {
                if let Some(why) = unjudged_for(&event.what) {
                    self.refused.entry(*worker).or_insert(why);
                }
            }
            EventKind::Stalled { late_ms } => {
                let since_ns = event.at_ns.saturating_sub(ms(*late_ms));
                self.harness_pauses.push((since_ns, event.at_ns));
            }
            _ => {}
        }
    }

    /// Something stood still.
    pub(super) fn stood_still(&mut self, standstill: Standstill) {
        self.standstills.push(standstill);
    }

    /// For how long the harness stood still between two times, and so may have kept clients waiting. After a
    /// pause of a tenth of a lease and more, leases may have gone wrong: it counts for so much longer.
    pub(super) fn paused_ns(
        &self,
        from_ns: u64,
        until_ns: u64,
        long_ns: u64,
        after_ns: u64,
    ) -> u64 {
        let pauses = self.harness_pauses.iter();
        let counted = pauses.map(|(paused_ns, over_ns)| {
            let is_long = over_ns - paused_ns >= long_ns;
            let after_ns = if is_long { after_ns } else { 0 };
            let over_ns = over_ns.saturating_add(after_ns).min(until_ns);
            over_ns.saturating_sub(*paused_ns.max(&from_ns))
        });
        counted.fold(0, u64::saturating_add)
    }

    /// Why this may be due to the machine and not to the lock. `workers`: how many there are.
    pub(super) fn of(&self, starvation: &Starvation, workers: usize) -> Option<Unjudged> {
        // It is not known since when the node was gone, so no waiting can be held against the lock.
        if self.lost_node.is_some() {
            return self.lost_node.clone();
        }
        if self.refused.len() >= workers {
            return self.refused.values().next().cloned();
        }
        let span = (starvation.from_ns, starvation.until_ns);
        let mut standstills = self.standstills.iter();
        let standstill = standstills.find(|it| it.meets(span))?;
        Some(standstill.reason())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_counts_as_far_as_it_lies_in_the_wait_and_a_long_one_for_longer() {
        let mut excuses = MachineExcuses::default();
        for (at_ns, late_ms) in [(ms(100), 10), (ms(500), 100)] {
            let what = EventKind::Stalled { late_ms };
            excuses.event(&Event { at_ns, what });
        }
        let paused = |from, until, after| excuses.paused_ns(ms(from), ms(until), ms(50), ms(after));
        assert_eq!(paused(0, 1000, 0), ms(110));
        assert_eq!(paused(95, 1000, 0), ms(105));
        assert_eq!(paused(0, 1000, 200), ms(310));
        assert_eq!(paused(0, 600, 200), ms(210));
        assert_eq!(paused(600, 1000, 200), ms(100));
        assert_eq!(paused(800, 1000, 200), 0);
    }
}
