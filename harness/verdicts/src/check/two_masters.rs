//! Times in which a node had two masters.
//!
//! After a failover by Sentinels the old master may come back as a master, and serve clients whose
//! connections never broke. The lock's key is then on two servers. A release that succeeds on one of
//! them says nothing of a client that has the lock on the other.

use std::collections::BTreeSet;

use crate::history::{Event, EventKind};
use crate::timeline::leaves_two_masters;

/// When nodes had two masters.
#[derive(Debug, Default)]
pub(super) struct TwoMasters {
    /// The faults that are on.
    on: BTreeSet<u32>,
    /// From when to when any was on, in the order of time; the end of one that is on is the end of time.
    times: Vec<(u64, u64)>,
}

impl TwoMasters {
    /// An event of the history.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan { id, fault, .. } if leaves_two_masters(fault) => {
                self.began(*id, event)
            }
            EventKind::FaultEnded { id } if self.on.remove(id) && self.on.is_empty() => {
                if let Some((_, to_ns)) = self.times.last_mut() {
                    *to_ns = event.at_ns;
                }
            }
            _ => {}
        }
    }

    fn began(&mut self, fault: u32, event: &Event) {
        if self.on.insert(fault) && self.on.len() == 1 {
            self.times.push((event.at_ns, u64::MAX));
        }
    }

    /// True if a node had two masters at some moment of `from_ns..=to_ns`.
    pub(super) fn touch(&self, from_ns: u64, to_ns: u64) -> bool {
        let over = self.times.partition_point(|time| time.1 < from_ns);
        self.times.get(over).is_some_and(|time| time.0 <= to_ns)
    }
}
