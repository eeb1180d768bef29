//! Whether a history shows enough to be judged.
//!
//! If it does not, `held` becomes `unknown`. A proven violation stays a violation, unless the lock
//! does not use the servers of the run at all.

use std::collections::BTreeSet;

use crate::history::{EndReason, EndedBy, Event, EventKind, Header};
use crate::timeline::{Attempt, Step, Timeline};

use super::inconclusive::InconclusiveReason;
use crate::check::stalls::active_spans::ActiveSpans;
use crate::check::stalls::harness_stall::HarnessStalls;
use crate::check::stalls::stall::{LongStalls, Stall};

/// Watches whether the lock was put to the test.
#[derive(Debug, Default)]
pub(super) struct Sufficiency {
    grants: u64,
    min_grants: u64,
    /// The attempts that are over: key, request, and the end of the hold (or the refusal).
    attempts: Vec<(u32, u64, u64)>,
    workers: usize,
    /// The workers that are dead, and those of them that died on their own.
    down: BTreeSet<usize>,
    dead: BTreeSet<usize>,
    /// How often the lock had been granted when a worker exited last.
    exited: Option<u64>,
    reasons: Vec<InconclusiveReason>,
    active_spans: ActiveSpans,
    pauses: HarnessStalls,
    stalls: LongStalls,
    /// The first fault that outlasted the hold that it found.
    overran: Option<InconclusiveReason>,
    /// Why nothing in this history is about the lock.
    void: Option<InconclusiveReason>,
}

/// Why a history does not show enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InvalidRun {
    /// The reasons; empty if it shows enough.
    pub reasons: Vec<InconclusiveReason>,
    /// True when it shows nothing about the lock at all, not even a violation.
    pub is_void: bool,
}

impl InvalidRun {
    /// What the scenario asks for and the lock or the backend does not offer. Nothing, if nothing is known about the lock.
    pub fn inapplicable(&self) -> Vec<InconclusiveReason> {
        let reasons = self.reasons.iter().filter(|_| !self.is_void);
        let inapplicable = reasons.filter(|reason| reason.is_inapplicable());
        inapplicable.cloned().collect()
    }
}

impl Sufficiency {
    pub fn new(header: &Header) -> Self {
        Sufficiency {
            min_grants: header.min_grants,
            workers: header.workers,
            pauses: HarnessStalls::new(header),
            stalls: LongStalls::new(header),
            ..Sufficiency::default()
        }
    }

    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.grants += u64::from(step == Step::Begun);
        self.active_spans.step(at_ns, attempt, step);
        let over_already = attempt.ended.is_some() && !matches!(step, Step::Ended(_));
        if matches!(step, Step::Denied(_) | Step::Ended(_) | Step::Gone) && !over_already {
            self.attempts.push((attempt.key, attempt.acquire_ns, at_ns));
        }
    }

    pub fn event(&mut self, event: &Event) {
        self.active_spans.event(event);
        if let Some(stall) = Stall::from_event(event) {
            self.stalls.ended(stall);
        }
        match &event.what {
            EventKind::HarnessStalled { late_ms } => {
                self.pauses
                    .paused(event.at_ns, *late_ms, &self.active_spans);
            }
            EventKind::FaultOverran { id, late_ms } if self.overran.is_none() => {
                self.overran = self.active_spans.overran(*id, event.at_ns, *late_ms);
            }
            EventKind::GrantWithoutCommand { worker, nodes, .. } => {
                self.void
                    .get_or_insert_with(|| InconclusiveReason::OtherServers {
                        worker: *worker,
                        nodes: nodes.clone(),
                    });
            }
            EventKind::UnrequestedFailover { .. } if self.void.is_none() => {
                self.void = reason_for(&event.what);
            }
            EventKind::WorkerDown {
                worker,
                by_fault,
                ended_by,
                ..
            } => {
                self.down.insert(*worker);
                if !by_fault {
                    self.dead.insert(*worker);
                }
                if *ended_by == Some(EndedBy::Itself) {
                    self.exited = Some(self.grants);
                }
            }
            EventKind::WorkerUp { worker, .. } => {
                self.down.remove(worker);
            }
            what => self.reasons.extend(reason_for(what)),
        }
    }

    /// Why this history does not show enough.
    ///
    /// `end_ns` is when the history ends, and `under_way` the attempts that are not over then. Two workers that are
    /// still asking have competed.
    pub fn result<'a>(
        mut self,
        end_ns: u64,
        under_way: impl Iterator<Item = &'a Attempt>,
    ) -> InvalidRun {
        let asking = under_way.filter(|attempt| attempt.ended.is_none());
        let asking = asking.map(|attempt| (attempt.key, attempt.acquire_ns, end_ns));
        self.attempts.extend(asking);
        let is_void = self.void.is_some();
        let mut reasons: Vec<InconclusiveReason> =
            self.void.into_iter().chain(self.reasons).collect();
        reasons.extend(self.pauses.reason);
        let is_missed =
            |reason: &InconclusiveReason| matches!(reason, InconclusiveReason::FaultMissed { .. });
        let missed = reasons.iter().any(is_missed);
        reasons.extend(self.stalls.reason(missed));
        reasons.extend(self.overran);
        if self.grants < self.min_grants {
            reasons.push(InconclusiveReason::TooFewGrants {
                granted: self.grants,
                needed: self.min_grants,
            });
        }
        let left = self.workers.saturating_sub(self.down.len());
        // The one that is left got the lock from a client that ended by itself.
        let is_handed_on = self.exited.is_some_and(|granted| self.grants > granted);
        if self.workers > 0 && self.dead.len() >= self.workers {
            reasons.push(InconclusiveReason::EverybodyDied);
        } else if !self.dead.is_empty() && left < 2 && !is_handed_on {
            let died = self.dead.into_iter().collect();
            reasons.push(InconclusiveReason::TooFewClients { died, left });
        }
        if !have_competed(self.attempts) {
            reasons.push(InconclusiveReason::NobodyCompeted);
        }
        InvalidRun { reasons, is_void }
    }
}

