//! The shifts of the nodes' wall clocks, which decide when a key expires.

use crate::history::{ClockShift, Event, EventKind};

use super::expiry::Expiry;

/// The shifts of the nodes' clocks, in chronological order.
#[derive(Debug, Clone, Default)]
pub struct NodeClocks {
    /// Time, node and shift in nanoseconds.
    shifts: Vec<(u64, usize, i64)>,
    /// Shifts that are reverted when their fault ends: fault id, nodes and shift in nanoseconds.
    temporary: Vec<(u32, Vec<usize>, i64)>,
    /// The latest fault that shifted a clock, and the number of shifts before it.
    latest: Option<(u32, usize)>,
    /// The fault that the previous event ended.
    just_ended: Option<u32>,
}

impl NodeClocks {
    /// Processes one event.
    pub fn event(&mut self, event: &Event) {
        let just_ended = self.just_ended.take();
        match &event.what {
            EventKind::FaultBegan {
                id,
                nodes,
                clock: Some(ClockShift { by_ns, for_good }),
                ..
            } => {
                self.latest = Some((*id, self.shifts.len()));
                let shifts = nodes.iter().map(|node| (event.at_ns, *node, *by_ns));
                self.shifts.extend(shifts);
                if !for_good {
                    self.temporary.push((*id, nodes.clone(), *by_ns));
                }
            }
            EventKind::FaultEnded { id } => {
                self.just_ended = Some(*id);
                self.latest = self.latest.filter(|(latest, _)| latest == id);
                let over = self
                    .temporary
                    .iter()
                    .position(|(temporary, ..)| temporary == id);
                if let Some((_, nodes, by_ns)) = over.map(|index| self.temporary.swap_remove(index))
                {
                    let back_ns = by_ns.saturating_neg();
                    let back = nodes.into_iter().map(|node| (event.at_ns, node, back_ns));
                    self.shifts.extend(back);
                }
            }
            // The fault could not be applied, so no clock was set.
            EventKind::FaultMissed { .. } => {
                if let (Some((id, before)), Some(missed)) = (self.latest, just_ended)
                    && id == missed
                {
                    self.shifts.truncate(before);
                    self.latest = None;
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if the node's clock was set forward between two times.
    pub fn leapt(&self, node: usize, from_ns: u64, until_ns: u64) -> bool {
        self.shifts.iter().any(|(at_ns, shifted, by_ns)| {
            *shifted == node && *by_ns > 0 && (from_ns..=until_ns).contains(at_ns)
        })
    }

    /// Returns when a key with this expiry expires by the node's clock. A clock that was set in the same nanosecond as
    /// the expiry counts as set after it, because their order on servers is unknown.
    pub fn expires_at_ns(&self, node: usize, expiry: Expiry) -> u64 {
        let (from_ns, mut expires_at_ns) = (expiry.set_ns, expiry.expires_at_ns());
        for (at_ns, _, by_ns) in self
            .shifts
            .iter()
            .filter(|(_, shifted, _)| *shifted == node)
        {
            if *at_ns < from_ns || *at_ns >= expires_at_ns {
                continue;
            }
            // A shift forward ends the lifetime earlier, but not before the time of the shift.
            expires_at_ns = expires_at_ns
                .saturating_add_signed(by_ns.saturating_neg())
                .max(*at_ns);
        }
        expires_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::ns_from_ms;

    const MS: i64 = 1_000_000;

    /// Returns clocks with these shifts of node 0, given as time and shift in milliseconds.
    fn shifted(shifts: &[(u64, i64)]) -> NodeClocks {
        let shifts = shifts.iter();
        NodeClocks {
            shifts: shifts
                .map(|(at, by)| (ns_from_ms(*at), 0, by * MS))
                .collect(),
            ..NodeClocks::default()
        }
    }

    /// Returns when a lifetime of 100 ms that was set at 10 ms ends, in milliseconds.
    fn over_ms(clocks: &NodeClocks, node: usize) -> u64 {
        clocks.expires_at_ns(node, EXPIRY) / ns_from_ms(1)
    }

    const EXPIRY: Expiry = Expiry {
        set_ns: 10 * MS as u64,
        ttl_ms: 100,
    };

    #[test]
    fn shift_forward_ends_an_expiry_early_and_back_prolongs_it() {
        assert_eq!(over_ms(&shifted(&[]), 0), 110);
        assert_eq!(over_ms(&shifted(&[(50, 30)]), 0), 80);
        assert_eq!(over_ms(&shifted(&[(50, 300)]), 0), 50);
        assert_eq!(over_ms(&shifted(&[(50, -30)]), 0), 140);
        assert_eq!(over_ms(&shifted(&[(50, -30), (120, 500)]), 0), 120);
        assert_eq!(over_ms(&shifted(&[(5, 300), (111, 9)]), 0), 110);
        assert_eq!(over_ms(&shifted(&[(50, 300)]), 1), 110);
    }

    /// Returns the event that a fault which shifts the clock of node 0 began.
    fn began(by_ns: i64, for_good: bool) -> EventKind {
        EventKind::FaultBegan {
            id: 3,
            fault: "clock-jump".into(),
            detail: String::new(),
            workers: Vec::new(),
            nodes: vec![0],
            clock: Some(ClockShift { by_ns, for_good }),
            delay_ms: None,
        }
    }

    #[test]
    fn largest_shift_back_does_not_overflow() {
        let clocks = NodeClocks {
            shifts: vec![(ns_from_ms(50), 0, i64::MIN)],
            ..NodeClocks::default()
        };
        assert_eq!(
            clocks.expires_at_ns(0, EXPIRY),
            ns_from_ms(110) + i64::MAX as u64
        );
        let mut clocks = NodeClocks::default();
        let began = began(i64::MIN, false);
        for (at_ns, what) in [(50, began), (60, EventKind::FaultEnded { id: 3 })] {
            clocks.event(&Event { at_ns, what });
        }
        assert!(clocks.leapt(0, 55, 60));
    }

    #[test]
    fn clock_that_could_not_be_set_is_unchanged() {
        for for_good in [true, false] {
            let mut clocks = NodeClocks::default();
            let began = began(90, for_good);
            let missed = EventKind::FaultMissed {
                fault: "clock-jump".into(),
                reason: "node 0 is paused".into(),
                optional: true,
                because: None,
            };
            for what in [began, EventKind::FaultEnded { id: 3 }] {
                clocks.event(&Event { at_ns: 50, what });
            }
            assert!(clocks.leapt(0, 50, 50), "it ended where it began");
            clocks.event(&Event {
                at_ns: 50,
                what: missed,
            });
            assert!(!clocks.leapt(0, 0, 200));
            assert_eq!(over_ms(&clocks, 0), 110);
        }
    }

    #[test]
    fn only_a_shift_forward_is_a_leap() {
        let clocks = shifted(&[(50, 30), (70, -30)]);
        assert!(clocks.leapt(0, ns_from_ms(50), ns_from_ms(60)));
        assert!(!clocks.leapt(0, ns_from_ms(60), ns_from_ms(80)));
        assert!(!clocks.leapt(1, ns_from_ms(50), ns_from_ms(60)));
    }
}
