//! Why it is the machine's doing, and not the lock's, that nobody got it for a time.

use std::collections::BTreeMap;

use super::finding::Starvation;
use super::standstill::Standstill;
use super::sufficiency::unjudged_for;
use super::unjudged::Unjudged;
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
    /// How long each worker waited for a processor: from, until, for how long of that.
    delays: BTreeMap<usize, Vec<(u64, u64, u64)>>,
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
            EventKind::WorkerDelayed {
                worker,
                since_ns,
                waited_ms,
            } => {
                let delay = (*since_ns, event.at_ns, ms(*waited_ms));
                self.delays.entry(*worker).or_default().push(delay);
            }
            _ => {}
        }
    }

    /// For how long, at most, a worker waited for a processor between two times. Nobody knows who of them would have
    /// got the lock, so it is the one that waited longest.
    pub(super) fn delayed_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        let of_worker = |delays: &Vec<(u64, u64, u64)>| {
            let within = delays.iter().map(|(began_ns, ended_ns, waited_ns)| {
                let (began_ns, ended_ns) = (*began_ns.max(&from_ns), *ended_ns.min(&until_ns));
                ended_ns.saturating_sub(began_ns).min(*waited_ns)
            });
            within.fold(0, u64::saturating_add)
        };
        self.delays.values().map(of_worker).max().unwrap_or(0)
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
        let standstill = standstills.find(|it| it.meets(span))?;
        Some(standstill.reason())
    }

    /// For how long the harness stood still between two times, and so may have kept clients waiting. After a
    /// pause of `long_ns` and more, leases may have gone wrong: it counts for `after_ns` longer.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_counts_as_far_as_it_lies_in_the_wait_and_a_long_one_for_longer() {
        let mut excuses = StarvationExcuses::new(2);
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
