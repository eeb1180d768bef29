//! Stalls of the harness that touch a fault or a hold.
//!
//! While the harness stands still, faults do not end at their time, requests do not reach the
//! workers, and nothing passes on the wire. A run in which that happened during a fault or a hold did
//! not do to the lock what its scenario says.

use super::on_time::STRUCK_LATE;
use super::overrun;
use super::verdict::{Status, Verdicts};
use crate::history::{Event, EventKind, Header};
use crate::timeline::{Attempt, Step, ms};

/// How the reason begins.
pub(super) const STOOD_STILL: &str = "the harness stood still";

/// How the reason ends where a client closed its connection before the kernel was asked whose it was. That
/// takes a client that gives up, and a wire that got no processor for a while.
pub const CLIENT_GONE: &str = "was gone before it was known whose it was";

/// Part of the reason where a failover was left to Sentinels and none came. A Sentinel writes its file to the
/// disk before it goes on, so that a busy disk holds it up for seconds.
pub const NO_FAILOVER: &str = "the Sentinels did not fail over";

/// True if something could not be judged because the machine stood still, or took too long over a fault: the
/// run says nothing about the lock, and may be made again.
pub fn machine_too_slow(verdicts: &Verdicts) -> bool {
    let mut unknown = verdicts
        .values()
        .filter(|verdict| verdict.status == Status::Unknown);
    unknown.any(|verdict| {
        verdict.story.iter().any(|line| {
            line.starts_with(STOOD_STILL)
                || line.ends_with(CLIENT_GONE)
                || line.starts_with(overrun::TOO_LONG)
                || line.starts_with(STRUCK_LATE)
                || line.contains(NO_FAILOVER)
        })
    })
}

/// Shortest stall that matters to a lock that is not violated, as a fraction of the lease: as long as Redlock
/// waits for a node.
const PART_OF_LEASE: u64 = 10;

/// The shortest stall, in milliseconds, that is worth a word by itself. Shorter ones matter only where a
/// violation rests on them.
pub fn shortest_pause_ms(header: &Header) -> u64 {
    header.ttl_ms / PART_OF_LEASE
}

/// Watches what was going on when the harness stood still.
#[derive(Debug)]
pub(super) struct Standstill {
    shortest_ms: u64,
    holding: u64,
    /// When the last hold ended that has ended.
    held_until_ns: Option<u64>,
    faults: Vec<u32>,
    /// When the last fault ended that has ended.
    faulty_until_ns: Option<u64>,
    first: Option<Stall>,
    count: u64,
}

/// One stall, and what it touched.
#[derive(Debug)]
struct Stall {
    at_ns: u64,
    late_ms: u64,
    touched: &'static str,
}

impl Standstill {
    /// For a history with this header.
    pub(super) fn new(header: &Header) -> Self {
        Standstill {
            shortest_ms: shortest_pause_ms(header),
            holding: 0,
            held_until_ns: None,
            faults: Vec::new(),
            faulty_until_ns: None,
            first: None,
            count: 0,
        }
    }

