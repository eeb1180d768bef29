//! Stalls of servers and workers that no fault caused.
//!
//! Another process stopped them, or they were starved of CPU time. The lock is not responsible for the effects of a
//! stall, so no violation may rest on a stall, and no property is `held` in a run with a long stall.

use crate::history::{Event, EventKind, Header};
use crate::timeline::{ms_from_ns, ns_from_ms};

use crate::check::inconclusive::{Component, InconclusiveReason};
use crate::check::stalls::thresholds::LONG_STALL;

/// A stall of a server or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Stall {
    who: Component,
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Stall {
    /// Returns the stall that `event` reports, or `None` if it reports none. The event is recorded at the end of the
    /// stall.
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

    /// Returns `true` if the stall may have affected the actions of this worker between two times. Any worker may have
    /// waited for a stalled server.
    pub(in crate::check) fn touches(&self, worker: usize, (from_ns, until_ns): (u64, u64)) -> bool {
        let concerns = match self.who {
            Component::Node(_) => true,
            Component::Worker(who) => who == worker,
        };
        concerns && self.meets((from_ns, until_ns))
    }

    /// Returns `true` if the stall overlaps this span.
    pub(in crate::check) fn meets(&self, (from_ns, until_ns): (u64, u64)) -> bool {
        self.from_ns <= until_ns && from_ns <= self.until_ns
    }

    /// Returns `true` if the stall is so long that no property is `held`, for leases of `ttl_ns`.
    pub(in crate::check) fn is_long(&self, ttl_ns: u64) -> bool {
        self.until_ns - self.from_ns >= LONG_STALL.part_of(ttl_ns)
    }

    /// Returns the stall as the reason why something is inconclusive.
    pub(in crate::check) fn reason(&self) -> InconclusiveReason {
        InconclusiveReason::UnexpectedStall {
            who: self.who,
            stalled_ms: ms_from_ns(self.until_ns - self.from_ns),
            until_ns: self.until_ns,
            count: 1,
        }
    }
}

/// The long stalls of a run, because of which no property is `held`.
#[derive(Debug, Default)]
pub(in crate::check) struct LongStalls {
    ttl_ns: u64,
    first: Option<Stall>,
    count: u64,
    /// The first stall of any length.
    first_of_any_length: Option<Stall>,
}

impl LongStalls {
    pub(in crate::check) fn new(header: &Header) -> Self {
        LongStalls {
            ttl_ns: ns_from_ms(header.ttl_ms),
            ..LongStalls::default()
        }
    }

    /// Records a stall that ends now.
    pub(in crate::check) fn record(&mut self, stall: Stall) {
        self.first_of_any_length.get_or_insert(stall);
        if stall.is_long(self.ttl_ns) {
            self.first.get_or_insert(stall);
            self.count += 1;
        }
    }

    /// Returns the reason why no property is `held`, or `None` if no stall matters. If a fault missed its trigger
    /// (`is_fault_missed`), even a short stall may be the reason.
    pub(in crate::check) fn reason(self, is_fault_missed: bool) -> Option<InconclusiveReason> {
        let short = self.first_of_any_length.filter(|_| is_fault_missed);
        let mut reason = self.first.or(short)?.reason();
        if let InconclusiveReason::UnexpectedStall { count, .. } = &mut reason {
            *count = self.count.max(1);
        }
        Some(reason)
    }
}
