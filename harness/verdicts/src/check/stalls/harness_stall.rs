//! Pauses of the harness that touch a fault or a hold.
//!
//! While the harness stands still, faults do not end at their time, requests do not reach the workers, and nothing
//! passes on the wire. A run in which that happened during a fault or a hold did not do to the lock what its scenario
//! says. `stall_correction.rs` decides which violations rest on it.

use crate::history::Header;
use crate::timeline::ms;

use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::active_spans::ActiveSpans;

/// Shortest pause that matters to a lock that is not violated, as a fraction of the lease: as long as Redlock waits for
/// a node.
const PART_OF_LEASE: u64 = 10;

/// The shortest pause, in milliseconds, that is worth a word by itself. Shorter ones matter only where a violation
/// rests on them.
pub fn shortest_pause_ms(header: &Header) -> u64 {
    header.ttl_ms / PART_OF_LEASE
}

/// The pauses that touched a fault or a hold.
#[derive(Debug, Default)]
pub(in crate::check) struct HarnessStalls {
    shortest_ms: u64,
    /// Why the run cannot be judged: the first one, and how many there were. `None`: no pause touched a fault or a hold.
    pub reason: Option<InconclusiveReason>,
}

impl HarnessStalls {
    pub(in crate::check) fn new(header: &Header) -> Self {
        HarnessStalls {
            shortest_ms: shortest_pause_ms(header),
            reason: None,
        }
    }

    /// The harness stood still until now.
    pub(in crate::check) fn paused(&mut self, at_ns: u64, late_ms: u64, ongoing: &ActiveSpans) {
        if late_ms < self.shortest_ms {
            return;
        }
        let Some(during) = ongoing.since(at_ns.saturating_sub(ms(late_ms))) else {
            return;
        };
        let reason = self.reason.get_or_insert(InconclusiveReason::HarnessStall {
            late_ms,
            until_ns: at_ns,
            during,
            count: 0,
        });
        if let InconclusiveReason::HarnessStall { count, .. } = reason {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::inconclusive;
    use crate::history::{Event, EventKind, read_history};

    const S: u64 = 1_000_000_000;

    fn began(at_ns: u64, id: u32) -> Event {
        Event {
            at_ns,
            what: EventKind::FaultBegan {
                id,
                fault: "pause-client".into(),
                detail: String::new(),
                workers: vec![0],
                nodes: Vec::new(),
                clock: None,
                delay_ms: None,
            },
        }
    }

    fn ended(at_ns: u64, id: u32) -> Event {
        let what = EventKind::FaultEnded { id };
        Event { at_ns, what }
    }

    fn paused(at_ns: u64, late_ms: u64) -> Event {
        let what = EventKind::HarnessStalled { late_ms };
        Event { at_ns, what }
    }

    fn after(events: &[Event]) -> Option<InconclusiveReason> {
        let text = include_bytes!("../../../tests/histories/calm.jsonl");
        let header = read_history(&text[..]).unwrap().header;
        let mut pauses = HarnessStalls::new(&header);
        let mut ongoing = ActiveSpans::default();
        for event in events {
            ongoing.event(event);
            if let EventKind::HarnessStalled { late_ms } = event.what {
                pauses.paused(event.at_ns, late_ms, &ongoing);
            }
        }
        pauses.reason
    }

    #[test]
    fn pause_that_touches_a_fault_counts_and_another_does_not() {
        let during = inconclusive::StallContext::Fault;
        let expected = InconclusiveReason::HarnessStall {
            late_ms: 500,
            until_ns: 2 * S,
            during,
            count: 1,
        };
        let on = [began(S, 1), paused(2 * S, 500), ended(3 * S, 1)];
        assert_eq!(after(&on), Some(expected));
        assert!(after(&[began(S, 1), ended(S, 1), paused(S + S / 4, 500)]).is_some());
        assert_eq!(after(&[paused(S, 500)]), None);
        assert_eq!(after(&[began(S, 1), paused(2 * S, 99)]), None);
        assert_eq!(after(&[began(S, 1), ended(S, 1), paused(2 * S, 500)]), None);
    }

    #[test]
    fn pauses_are_counted() {
        let pauses = (1..4).map(|s| paused(s * S, 100 * s));
        let events: Vec<Event> = std::iter::once(began(0, 1)).chain(pauses).collect();
        let reason = after(&events).unwrap().to_string();
        assert!(reason.contains("for 100 ms until 1.000 s"), "{reason}");
        assert!(reason.contains("the first of 3 such stalls"), "{reason}");
    }
}
