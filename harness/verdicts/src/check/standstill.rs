//! Servers and workers that stood still although no fault asked for it.
//!
//! Somebody stopped them, or the machine kept them from the processor. What a standstill touches is not the lock's
//! doing, so no violation may rest on it, and nothing is held beside a long one.

use crate::history::{Event, EventKind, Header};
use crate::timeline::ms;

use super::unjudged::{Party, Unjudged};

/// Shortest standstill beside which nothing is held, as a fraction of the lease. A shorter one is a test of
/// the lock that a busy machine adds; but no violation may rest on it either.
const PART_OF_LEASE: u64 = 4;

/// A time in which somebody stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standstill {
    who: Party,
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Standstill {
    /// The one that this event tells.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let (who, from_ns) = match event.what {
            EventKind::NodeStoodStill { node, since_ns, .. } => (Party::Node(node), since_ns),
            EventKind::WorkerStoodStill {
                worker, since_ns, ..
            } => (Party::Worker(worker), since_ns),
            _ => return None,
        };
        Some(Standstill {
            who,
            from_ns: from_ns.min(event.at_ns),
            until_ns: event.at_ns,
        })
    }

    /// True if what this worker did then can rest on it: any worker can have waited for a server.
    pub(super) fn touches(&self, worker: usize, (from_ns, until_ns): (u64, u64)) -> bool {
        let concerns = match self.who {
            Party::Node(_) => true,
            Party::Worker(who) => who == worker,
        };
        concerns && self.meets((from_ns, until_ns))
    }

    /// True if it was on at some time between these two.
    pub(super) fn meets(&self, (from_ns, until_ns): (u64, u64)) -> bool {
        self.from_ns <= until_ns && from_ns <= self.until_ns
    }

    /// True if nothing is held beside it, where leases are so long.
    pub(super) fn is_long(&self, ttl_ns: u64) -> bool {
        self.until_ns - self.from_ns >= ttl_ns / PART_OF_LEASE
    }

    /// Why something is not judged.
    pub(super) fn reason(&self) -> Unjudged {
        Unjudged::StoodStill {
            who: self.who,
            stood_ms: (self.until_ns - self.from_ns) / 1_000_000,
            until_ns: self.until_ns,
            count: 1,
        }
    }
}

/// The standstills beside which nothing is held.
#[derive(Debug, Default)]
pub(super) struct LongStandstills {
    ttl_ns: u64,
    first: Option<Standstill>,
    number: u64,
    /// The first one of any length.
    any: Option<Standstill>,
}

impl LongStandstills {
    pub(super) fn new(header: &Header) -> Self {
        LongStandstills {
            ttl_ns: ms(header.ttl_ms),
            ..LongStandstills::default()
        }
    }

    /// Somebody stood still until now.
    pub(super) fn ended(&mut self, standstill: Standstill) {
        self.any.get_or_insert(standstill);
        if standstill.is_long(self.ttl_ns) {
            self.first.get_or_insert(standstill);
            self.number += 1;
        }
    }

    /// Why nothing is held. `missed`: a fault did not strike, as its moment never came. A short standstill may be why.
    pub(super) fn reason(self, missed: bool) -> Option<Unjudged> {
        let first = self.first.or(self.any.filter(|_| missed))?;
        let mut reason = first.reason();
        if let Unjudged::StoodStill { count, .. } = &mut reason {
            *count = self.number.max(1);
        }
        Some(reason)
    }
}
