//! Times in which the reply to a command could be late.
//!
//! A grant is attributed to the reply to an earlier command only with evidence that something delayed that reply, from
//! the writing of the value until the later attempt was requested.

use crate::history::{Event, EventKind, History};
use crate::timeline::{includes, is_instantaneous, ns_from_ms};

use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::stall::Stall;

/// The faults and stalls that may have delayed replies, in the order in which they became known.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct ReplyDelays(Vec<ReplyDelay>);

#[derive(Debug, Clone)]
struct ReplyDelay {
    /// The fault's number, or `None` for a stall.
    fault: Option<u32>,
    /// The affected workers; empty if it affects all of them.
    workers: Vec<usize>,
    from_ns: u64,
    until_ns: u64,
    /// How long after the end of the fault a delayed reply can still arrive, in nanoseconds.
    delay_ns: u64,
}

/// What delayed a reply. A fault of the scenario comes last in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::check) enum DelayedBy {
    Stall(StallSpan),
    Fault,
}

/// A stall, ordered by its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::check) struct StallSpan {
    pub(in crate::check) length_ns: u64,
    pub(in crate::check) until_ns: u64,
}

impl DelayedBy {
    /// Returns the stall, or `None` for a fault.
    pub(in crate::check) fn stall(self) -> Option<StallSpan> {
        match self {
            DelayedBy::Stall(span) => Some(span),
            DelayedBy::Fault => None,
        }
    }
}

impl ReplyDelays {
    /// Returns the delays of a history.
    pub(in crate::check) fn from_history(history: &History) -> Self {
        let mut delays = ReplyDelays::default();
        history.events.iter().for_each(|event| delays.event(event));
        delays
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id,
                fault,
                workers,
                delay_ms,
                ..
            } => self.0.push(ReplyDelay {
                fault: Some(*id),
                workers: workers.clone(),
                from_ns: event.at_ns,
                until_ns: if is_instantaneous(fault) {
                    event.at_ns
                } else {
                    u64::MAX
                },
                delay_ns: ns_from_ms(delay_ms.unwrap_or(0)),
            }),
            EventKind::FaultEnded { id } => {
                let mut begun = self.0.iter_mut().rev();
                if let Some(fault) = begun.find(|delay| delay.fault == Some(*id)) {
                    fault.until_ns = event.at_ns.saturating_add(fault.delay_ns);
                }
            }
            _ => {
                let stall = Stall::from_event(event);
                let stall = stall.map(|stall| (stall.from_ns, stall.until_ns));
                let harness_stall = HarnessStall::from_event(event).map(HarnessStall::span);
                self.0.extend(
                    stall
                        .or(harness_stall)
                        .map(|(from_ns, until_ns)| ReplyDelay {
                            fault: None,
                            workers: Vec::new(),
                            from_ns,
                            until_ns,
                            delay_ns: 0,
                        }),
                );
            }
        }
    }

    /// Returns `true` if the reply to the command that wrote a value at `written_ns` may have reached this worker after
    /// it had been requested at `requested_at_ns` to take the lock again.
    pub(in crate::check) fn can_bridge(
        &self,
        worker: usize,
        written_ns: u64,
        requested_at_ns: u64,
    ) -> bool {
        written_ns >= requested_at_ns
            || self.0.iter().any(|delay| {
                delay.affects(worker)
                    && delay.from_ns <= written_ns
                    && delay.until_ns >= requested_at_ns
            })
    }

    /// Returns what may have kept commands of this worker from a server, or their replies from the worker, at any time
    /// in this span: a fault, or else the longest stall.
    pub(in crate::check) fn during(
        &self,
        worker: usize,
        from_ns: u64,
        until_ns: u64,
    ) -> Option<DelayedBy> {
        let touching = self.0.iter().filter(|delay| {
            delay.affects(worker) && delay.from_ns <= until_ns && delay.until_ns >= from_ns
        });
        let by = touching.map(|delay| match delay.fault {
            Some(_) => DelayedBy::Fault,
            None => DelayedBy::Stall(StallSpan {
                length_ns: delay.until_ns.saturating_sub(delay.from_ns),
                until_ns: delay.until_ns,
            }),
        });
        by.max()
    }
}

impl ReplyDelay {
    fn affects(&self, worker: usize) -> bool {
        includes(&self.workers, worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(id: u32, fault: &str, workers: &[usize], delay_ms: Option<u64>) -> EventKind {
        EventKind::FaultBegan {
            id,
            fault: fault.into(),
            detail: String::new(),
            workers: workers.to_vec(),
            nodes: vec![0],
            clock: None,
            delay_ms,
        }
    }

    #[test]
    fn reply_is_late_only_while_something_delays_it() {
        let mut delays = ReplyDelays::default();
        for (at_ms, what) in [
            (0, began(0, "pause-node", &[], None)),
            (500, EventKind::FaultEnded { id: 0 }),
            (600, began(1, "delay", &[1], Some(300))),
            (650, EventKind::FaultEnded { id: 1 }),
            (2000, began(2, "evict", &[], None)),
        ] {
            let at_ns = ns_from_ms(at_ms);
            delays.event(&Event { at_ns, what });
        }
        // The node answered as soon as it ran again, before the next request.
        assert!(!delays.can_bridge(0, ns_from_ms(500), ns_from_ms(510)));
        assert!(delays.can_bridge(0, ns_from_ms(500), ns_from_ms(500)));
        assert!(delays.can_bridge(0, ns_from_ms(700), ns_from_ms(690)));
        assert!(delays.can_bridge(1, ns_from_ms(620), ns_from_ms(900)));
        assert!(!delays.can_bridge(0, ns_from_ms(620), ns_from_ms(900)));
        assert!(!delays.can_bridge(0, ns_from_ms(2000), ns_from_ms(2001)));
    }
}
