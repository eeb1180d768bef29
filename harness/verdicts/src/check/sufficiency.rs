//! Whether a history shows enough to be judged.
//!
//! If it does not, `held` becomes `unknown`. A proven violation stays a violation, unless the lock
//! does not use the servers of the run at all.

use std::collections::BTreeSet;

use crate::history::{EndReason, EndedBy, Event, EventKind, Header};
use crate::timeline::{Attempt, Step, Timeline};

use super::harness_pause::HarnessPauses;
use super::ongoing::Ongoing;
use super::standstill::{LongStandstills, Standstill};
use super::unjudged::Unjudged;

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
    reasons: Vec<Unjudged>,
    ongoing: Ongoing,
    pauses: HarnessPauses,
    standstills: LongStandstills,
    /// The first fault that outlasted the hold that it found.
    overran: Option<Unjudged>,
    /// Why nothing in this history is about the lock.
    void: Option<Unjudged>,
}

/// Why a history does not show enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Insufficiency {
    /// The reasons; empty if it shows enough.
    pub reasons: Vec<Unjudged>,
    /// True when it shows nothing about the lock at all, not even a violation.
    pub is_void: bool,
}

impl Insufficiency {
    /// What the scenario asks for and the lock or the backend does not offer. Nothing, if nothing is known about the lock.
    pub fn inapplicable(&self) -> Vec<Unjudged> {
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
            pauses: HarnessPauses::new(header),
            standstills: LongStandstills::new(header),
            ..Sufficiency::default()
        }
    }

    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.grants += u64::from(step == Step::Begun);
        self.ongoing.step(at_ns, attempt, step);
        let over_already = attempt.ended.is_some() && !matches!(step, Step::Ended(_));
        if matches!(step, Step::Denied(_) | Step::Ended(_) | Step::Gone) && !over_already {
            self.attempts.push((attempt.key, attempt.acquire_ns, at_ns));
        }
    }

    pub fn event(&mut self, event: &Event) {
        self.ongoing.event(event);
        if let Some(standstill) = Standstill::of(event) {
            self.standstills.ended(standstill);
        }
        match &event.what {
            EventKind::Stalled { late_ms } => {
                self.pauses.paused(event.at_ns, *late_ms, &self.ongoing);
            }
            EventKind::FaultOverran { id, late_ms } if self.overran.is_none() => {
                self.overran = self.ongoing.overran(*id, event.at_ns, *late_ms);
            }
            EventKind::GrantWithoutCommand { worker, nodes, .. } => {
                self.void.get_or_insert_with(|| Unjudged::OtherServers {
                    worker: *worker,
                    nodes: nodes.clone(),
                });
            }
            EventKind::UnaskedFailover { .. } if self.void.is_none() => {
                self.void = unjudged_for(&event.what);
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
            what => self.reasons.extend(unjudged_for(what)),
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
    ) -> Insufficiency {
        let asking = under_way.filter(|attempt| attempt.ended.is_none());
        let asking = asking.map(|attempt| (attempt.key, attempt.acquire_ns, end_ns));
        self.attempts.extend(asking);
        let is_void = self.void.is_some();
        let mut reasons: Vec<Unjudged> = self.void.into_iter().chain(self.reasons).collect();
        reasons.extend(self.pauses.reason);
        let is_missed = |reason: &Unjudged| matches!(reason, Unjudged::FaultMissed { .. });
        let missed = reasons.iter().any(is_missed);
        reasons.extend(self.standstills.reason(missed));
        reasons.extend(self.overran);
        if self.grants < self.min_grants {
            reasons.push(Unjudged::TooFewGrants {
                granted: self.grants,
                needed: self.min_grants,
            });
        }
        let left = self.workers.saturating_sub(self.down.len());
        // The one that is left got the lock from a client that ended by itself.
        let is_handed_on = self.exited.is_some_and(|granted| self.grants > granted);
        if self.workers > 0 && self.dead.len() >= self.workers {
            reasons.push(Unjudged::EverybodyDied);
        } else if !self.dead.is_empty() && left < 2 && !is_handed_on {
            let died = self.dead.into_iter().collect();
            reasons.push(Unjudged::TooFewClients { died, left });
        }
        if !have_competed(self.attempts) {
            reasons.push(Unjudged::NobodyCompeted);
        }
        Insufficiency { reasons, is_void }
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
pub fn unjudged_for(what: &EventKind) -> Option<Unjudged> {
    Some(match what.clone() {
        EventKind::FaultMissed {
            fault,
            reason,
            optional: false,
            because,
        } => Unjudged::FaultMissed {
            fault,
            reason,
            because,
        },
        EventKind::FaultNotUndone { what, reason } => Unjudged::FaultNotUndone { what, reason },
        EventKind::BackendUnsupported { backend, supported } => {
            Unjudged::BackendUnsupported { backend, supported }
        }
        EventKind::CommandUnknown { command } => Unjudged::CommandUnknown { command },
        EventKind::ExtensionUntested { unsupported } => Unjudged::ExtensionUntested { unsupported },
        EventKind::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        } => Unjudged::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        },
        EventKind::NotOffered { ability } => Unjudged::NotOffered { ability },
        EventKind::SentinelsRefused { message } => Unjudged::SentinelsRefused { message },
        EventKind::StockUnknown { reason } => Unjudged::StockUnknown { reason },
        EventKind::FinalInspectionFailed { reason } => Unjudged::FinalInspectionFailed { reason },
        EventKind::NodeLost { node, reason } => Unjudged::NodeLost { node, reason },
        EventKind::UnaskedFailover { node } => Unjudged::UnaskedFailover { node },
        EventKind::FaultEscaped {
            worker,
            node,
            came_ns,
            ..
        } => Unjudged::FreezeLeak {
            worker,
            node,
            came_ns,
        },
        EventKind::Shortage { reason } => Unjudged::ResourceExhaustion { reason },
        EventKind::ClientGone { worker, sent } => Unjudged::ClientGone { worker, sent },
        EventKind::ClientRefused {
            worker,
            user,
            served,
        } => Unjudged::ClientRefused {
            worker,
            user,
            served,
        },
        EventKind::BudgetSpent { budget, most } => Unjudged::BudgetSpent { budget, most },
        EventKind::End {
            reason: EndReason::Interrupted,
            ..
        } => Unjudged::Interrupted,
        _ => return None,
    })
}

/// Why the faults tested nothing: each that struck a holder found it alone, because no other client had sent a
/// command yet when the holder left.
pub(super) fn nobody_was_ready(timeline: &Timeline<'_>) -> Option<Unjudged> {
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
    for fault in timeline.faults().iter().filter(|fault| fault.struck()) {
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
            starts.any(|(worker, spoke_ns)| {
                *worker == rival
                    && *spoke_ns >= hold.end_ns
                    && !frozen.any(|from_ns| from_ns < *spoke_ns)
            })
        };
        let mut rivals = (0..history.header.workers).filter(|rival| *rival != hold.worker);
        if !rivals.all(is_silent) {
            return None;
        }
        alone.get_or_insert(Unjudged::NobodyWasReady {
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
    fn reasons(by_fault: bool, dead: usize) -> Vec<Unjudged> {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let mut sufficiency = Sufficiency::new(&history.header);
        sufficiency.grants = u64::MAX;
        sufficiency.attempts = vec![(0, 0, 2), (0, 1, 3)];
        for worker in 0..dead {
            let what = EventKind::WorkerDown {
                worker,
                by_fault,
                reason: "killed".into(),
                ended_by: None,
            };
            sufficiency.event(&Event { at_ns: 1, what });
        }
        sufficiency.result(2, std::iter::empty()).reasons
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
        assert!(add(EventKind::NodeStoodStill {
            node: 0,
            since_ns: last_ns.saturating_sub(60_000_000),
            stood_ms: 60,
        }));
    }

    #[test]
    fn a_run_whose_workers_all_died_on_their_own_shows_too_little() {
        let workers = {
            let text = include_bytes!("../../tests/histories/calm.jsonl");
            read_history(&text[..]).unwrap().header.workers
        };
        assert_eq!(reasons(false, workers), [Unjudged::EverybodyDied]);
        let died = (0..workers - 1).collect();
        let alone = Unjudged::TooFewClients { died, left: 1 };
        assert_eq!(reasons(false, workers - 1), [alone]);
        assert_eq!(reasons(false, workers - 2), []);
        assert_eq!(reasons(true, workers), []);
    }
}
