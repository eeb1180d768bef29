//! Recognizes new patterns of the key history and the protocol, which guide a hunt.
//!
//! A pattern is three consecutive steps of one lock, without names and times: the kind of each
//! event, and whether it concerns the client that was granted the lock last.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use picklock_scenarios::Phase;

use super::plan::Plan;
use crate::history::{Event, EventKind, History, KeyChange, KeyName};

const STEPS: usize = 3;

/// The features of a history that guide a hunt.
#[derive(Debug, Clone, Default)]
pub struct Features {
    /// The distinct patterns, as hashes that are the same in every run of this program.
    pub patterns: Vec<u64>,
    /// The phases in which commands of workers changed keys.
    pub phases: HashSet<Phase>,
}

/// Extracts the features from a history.
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
        // The driver's steps form one sequence, and the steps of each node form a separate sequence.
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

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Maximum number of remembered plans. If there are more, the oldest are dropped.
const MAX_PLANS: usize = 512;

/// The memory of a hunt.
#[derive(Debug, Default)]
pub struct Memory {
    patterns: HashSet<u64>,
    plans: Vec<Plan>,
    phases: HashSet<Phase>,
}

impl Memory {
    /// Returns the plans that have shown a new pattern.
    pub(super) fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Returns the number of distinct patterns.
    pub fn patterns(&self) -> u64 {
        self.patterns.len() as u64
    }

    /// Returns `true` if the lock has changed a key in this phase, or if nothing is known yet.
    pub(super) fn has_seen(&self, phase: Phase) -> bool {
        self.phases.is_empty() || self.phases.contains(&phase)
    }

    /// Remembers the plan if its history shows a pattern for the first time.
    pub fn remember(&mut self, plan: Plan, history: &History) {
        self.add(plan, &features(history));
    }

    /// Remembers a plan by the features of its history.
    pub(super) fn add(&mut self, plan: Plan, shown: &Features) {
        self.phases.extend(&shown.phases);
        let before = self.patterns.len();
        self.patterns.extend(&shown.patterns);
        if self.patterns.len() > before {
            self.plans.push(plan);
            if self.plans.len() > MAX_PLANS {
                self.plans.remove(0);
            }
        }
    }
}
