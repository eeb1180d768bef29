//! Decides whether a history shows enough to be judged.
//!
//! If it does not, `held` becomes `unknown`. A proven violation stays a violation, unless the lock does not use the
//! servers of the run at all.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{EndedBy, Event, EventKind, Header};
use crate::timeline::{Attempt, Step, Timeline};

use super::incident::reason_for;
use super::inconclusive::{FailedRequests, InconclusiveReason};
use crate::check::stalls::active_spans::ActiveSpans;
use crate::check::stalls::harness_stall::{HarnessStall, HarnessStalls};
use crate::check::stalls::stall::{LongStalls, Stall};

/// Collects the evidence whether a run tested the lock sufficiently.
#[derive(Debug, Default)]
pub(super) struct RunValidity {
    grants: u64,
    min_grants: u64,
    /// The requests for a lock that ended in an error.
    failed: Option<FailedRequests>,
    /// The completed attempts, until two that follow each other in this list have competed: the key, the time of the
    /// request, and the end of the hold (or the refusal).
    attempts: Vec<(u32, u64, u64)>,
    /// Whether two attempts have competed.
    have_competed: bool,
    workers: usize,
    /// The last worker that got each tick, and whether any tick went to two workers.
    ticks: (BTreeMap<u64, usize>, bool),
    /// The workers that are currently dead, whatever the reason.
    down: BTreeSet<usize>,
    /// The workers that died on their own.
    dead: BTreeSet<usize>,
    /// Number of grants when a worker last exited on its own.
    grants_at_exit: Option<u64>,
    reasons: Vec<InconclusiveReason>,
    active_spans: ActiveSpans,
    harness_stalls: HarnessStalls,
    stalls: LongStalls,
    /// The first fault that outlasted the hold in progress when it began.
    overran: Option<InconclusiveReason>,
    /// The reason if the history proves nothing about the lock at all.
    void: Option<InconclusiveReason>,
}

/// The reasons why a history does not show enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InvalidRun {
    /// The reasons; empty if the history shows enough.
    pub reasons: Vec<InconclusiveReason>,
    /// Whether the history proves nothing about the lock at all, not even a violation.
    pub is_void: bool,
}

impl InvalidRun {
    /// Returns the reasons because of which the scenario does not apply: features that it requires and that the lock or
    /// the backend does not offer. Returns an empty list if the history proves nothing about the lock.
    pub fn inapplicable(&self) -> Vec<InconclusiveReason> {
        let reasons = self.reasons.iter().filter(|_| !self.is_void);
        let inapplicable = reasons.filter(|reason| reason.is_inapplicable());
        inapplicable.cloned().collect()
    }
}

