//! Periods in which a wall clock was wrong, with the offset. Several faults of one clock add up.

use std::collections::BTreeMap;

use picklock_scenarios::FaultKind;
use picklock_verdicts::timeline::{FaultSpan, Timeline};
use serde::Serialize;

use super::name::sentence;
use crate::units::span_ns;

/// A period in which a wall clock had a constant offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ClockOffset {
    from_ns: u64,
    to_ns: u64,
    /// The offset, such as `+1.5 s`.
    by: String,
    /// A text with the offset and the faults that caused it.
    words: String,
}

#[derive(Debug, Default)]
pub(super) struct WrongClocks {
    pub(super) workers: BTreeMap<usize, Vec<ClockOffset>>,
    pub(super) nodes: BTreeMap<usize, Vec<ClockOffset>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ClockOwner {
    Worker(usize),
    Node(usize),
}

/// A change of some clocks.
enum Change<'a> {
    /// The fault shifts the clock by this many nanoseconds. The text describes the fault.
    Set(i64, &'a str),
    /// The fault has ended, and its shift with it.
    Restored,
    /// Another server, whose clock is right, replaces the server with the wrong clock.
    Replaced,
}

/// Returns the offsets of each clock. A history that has offsets only as text yields none.
pub(super) fn clock_offsets(timeline: &Timeline<'_>) -> WrongClocks {
    let faults = timeline.faults().iter().enumerate();
    let mut changes: Vec<(u64, usize, Change<'_>)> = faults.flat_map(changes_of).collect();
    // Sort by time, and changes at the same time by fault.
    changes.sort_by_key(|(at_ns, index, _)| (*at_ns, *index));
    let mut offsets: BTreeMap<ClockOwner, OffsetClock<'_>> = BTreeMap::new();
    for (at_ns, index, change) in changes {
        for owner in owners(&timeline.faults()[index]) {
            let clock = offsets.entry(owner).or_default();
            clock.close(at_ns);
            match change {
                Change::Set(by_ns, detail) => {
                    clock.shifts.insert(index, (by_ns, detail));
                }
                Change::Restored => {
                    clock.shifts.remove(&index);
                }
                Change::Replaced => clock.shifts.clear(),
            }
        }
    }
    let mut clocks = WrongClocks::default();
    for (owner, mut clock) in offsets {
        clock.close(timeline.end_ns());
        match owner {
            ClockOwner::Worker(worker) => clocks.workers.insert(worker, clock.off),
            ClockOwner::Node(node) => clocks.nodes.insert(node, clock.off),
        };
    }
    clocks
}

fn changes_of<'a>(
    (index, fault): (usize, &FaultSpan<'a>),
) -> impl Iterator<Item = (u64, usize, Change<'a>)> + use<'a> {
    let began = match fault.clock {
        Some(shift) => Some(Change::Set(shift.by_ns, fault.detail)),
        None if FaultKind::named(fault.fault) == Some(FaultKind::Failover) => {
            Some(Change::Replaced)
        }
        None => None,
    };
    // A fault that could not be applied has not changed the clock.
    let undone = (fault.clock).filter(|shift| !shift.for_good || fault.missed);
    let ended = undone.and(fault.ended_ns);
    let began = began.map(|change| (fault.began_ns, index, change));
    let ended = ended.map(|at_ns| (at_ns, index, Change::Restored));
    began.into_iter().chain(ended)
}

/// Returns the clocks that a fault affects.
fn owners(fault: &FaultSpan<'_>) -> impl Iterator<Item = ClockOwner> {
    let workers = fault.workers.iter().copied().map(ClockOwner::Worker);
    workers.chain(fault.nodes.iter().copied().map(ClockOwner::Node))
}

#[derive(Default)]
struct OffsetClock<'a> {
    since_ns: u64,
    /// By fault: its shift and its description.
    shifts: BTreeMap<usize, (i64, &'a str)>,
    off: Vec<ClockOffset>,
}

impl OffsetClock<'_> {
    /// Ends the period with the current offset.
    fn close(&mut self, at_ns: u64) {
        let from_ns = std::mem::replace(&mut self.since_ns, at_ns);
        let shifts = self.shifts.values();
        let sum_ns = shifts.fold(0_i64, |sum, (by_ns, _)| sum.saturating_add(*by_ns));
        if sum_ns == 0 || from_ns >= at_ns {
            return;
        }
        let by = signed(sum_ns);
        let faults: Vec<&str> = self.shifts.values().map(|(_, detail)| *detail).collect();
        let words = sentence(&format!("wall clock {by} off: {}", faults.join("; "))).shown;
        match self.off.last_mut() {
            // A fault began or ended without changing the offset.
            Some(last) if last.to_ns == from_ns && last.words == words => last.to_ns = at_ns,
            _ => self.off.push(ClockOffset {
                from_ns,
                to_ns: at_ns,
                by,
                words,
            }),
        }
    }
}

/// Formats an offset, such as `+1.5 s` or `−200 ms`.
fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '−' } else { '+' };
    format!("{sign}{}", span_ns(ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::history::{ClockShift, EventKind};

    use super::*;
    use crate::html::small_history::history;

    fn began(id: u32, fault: &str, owner: ClockOwner, clock: Option<ClockShift>) -> EventKind {
        let (workers, nodes) = match owner {
            ClockOwner::Worker(worker) => (vec![worker], vec![]),
            ClockOwner::Node(node) => (vec![], vec![node]),
        };
        EventKind::FaultBegan {
            id,
            fault: fault.into(),
            detail: format!("{fault} {id}"),
            workers,
            nodes,
            clock,
            delay_ms: None,
        }
    }

    fn shift(by_ms: i64, for_good: bool) -> Option<ClockShift> {
        Some(ClockShift {
            by_ns: by_ms * 1_000_000,
            for_good,
        })
    }

    fn seen(off: &[ClockOffset]) -> Vec<(u64, u64, &str)> {
        off.iter()
            .map(|off| (off.from_ns, off.to_ns, off.by.as_str()))
            .collect()
    }

    const END: EventKind = EventKind::Refused { worker: 0, op: 1 };

    #[test]
    fn permanent_jump_lasts_to_the_end_and_skew_does_not() {
        let (node, worker) = (ClockOwner::Node(1), ClockOwner::Worker(0));
        let clocks = clock_offsets(&Timeline::new(&history(vec![
            (10, began(0, "clock-jump", node, shift(1_500, true))),
            (10, EventKind::FaultEnded { id: 0 }),
            (20, began(1, "clock-skew", worker, shift(-200, false))),
            (50, EventKind::FaultEnded { id: 1 }),
            (90, END),
        ])));
        assert_eq!(seen(&clocks.nodes[&1]), [(10, 90, "+1.5 s")]);
        assert_eq!(seen(&clocks.workers[&0]), [(20, 50, "−200 ms")]);
        assert_eq!(
            clocks.nodes[&1][0].words,
            "wall clock +1.5 s off: clock-jump 0"
        );
    }

    #[test]
    fn shifts_of_one_clock_add_up_until_a_failover() {
        let node = ClockOwner::Node(0);
        let clocks = clock_offsets(&Timeline::new(&history(vec![
            (10, began(0, "clock-jump", node, shift(1_000, false))),
            (20, began(1, "clock-jump", node, shift(500, false))),
            (30, began(2, "clock-jump", node, shift(-1_500, false))),
            (40, EventKind::FaultEnded { id: 2 }),
            (50, EventKind::FaultEnded { id: 0 }),
            (60, began(3, "failover", node, None)),
            (70, EventKind::FaultEnded { id: 1 }),
            (90, END),
        ])));
        let expected = [
            (10, 20, "+1 s"),
            (20, 30, "+1.5 s"),
            (40, 50, "+1.5 s"),
            (50, 60, "+500 ms"),
        ];
        assert_eq!(seen(&clocks.nodes[&0]), expected);
    }

    #[test]
    fn missed_or_unknown_shift_is_not_drawn() {
        let missed = EventKind::FaultMissed {
            fault: "clock-skew".into(),
            reason: "no such clock".into(),
            optional: false,
            because: None,
        };
        let clocks = clock_offsets(&Timeline::new(&history(vec![
            (
                10,
                began(0, "clock-skew", ClockOwner::Worker(0), shift(5, true)),
            ),
            (10, EventKind::FaultEnded { id: 0 }),
            (10, missed),
            (20, began(1, "clock-skew", ClockOwner::Worker(1), None)),
            (90, END),
        ])));
        assert_eq!(seen(&clocks.workers[&0]), []);
        assert!(!clocks.workers.contains_key(&1));
    }
}