/// True if two attempts to get one key overlap. One worker has one attempt at a time, so they belong to two
/// workers.
fn have_competed(mut attempts: Vec<(u32, u64, u64)>) -> bool {
    attempts.sort_unstable();
    let mut keys = attempts.chunk_by(|one, other| one.0 == other.0);
    keys.any(|attempts| {
        let mut longest_ns = 0;
        attempts.iter().any(|(_, from_ns, until_ns)| {
            let meets = *from_ns < longest_ns;
            longest_ns = longest_ns.max(*until_ns);
            meets
        })
    })
}

/// Why a run cannot be judged in which this happened; `None`: it can, or more than this event decides it.
pub fn reason_for(what: &EventKind) -> Option<InconclusiveReason> {
    Some(match what.clone() {
        EventKind::FaultMissed {
            fault,
            reason,
            optional: false,
            because,
        } => InconclusiveReason::FaultMissed {
            fault,
            reason,
            because,
        },
        EventKind::FaultNotUndone { what, reason } => {
            InconclusiveReason::FaultNotUndone { what, reason }
        }
        EventKind::BackendUnsupported { backend, supported } => {
            InconclusiveReason::BackendUnsupported { backend, supported }
        }
        EventKind::CommandUnknown { command } => InconclusiveReason::CommandUnknown { command },
        EventKind::ExtensionUntested { unsupported } => {
            InconclusiveReason::ExtensionUntested { unsupported }
        }
        EventKind::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        } => InconclusiveReason::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        },
        EventKind::NotOffered { feature } => InconclusiveReason::NotOffered { feature },
        EventKind::SentinelsRefused { message } => InconclusiveReason::SentinelsRefused { message },
        EventKind::StockUnknown { reason } => InconclusiveReason::StockUnknown { reason },
        EventKind::FinalInspectionFailed { reason } => {
            InconclusiveReason::FinalInspectionFailed { reason }
        }
        EventKind::NodeLost { node, reason } => InconclusiveReason::NodeLost { node, reason },
        EventKind::UnrequestedFailover { node } => InconclusiveReason::UnrequestedFailover { node },
        EventKind::FreezeBreach {
            worker,
            node,
            arrived_at_ns,
            ..
        } => InconclusiveReason::FreezeBreach {
            worker,
            node,
            arrived_at_ns,
        },
        EventKind::ResourceExhausted { reason } => {
            InconclusiveReason::ResourceExhaustion { reason }
        }
        EventKind::ClientGone { worker, sent } => InconclusiveReason::ClientGone { worker, sent },
        EventKind::ClientRefused {
            worker,
            user,
            served,
        } => InconclusiveReason::ClientRefused {
            worker,
            user,
            served,
        },
        EventKind::BudgetSpent { budget, most } => InconclusiveReason::BudgetSpent { budget, most },
        EventKind::End {
            reason: EndReason::Interrupted,
            ..
        } => InconclusiveReason::Interrupted,
        _ => return None,
    })
}

