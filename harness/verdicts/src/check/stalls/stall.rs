//! Servers and workers that stood still although no fault asked for it.
//!
//! Somebody stopped them, or the machine kept them from the processor. What a stall touches is not the lock's
//! doing, so no violation may rest on it, and nothing is held beside a long one.

use crate::history::{Event, EventKind, Header};
use crate::timeline::ms;

use crate::check::inconclusive::{Component, InconclusiveReason};

/// Shortest stall beside which nothing is held, as a fraction of the lease. A shorter one is a test of
/// the lock that a busy machine adds; but no violation may rest on it either.
const PART_OF_LEASE: u64 = 4;

/// A time in which somebody stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Stall {
    who: Component,
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Stall {
    /// The one that this event tells.
    pub(in crate::check) fn from_event(event: &Event) -> Option<Self> {
        let (who, from_ns) = match event.what {
            EventKind::NodeStalled { node, since_ns, .. } => (Component::Node(node), since_ns),
            EventKind::WorkerStalled {
                worker, since_ns, ..
            } => (Component::Worker(worker), since_ns),
            _ => return None,
        };
        Some(Stall {
            who,
            from_ns: from_ns.min(event.at_ns),
            until_ns: event.at_ns,
        })
    }

    /// True if what this worker did then can rest on it: any worker can have waited for a server.
    pub(in crate::check) fn touches(&self, worker: usize, (from_ns, until_ns): (u64, u64)) -> bool {
        let concerns = match self.who {
            Component::Node(_) => true,
            Component::Worker(who) => who == worker,
        };
        concerns && self.meets((from_ns, until_ns))
    }

    /// True if it was on at some time between these two.
    pub(in crate::check) fn meets(&self, (from_ns, until_ns): (u64, u64)) -> bool {
        self.from_ns <= until_ns && from_ns <= self.until_ns
    }

    /// True if nothing is held beside it, where leases are so long.
    pub(in crate::check) fn is_long(&self, ttl_ns: u64) -> bool {
        self.until_ns - self.from_ns >= ttl_ns / PART_OF_LEASE
    }

    /// Why something is not judged.
    pub(in crate::check) fn reason(&self) -> InconclusiveReason {
        InconclusiveReason::UnexpectedStall {
            who: self.who,
            stalled_ms: (self.until_ns - self.from_ns) / 1_000_000,
            until_ns: self.until_ns,
            count: 1,
        }
    }
}

/// The stalls beside which nothing is held.
#[derive(Debug, Default)]
pub(in crate::check) struct LongStalls {
    ttl_ns: u64,
    first: Option<Stall>,
    number: u64,
    /// The first one of any length.
    any: Option<Stall>,
}

impl LongStalls {
    pub(in crate::check) fn new(header: &Header) -> Self {
        LongStalls {
            ttl_ns: ms(header.ttl_ms),
            ..LongStalls::default()
        }
    }

    /// Somebody stood still until now.
    pub(in crate::check) fn ended(&mut self, stall: Stall) {
        self.any.get_or_insert(stall);
        if stall.is_long(self.ttl_ns) {
            self.first.get_or_insert(stall);
            self.number += 1;
        }
    }

    /// Why nothing is held. `missed`: a fault did not strike, as its moment never came. A short stall may be why.
    pub(in crate::check) fn reason(self, missed: bool) -> Option<InconclusiveReason> {
        let first = self.first.or(self.any.filter(|_| missed))?;
        let mut reason = first.reason();
        if let InconclusiveReason::UnexpectedStall { count, .. } = &mut reason {
            *count = self.number.max(1);
        }
        Some(reason)
    }
}