impl RunValidity {
    pub fn new(header: &Header) -> Self {
        RunValidity {
            min_grants: header.min_grants,
            workers: header.workers,
            harness_stalls: HarnessStalls::new(header),
            stalls: LongStalls::new(header),
            ..RunValidity::default()
        }
    }

    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.active_spans.step(at_ns, attempt, step);
        if step == Step::Begun {
            self.grants += 1;
        } else if !self.have_competed {
            self.compare_with_last(at_ns, attempt, step);
        }
    }

    /// Records an attempt that is over, and whether it competed with the one before it in the list.
    #[cold]
    fn compare_with_last(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let over_already = attempt.ended.is_some() && !matches!(step, Step::Ended(_));
        let is_over = matches!(step, Step::Denied(_) | Step::Ended(_) | Step::Gone);
        if is_over && !over_already {
            let attempt = (attempt.lock, attempt.acquire_ns, at_ns);
            let meets = |last: &(u32, u64, u64)| {
                last.0 == attempt.0 && attempt.1 < last.2 && last.1 < attempt.2
            };
            self.have_competed = self.attempts.last().is_some_and(meets);
            self.attempts.push(attempt);
        }
    }

    pub fn event(&mut self, event: &Event) {
        self.active_spans.event(event);
        if let Some(stall) = Stall::from_event(event) {
            self.stalls.record(stall);
        }
        if let Some(stall) = HarnessStall::from_event(event) {
            self.harness_stalls.record(stall, &self.active_spans);
        }
        match &event.what {
            EventKind::FaultOverran { id, late_ms } if self.overran.is_none() => {
                self.overran = self.active_spans.overran(*id, event.at_ns, *late_ms);
            }
            EventKind::GrantWithoutCommand { .. } => {
                self.void = self.void.take().or_else(|| reason_for(&event.what));
            }
            EventKind::UnrequestedFailover { .. } if self.void.is_none() => {
                self.void = reason_for(&event.what);
            }
            EventKind::WorkerDown {
                worker,
                by_fault,
                ended_by,
                reason,
            } => {
                self.down.insert(*worker);
                if *ended_by == Some(EndedBy::Signal) {
                    self.reasons.push(InconclusiveReason::KilledFromOutside {
                        worker: *worker,
                        reason: reason.clone(),
                    });
                }
                if !by_fault {
                    self.dead.insert(*worker);
                }
                if *ended_by == Some(EndedBy::Itself) {
                    self.grants_at_exit = Some(self.grants);
                }
            }
            EventKind::AcquireFailed { message, .. } => {
                let failed = || FailedRequests::new(message);
                self.failed.get_or_insert_with(failed).count += 1;
            }
            EventKind::TickDue { worker, tick } => {
                let before = self.ticks.0.insert(*tick, *worker);
                self.ticks.1 |= before.is_some_and(|before| before != *worker);
            }
            EventKind::WorkerUp { worker, .. } => {
                self.down.remove(worker);
            }
            what => self.reasons.extend(reason_for(what)),
        }
    }

    /// Returns the reasons why this history does not show enough.
    ///
    /// `end_ns` is the end of the history, and `under_way` contains the attempts that have not ended by then. Two
    /// workers that are still waiting for a lock have competed.
    pub fn result<'a>(
        mut self,
        end_ns: u64,
        under_way: impl Iterator<Item = &'a Attempt>,
    ) -> InvalidRun {
        let unanswered = under_way
            .filter(|attempt| attempt.ended.is_none())
            .map(|attempt| (attempt.lock, attempt.acquire_ns, end_ns));
        self.attempts.extend(unanswered);
        let is_void = self.void.is_some();
        let mut reasons: Vec<InconclusiveReason> =
            self.void.into_iter().chain(self.reasons).collect();
        reasons.extend(self.harness_stalls.reason);
        let is_missed =
            |reason: &InconclusiveReason| matches!(reason, InconclusiveReason::FaultMissed { .. });
        let is_fault_missed = reasons.iter().any(is_missed);
        reasons.extend(self.stalls.reason(is_fault_missed));
        reasons.extend(self.overran);
        if self.grants < self.min_grants {
            reasons.push(InconclusiveReason::TooFewGrants {
                granted: self.grants,
                needed: self.min_grants,
                failed: self.failed,
            });
        }
        let left = self.workers.saturating_sub(self.down.len());
        // The remaining client got the lock after another client exited on its own.
        let is_handed_on = (self.grants_at_exit).is_some_and(|grants| self.grants > grants);
        if self.workers > 0 && self.dead.len() >= self.workers {
            reasons.push(InconclusiveReason::EverybodyDied);
        } else if !self.dead.is_empty() && left < 2 && !is_handed_on {
            let died = self.dead.into_iter().collect();
            reasons.push(InconclusiveReason::TooFewClients { died, left });
        }
        // Clients that run the job of one tick compete for it, although their attempts need not meet.
        if !self.ticks.1 && !self.have_competed && !have_competed(self.attempts) {
            reasons.push(InconclusiveReason::NobodyCompeted);
        }
        InvalidRun { reasons, is_void }
    }
}

/// Returns `true` if two attempts to get one key overlap. A worker has one attempt at a time, so they belong to two
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