/// Why the faults tested nothing: each that struck a holder found it alone, because no other client had sent a
/// command yet when the holder left.
pub(super) fn nobody_was_ready(timeline: &Timeline<'_>) -> Option<InconclusiveReason> {
    let history = timeline.history();
    let starts = history.events.iter().filter_map(|event| match event.what {
        EventKind::SlowStart {
            worker, until_ns, ..
        } => Some((worker, until_ns)),
        _ => None,
    });
    let starts: Vec<(usize, u64)> = starts.collect();
    if starts.is_empty() {
        return None;
    }
    let mut alone = None;
    for fault in timeline.faults().iter().filter(|fault| fault.took_effect()) {
        let at_ns = fault.began_ns;
        let mut holds = timeline.holds().iter();
        let Some(hold) = holds.find(|hold| (hold.begin_ns..=hold.end_ns).contains(&at_ns)) else {
            continue;
        };
        let is_silent = |rival: usize| {
            let mut starts = starts.iter();
            // A fault that froze it is what the scenario wants.
            let frozen = timeline.frozen().get(&rival).into_iter().flatten();
            let mut frozen = frozen.map(|(from_ns, _)| *from_ns);
            starts.any(|(worker, first_command_at_ns)| {
                *worker == rival
                    && *first_command_at_ns >= hold.end_ns
                    && !frozen.any(|from_ns| from_ns < *first_command_at_ns)
            })
        };
        let mut rivals = (0..history.header.workers).filter(|rival| *rival != hold.worker);
        if !rivals.all(is_silent) {
            return None;
        }
        alone.get_or_insert(InconclusiveReason::NobodyWasReady {
            fault: fault.fault.to_owned(),
            until_ns: hold.end_ns,
        });
    }
    alone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, read_history};

    /// The workers that die, and whether the history still shows enough.
    fn reasons(by_fault: bool, dead: usize) -> Vec<InconclusiveReason> {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let mut run_validity = Sufficiency::new(&history.header);
        run_validity.grants = u64::MAX;
        run_validity.attempts = vec![(0, 0, 2), (0, 1, 3)];
        for worker in 0..dead {
            let what = EventKind::WorkerDown {
                worker,
                by_fault,
                reason: "killed".into(),
                ended_by: None,
            };
            run_validity.event(&Event { at_ns: 1, what });
        }
        run_validity.result(2, std::iter::empty()).reasons
    }

    /// The run is made again: a busy machine may have kept the moment away.
    #[test]
    fn missed_fault_beside_a_short_standstill_is_perhaps_the_machines() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let mut history = read_history(&text[..]).unwrap();
        let is_made_again = |history: &History| {
            let verdicts = crate::check::judge(history);
            crate::check::machine_was_too_slow(&verdicts)
        };
        let last_ns = history.events.last().unwrap().at_ns;
        let missed = EventKind::FaultMissed {
            fault: "pause-client".into(),
            reason: "its moment never came".into(),
            optional: false,
            because: None,
        };
        let mut add = |what| {
            history.events.push(Event {
                at_ns: last_ns,
                what,
            });
            is_made_again(&history)
        };
        assert!(!add(missed));
        assert!(add(EventKind::NodeStalled {
            node: 0,
            since_ns: last_ns.saturating_sub(60_000_000),
            stalled_ms: 60,
        }));
    }

    #[test]
    fn a_run_whose_workers_all_died_on_their_own_shows_too_little() {
        let workers = {
            let text = include_bytes!("../../tests/histories/calm.jsonl");
            read_history(&text[..]).unwrap().header.workers
        };
        assert_eq!(reasons(false, workers), [InconclusiveReason::EverybodyDied]);
        let died = (0..workers - 1).collect();
        let alone = InconclusiveReason::TooFewClients { died, left: 1 };
        assert_eq!(reasons(false, workers - 1), [alone]);
        assert_eq!(reasons(false, workers - 2), []);
        assert_eq!(reasons(true, workers), []);
    }
}
