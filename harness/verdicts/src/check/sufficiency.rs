//! Whether a history shows enough to be judged.
//!
//! If it does not, `held` becomes `unknown`. A proven violation stays a violation, unless the lock
//! does not use the servers of the run at all.

use std::collections::BTreeSet;

use crate::history::{EndReason, Event, EventKind, Header, LAST_LOOK};
use crate::timeline::{Attempt, Step};

use super::overlap::Overlaps;
use super::overrun::Overruns;
use super::standstill::Standstill;
use super::verdict::STORY_LINES;

/// Watches whether the lock was put to the test.
#[derive(Debug)]
pub(super) struct Sufficiency {
    grants: u64,
    min_grants: u64,
    /// For each key: attempts, from the request to the end of the hold (or the refusal). Not
    /// maintained any more once two workers have competed.
    keys: Vec<Overlaps>,
    competed: bool,
    workers: usize,
    /// The workers that died on their own.
    dead: BTreeSet<usize>,
    reasons: Vec<String>,
    standstill: Standstill,
    overruns: Overruns,
    /// Why nothing in this history is about the lock.
    void: Option<String>,
}

/// Why a history does not show enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Insufficiency {
    /// The reasons; empty if it shows enough.
    pub reasons: Vec<String>,
    /// True when it shows nothing about the lock at all, not even a violation.
    pub is_void: bool,
}

impl Sufficiency {
    /// For a history with this header.
    pub fn new(header: &Header) -> Self {
        Sufficiency {
            grants: 0,
            min_grants: header.min_grants,
            keys: vec![Overlaps::default(); header.keys.len()],
            competed: false,
            workers: header.workers,
            dead: BTreeSet::new(),
            reasons: Vec::new(),
            standstill: Standstill::new(header),
            overruns: Overruns::default(),
            void: None,
        }
    }

    /// An attempt made a step.
    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.grants += u64::from(step == Step::Begun);
        self.standstill.step(at_ns, attempt, step);
        self.overruns.step(at_ns, attempt, step);
        if self.competed {
            return;
        }
        let Some(key) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        // One worker has one attempt at a time, so two overlapping attempts belong to two
        // workers.
        let name = attempt.worker as u64;
        let over_already = attempt.ended.is_some() && !matches!(step, Step::Ended(_));
        self.competed = match step {
            Step::Asked => key.begin(at_ns, name) != (0, None),
            Step::Denied { .. } | Step::Ended(_) | Step::Gone if !over_already => {
                key.end(at_ns, name, attempt.acquire_ns).0 > 0
            }
            _ => false,
        };
    }

    /// Something else happened.
    pub fn event(&mut self, event: &Event) {
        self.standstill.event(event);
        self.overruns.event(event);
        match &event.what {
            EventKind::FaultMissed { fault, reason, .. } if fault == LAST_LOOK => self
                .reasons
                .push(format!("the {LAST_LOOK} after the run failed: {reason}")),
            EventKind::FaultMissed {
                fault,
                reason,
                optional: false,
            } => self
                .reasons
                .push(format!("the fault `{fault}` never struck: {reason}")),
            EventKind::NodeLost { node, reason } => self
                .reasons
                .push(format!("node {node} failed on its own: {reason}")),
            EventKind::FaultEscaped {
                worker,
                node,
                came_ns,
                ..
            } => self.reasons.push(escaped(*worker, *node, *came_ns)),
            EventKind::Shortage { reason } => self
                .reasons
                .push(format!("the harness itself ran short: {reason}")),
            EventKind::GrantWithoutCommand { worker, nodes, .. } => {
                self.void.get_or_insert_with(|| uses_others(*worker, nodes));
            }
            EventKind::WorkerDown {
                worker,
                by_fault: false,
                ..
            } => {
                self.dead.insert(*worker);
            }
            EventKind::End {
                reason: EndReason::Interrupted,
                ..
            } => self.reasons.push("the run was interrupted".into()),
            _ => {}
        }
    }

    /// Why this history does not show enough.
    ///
    /// `end_ns` is when the history ends. Two workers that are still asking then have competed.
    pub fn result(mut self, end_ns: u64) -> Insufficiency {
        let mut keys = self.keys.iter_mut();
        self.competed |= keys.any(|key| key.shown_by(end_ns) != (0, None));
        let mut reasons: Vec<String> = self.void.iter().cloned().collect();
        reasons.append(&mut self.reasons);
        reasons.extend(self.standstill.reason());
        reasons.extend(self.overruns.reason());
        if self.grants < self.min_grants {
            reasons.push(format!(
                "too little to judge: the lock was granted {} times, and the scenario asks for at least {}",
                self.grants, self.min_grants
            ));
        }
        if self.workers > 0 && self.dead.len() >= self.workers {
            reasons.push(
                "too little to judge: every worker died on its own, and nobody was left to try"
                    .into(),
            );
        }
        if !self.competed {
            reasons.push("too little to judge: no two workers ever competed for a lock".into());
        }
        reasons.truncate(STORY_LINES);
        Insufficiency {
            reasons,
            is_void: self.void.is_some(),
        }
    }
}

/// The lock is in another process than the one that the fault struck.
fn escaped(worker: usize, node: Option<usize>, came_ns: u64) -> String {
    let seconds = came_ns as f64 / 1e9;
    let node = match node {
        Some(node) => format!("node {node}"),
        None => "a Sentinel".to_owned(),
    };
    format!(
        "the fault escaped: worker {worker} was frozen or dead, and at {seconds:.3} s something came \
         from it to {node}. The process that was frozen or killed is a wrapper, and the lock goes on \
         in one that Picklock cannot reach; start the adapter itself (in a shell script with `exec`), \
         without `docker run`, `ssh` or a service in between"
    )
}

/// The lock uses other servers than those of the run.
fn uses_others(worker: usize, nodes: &[String]) -> String {
    format!(
        "the lock does not use the servers that it was given: worker {worker} got the lock without \
         having sent a command to any of them; it should use {} (`nodes` of its `init` request)",
        nodes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;

    /// The workers that die, and whether the history still shows enough.
    fn reasons(by_fault: bool, dead: usize) -> Vec<String> {
        let text = include_bytes!("../../tests/histories/calm.jsonl");
        let history = read_history(&text[..]).unwrap();
        let mut sufficiency = Sufficiency::new(&history.header);
        (sufficiency.grants, sufficiency.competed) = (u64::MAX, true);
        for worker in 0..dead {
            let what = EventKind::WorkerDown {
                worker,
                by_fault,
                reason: "killed".into(),
            };
            sufficiency.event(&Event { at_ns: 1, what });
        }
        sufficiency.result(2).reasons
    }

    #[test]
    fn a_run_whose_workers_all_died_on_their_own_shows_too_little() {
        let workers = {
            let text = include_bytes!("../../tests/histories/calm.jsonl");
            read_history(&text[..]).unwrap().header.workers
        };
        assert_eq!(reasons(false, workers).len(), 1);
        assert_eq!(reasons(false, workers - 1), Vec::<String>::new());
        assert_eq!(reasons(true, workers), Vec::<String>::new());
    }
}
