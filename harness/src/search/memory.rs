//! What a hunt remembers of its runs, and steers by.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use super::novelty::{Features, features};
use super::plan::Plan;
use crate::history::History;

/// So many plans are kept, the latest ones.
const MOST_KEPT: usize = 512;

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
            if self.kept.len() > MOST_KEPT {
                self.kept.remove(0);
            }
        }
    }
}
