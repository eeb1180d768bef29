//! Patterns of key history and protocol: what a hunt takes for new, remembers, and steers by.
//!
//! A pattern is three steps of one lock that follow each other, each without names and times: what happened, and
//! whether it was by or to the client that was granted the lock last.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use picklock_scenarios::Phase;

use super::plan::Plan;
use crate::history::{Event, EventKind, History, KeyChange, KeyName};

const STEPS: usize = 3;

/// What of a history steers a hunt.
#[derive(Debug, Clone, Default)]
pub struct Features {
    /// Its patterns, each once, by a hash that is the same in every run of this program.
    pub patterns: Vec<u64>,
    /// What workers were asked for while their commands changed keys.
    pub phases: HashSet<Phase>,
}

/// What of a history steers a hunt.
pub fn features(history: &History) -> Features {
    let (mut found, mut phases) = (BTreeSet::new(), HashSet::new());
    let mut last_granted = None;
    let mut recent: HashMap<usize, Vec<u64>> = HashMap::new();
    for event in &history.events {
        let Some(step) = step(event, last_granted) else {
            continue;
        };
        if let EventKind::Granted { worker, .. } = event.what {
            last_granted = Some(worker);
        }
        // The driver's steps go together, and those of each node.
        let node = match &event.what {
            EventKind::KeyChanged { node, why, .. } => {
                if let KeyChange::Command(command) = why {
                    phases.insert(command.phase);
                }
                node + 1
            }
            _ => 0,
        };
        let recent = recent.entry(node).or_default();
        recent.push(step);
        if recent.len() > STEPS {
            recent.remove(0);
        }
        found.insert(hash(&recent));
    }
    Features {
        patterns: found.into_iter().collect(),
        phases,
    }
}

fn step(event: &Event, last_granted: Option<usize>) -> Option<u64> {
    let what = &event.what;
    Some(match what {
        EventKind::KeyChanged {
            key,
            value,
            ttl_ms,
            why,
            ..
        } => {
            let is_lock = matches!(key, KeyName::Lock(_));
            let by = why.command();
            let command = by.map(|by| (by.phase, Some(by.worker) == last_granted));
            let (held, expires) = (value.is_some(), ttl_ms.is_some());
            hash(&(is_lock, held, expires, discriminant(why), command))
        }
        EventKind::FaultBegan { fault, .. } => hash(fault),
        EventKind::Released { released, .. } => hash(&(discriminant(what), released)),
        EventKind::AcquireFailed { definite, .. } | EventKind::ReleaseFailed { definite, .. } => {
            hash(&(discriminant(what), definite))
        }
        _ => {
            let worker = what.worker()?;
            hash(&(discriminant(what), Some(worker) == last_granted))
        }
    })
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// So many plans are kept, the latest ones.
const MAX_KEPT: usize = 512;

/// What a hunt remembers.
#[derive(Debug, Default)]
pub struct Memory {
    patterns: HashSet<u64>,
    kept: Vec<Plan>,
    phases: HashSet<Phase>,
}

impl Memory {
    /// The plans that have shown something new.
    pub(super) fn kept(&self) -> &[Plan] {
        &self.kept
    }

    /// How many patterns were shown.
    pub fn patterns(&self) -> u64 {
        self.patterns.len() as u64
    }

    /// True if the lock has changed a key in this phase, as far as is known.
    pub(super) fn has_seen(&self, phase: Phase) -> bool {
        self.phases.is_empty() || self.phases.contains(&phase)
    }

    /// Keeps the plan if its history shows a pattern for the first time.
    pub fn remember(&mut self, plan: Plan, history: &History) {
        self.add(plan, &features(history));
    }

    /// The same of what is known of the history.
    pub(super) fn add(&mut self, plan: Plan, shown: &Features) {
        self.phases.extend(&shown.phases);
        let before = self.patterns.len();
        self.patterns.extend(&shown.patterns);
        if self.patterns.len() > before {
            self.kept.push(plan);
            if self.kept.len() > MAX_KEPT {
                self.kept.remove(0);
            }
        }
    }
}
