//! Stalls of the harness, and which of them coincide with a fault or a hold.
//!
//! While the harness is stalled, faults do not end on time, requests do not reach the workers, and the proxy forwards
//! nothing. If that happens during a fault or a hold, the run does not test the lock as its scenario describes.
//! `stall_correction.rs` decides which violations rest on the stall.

use crate::history::{Event, EventKind, Header};
use crate::timeline::ns_from_ms;

use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::active_spans::ActiveSpans;
use crate::check::stalls::thresholds::NOTABLE_DELAY;

/// Returns the length of the shortest harness stall that makes a run inconclusive, in milliseconds. Shorter stalls
/// matter only if a violation rests on them.
pub fn min_harness_stall_ms(header: &Header) -> u64 {
    NOTABLE_DELAY.part_of(header.ttl_ms)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct HarnessStall {
    pub from_ns: u64,
    pub until_ns: u64,
    /// Length in milliseconds, as recorded.
    pub length_ms: u64,
}

impl HarnessStall {
    /// Returns the harness stall that `event` reports, or `None` if it reports none. The event is recorded at the end
    /// of the stall.
    pub(in crate::check) fn from_event(event: &Event) -> Option<Self> {
        match event.what {
            EventKind::HarnessStalled { late_ms } => Some(HarnessStall {
                from_ns: event.at_ns.saturating_sub(ns_from_ms(late_ms)),
                until_ns: event.at_ns,
                length_ms: late_ms,
            }),
            _ => None,
        }
    }

    /// Returns when the stall began and ended.
    pub(in crate::check) fn span(self) -> (u64, u64) {
        (self.from_ns, self.until_ns)
    }
}

/// The harness stalls that coincided with a fault or a hold.
#[derive(Debug, Default)]
pub(in crate::check) struct HarnessStalls {
    min_ms: u64,
    /// The reason why the run is inconclusive, which is the first such stall and the number of them, or `None` if there
    /// was no such stall.
    pub reason: Option<InconclusiveReason>,
}

impl HarnessStalls {
    pub(in crate::check) fn new(header: &Header) -> Self {
        HarnessStalls {
            min_ms: min_harness_stall_ms(header),
            reason: None,
        }
    }

    /// Records a stall that ends now.
    pub(in crate::check) fn record(&mut self, stall: HarnessStall, active: &ActiveSpans) {
        if stall.length_ms < self.min_ms {
            return;
        }
        let Some(during) = active.since(stall.from_ns) else {
            return;
        };
        let reason = self.reason.get_or_insert(InconclusiveReason::HarnessStall {
            late_ms: stall.length_ms,
            until_ns: stall.until_ns,
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

    fn stalled(at_ns: u64, late_ms: u64) -> Event {
        let what = EventKind::HarnessStalled { late_ms };
        Event { at_ns, what }
    }

    fn reason_after(events: &[Event]) -> Option<InconclusiveReason> {
        let text = include_bytes!("../../../tests/histories/calm.jsonl");
        let header = read_history(&text[..]).unwrap().header;
        let mut stalls = HarnessStalls::new(&header);
        let mut active = ActiveSpans::default();
        for event in events {
            active.event(event);
            if let Some(stall) = HarnessStall::from_event(event) {
                stalls.record(stall, &active);
            }
        }
        stalls.reason
    }

    #[test]
    fn stall_counts_only_if_it_touches_a_fault() {
        let during = inconclusive::StallContext::Fault;
        let expected = InconclusiveReason::HarnessStall {
            late_ms: 500,
            until_ns: 2 * S,
            during,
            count: 1,
        };
        let during_fault = [began(S, 1), stalled(2 * S, 500), ended(3 * S, 1)];
        assert_eq!(reason_after(&during_fault), Some(expected));
        assert!(reason_after(&[began(S, 1), ended(S, 1), stalled(S + S / 4, 500)]).is_some());
        assert_eq!(reason_after(&[stalled(S, 500)]), None);
        assert_eq!(reason_after(&[began(S, 1), stalled(2 * S, 99)]), None);
        assert_eq!(
            reason_after(&[began(S, 1), ended(S, 1), stalled(2 * S, 500)]),
            None
        );
    }

    #[test]
    fn stalls_are_counted() {
        let stalls = (1..4).map(|s| stalled(s * S, 100 * s));
        let events: Vec<Event> = std::iter::once(began(0, 1)).chain(stalls).collect();
        let reason = reason_after(&events).unwrap().to_string();
        assert!(reason.contains("for 100 ms (until 1.000 s)"), "{reason}");
        assert!(reason.contains("the first of 3 such stalls"), "{reason}");
    }
}