/// Returns the reason if the faults tested nothing, because every holder that a fault affected was alone: no other
/// client had sent a command before the holder left.
pub(super) fn no_competitor_was_ready(timeline: &Timeline<'_>) -> Option<InconclusiveReason> {
    let history = timeline.history();
    let first_commands: Vec<(usize, u64)> = (timeline.run_events().iter())
        .filter_map(|event| match event.what {
            EventKind::SlowStart {
                worker, until_ns, ..
            } => Some((worker, until_ns)),
            _ => None,
        })
        .collect();
    if first_commands.is_empty() {
        return None;
    }
    let mut alone = None;
    for fault in timeline.faults().iter().filter(|fault| fault.took_effect()) {
        let at_ns = fault.began_ns;
        let mut holds = timeline.holds().iter();
        let Some(hold) = holds.find(|hold| (hold.begin_ns..=hold.end_ns).contains(&at_ns)) else {
            continue;
        };
        let came_too_late = |rival: usize| {
            // If a fault froze the rival before that, the scenario intends it to be late.
            let frozen = timeline.frozen().get(&rival).into_iter().flatten();
            let mut frozen_from_ns = frozen.map(|(from_ns, _)| *from_ns);
            first_commands.iter().any(|(worker, first_command_at_ns)| {
                *worker == rival
                    && *first_command_at_ns >= hold.end_ns
                    && !frozen_from_ns.any(|from_ns| from_ns < *first_command_at_ns)
            })
        };
        let mut rivals = (0..history.header.workers).filter(|rival| *rival != hold.worker);
        if !rivals.all(came_too_late) {
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

    /// Returns the reasons for a history in which `dead` workers die.
    fn reasons_after_deaths(by_fault: bool, dead: usize) -> Vec<InconclusiveReason> {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let mut run_validity = RunValidity::new(&history.header);
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

    #[test]
    fn too_few_grants_quote_the_first_of_the_failed_requests() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let mut run_validity = RunValidity::new(&history.header);
        run_validity.min_grants = 1;
        for message in ["prefix was null", "other"] {
            let message = message.repeat(20);
            let what = EventKind::AcquireFailed {
                worker: 0,
                op: 1,
                message,
                definite: true,
            };
            run_validity.event(&Event { at_ns: 1, what });
        }
        let reasons = run_validity.result(2, std::iter::empty()).reasons;
        let first = reasons.first().map(ToString::to_string).unwrap();
        let (_, failures) = first.split_once("; ").unwrap();
        let quoted: String = "prefix was null".repeat(20).chars().take(200).collect();
        assert_eq!(
            failures,
            format!("2 requests failed, the first with: {quoted}")
        );
    }

    /// Such a run is rerun, because a busy machine may have kept the trigger from firing.
    #[test]
    fn missed_fault_with_a_short_stall_blames_the_machine() {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let mut history = read_history(&text[..]).unwrap();
        let is_rerun = |history: &History| {
            let verdicts = crate::check::judge(history);
            crate::check::machine_was_too_slow(&verdicts)
        };
        let last_ns = history.events.last().unwrap().at_ns;
        let missed = EventKind::FaultMissed {
            fault: "pause-client".into(),
            reason: "its trigger never fired".into(),
            optional: false,
            because: None,
        };
        let mut add = |what| {
            history.events.push(Event {
                at_ns: last_ns,
                what,
            });
            is_rerun(&history)
        };
        assert!(!add(missed));
        assert!(add(EventKind::NodeStalled {
            node: 0,
            since_ns: last_ns.saturating_sub(60_000_000),
            stalled_ms: 60,
        }));
    }

    #[test]
    fn run_is_invalid_if_workers_died_and_fewer_than_two_are_left() {
        let workers = {
            let text = include_bytes!("../../tests/histories/calm.jsonl");
            read_history(&text[..]).unwrap().header.workers
        };
        let everybody_died = [InconclusiveReason::EverybodyDied];
        assert_eq!(reasons_after_deaths(false, workers), everybody_died);
        let died = (0..workers - 1).collect();
        let alone = InconclusiveReason::TooFewClients { died, left: 1 };
        assert_eq!(reasons_after_deaths(false, workers - 1), [alone]);
        assert_eq!(reasons_after_deaths(false, workers - 2), []);
        assert_eq!(reasons_after_deaths(true, workers), []);
    }
}