    /// An attempt made a step.
    pub(super) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        match step {
            Step::Begun => self.holding += 1,
            Step::Ended(_) if attempt.begin_ns.is_some() => {
                self.holding = self.holding.saturating_sub(1);
                self.held_until_ns = Some(at_ns);
            }
            _ => {}
        }
    }

    /// Something else happened.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan { id, .. } => self.faults.push(*id),
            EventKind::FaultEnded { id } => {
                self.faults.retain(|on| on != id);
                self.faulty_until_ns = Some(event.at_ns);
            }
            EventKind::Stalled { late_ms } => self.stalled(event.at_ns, *late_ms),
            _ => {}
        }
    }

    fn stalled(&mut self, at_ns: u64, late_ms: u64) {
        if late_ms < self.shortest_ms {
            return;
        }
        let from_ns = at_ns.saturating_sub(ms(late_ms));
        let reaches = |until_ns: Option<u64>| until_ns.is_some_and(|until_ns| until_ns >= from_ns);
        let touched = if !self.faults.is_empty() || reaches(self.faulty_until_ns) {
            "a fault was on"
        } else if self.holding > 0 || reaches(self.held_until_ns) {
            "a client held the lock"
        } else {
            return;
        };
        self.count += 1;
        self.first.get_or_insert(Stall {
            at_ns,
            late_ms,
            touched,
        });
    }

    /// Why the run cannot be judged; `None`: no stall touched a fault or a hold.
    pub(super) fn reason(&self) -> Option<String> {
        let Stall {
            at_ns,
            late_ms,
            touched,
        } = self.first.as_ref()?;
        let seconds = *at_ns as f64 / 1e9;
        let others = match self.count {
            1 => String::new(),
            count => format!(", the first of {count} such stalls"),
        };
        Some(format!(
            "{STOOD_STILL} for {late_ms} ms until {seconds:.3} s, while {touched}{others}: \
             the lock was not put to the test that the scenario describes; run it again on a machine \
             that is less busy"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;

    const S: u64 = 1_000_000_000;

    fn event(at_ns: u64, what: EventKind) -> Event {
        Event { at_ns, what }
    }

    fn began(id: u32) -> EventKind {
        EventKind::FaultBegan {
            id,
            fault: "pause-client".into(),
            detail: String::new(),
            workers: vec![0],
            nodes: Vec::new(),
            clock: None,
        }
    }

    fn after(events: &[Event]) -> Option<String> {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let header = read_history(&text[..]).unwrap().header;
        let mut standstill = Standstill::new(&header);
        events.iter().for_each(|event| standstill.event(event));
        standstill.reason()
    }

    #[test]
    fn a_stall_that_touches_a_fault_counts_and_another_does_not() {
        let stalled = |at_ns| event(at_ns, EventKind::Stalled { late_ms: 500 });
        let ended = |at_ns| event(at_ns, EventKind::FaultEnded { id: 1 });
        let on = after(&[event(S, began(1)), stalled(2 * S), ended(3 * S)]).unwrap();
        assert!(
            on.contains("stood still for 500 ms until 2.000 s, while a fault was on:"),
            "{on}"
        );
        let began_and_ended_in_it = [event(S, began(1)), ended(S), stalled(S + S / 4)];
        assert!(after(&began_and_ended_in_it).is_some());
        assert_eq!(after(&[stalled(S)]), None);
        let short = event(2 * S, EventKind::Stalled { late_ms: 99 });
        assert_eq!(after(&[event(S, began(1)), short]), None);
        assert_eq!(after(&[event(S, began(1)), ended(S), stalled(2 * S)]), None);
    }

    #[test]
    fn only_a_machine_that_is_too_busy_is_a_reason_to_run_again() {
        use crate::check::{Property, Verdict};
        let says = |reason: &str| {
            machine_too_slow(&Verdicts::from([(
                Property::Lease,
                Verdict::unknown(reason),
            )]))
        };
        assert!(says("the harness stood still for 200 ms"));
        assert!(says(&format!("{} crash-node of node 0", overrun::TOO_LONG)));
        assert!(says(&format!(
            "the fault `sentinel-failover` never struck: {NO_FAILOVER} node 0"
        )));
        assert!(says(&format!(
            "a client on a link of worker 1 sent something and {CLIENT_GONE}"
        )));
        assert!(!says(
            "a client of user 65534 was refused on a link of worker 1"
        ));
        assert!(!says("the stock was never read"));
    }

    #[test]
    fn stalls_are_counted() {
        let events: Vec<Event> = std::iter::once(event(0, began(1)))
            .chain((1..4).map(|s| event(s * S, EventKind::Stalled { late_ms: 100 * s })))
            .collect();
        let reason = after(&events).unwrap();
        assert!(reason.contains("for 100 ms until 1.000 s"), "{reason}");
        assert!(reason.contains("the first of 3 such stalls"), "{reason}");
    }
}
