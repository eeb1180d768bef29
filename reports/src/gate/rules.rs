//! The rules of a gate: its cells, what is expected of them, and their limits.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;

use picklock_verdicts::check::Property;
use picklock_verdicts::record::Cell;

use super::cell_key::CellKey;
use super::limit::{Limit, Unit};

/// Everything that the gate compares a run with, except the baseline.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The required cells.
    pub cells: Vec<CellKey>,
    /// Expectations that override those of the scenarios; later ones win.
    pub expects: Vec<ExpectRule>,
    /// Limits.
    pub limits: Vec<LimitRule>,
    /// The lock that real-backend latencies are compared with.
    pub control: Option<String>,
}

/// Selects cells: those with all the given names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Name of the lock.
    pub lock: Option<String>,
    /// Name of the scenario.
    pub scenario: Option<String>,
    /// Name of the backend.
    pub backend: Option<BackendName>,
}

/// What is expected of some cells.
#[derive(Debug, Clone)]
pub struct ExpectRule {
    /// The cells.
    pub cells: Selector,
    /// The expectations in the words of scenario files.
    pub properties: BTreeMap<Property, String>,
}

/// A limit for some cells.
#[derive(Debug, Clone)]
pub struct LimitRule {
    /// The cells.
    pub cells: Selector,
    /// The limit.
    pub limit: Limit,
}

impl Selector {
    /// True if the selector matches this cell.
    pub fn matches(&self, key: &CellKey) -> bool {
        let fits = |wanted: &Option<String>, name: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == name)
        };
        fits(&self.lock, &key.lock)
            && fits(&self.scenario, &key.scenario)
            && self.backend.is_none_or(|backend| backend == key.backend)
    }
}

impl Rules {
    /// The expectations of a cell, in words: the scenario's, overridden by the rules.
    pub fn expected(&self, cell: &Cell) -> BTreeMap<Property, String> {
        let key = CellKey::of(cell);
        let mut expected = cell.expected.clone();
        for rule in self.expects.iter().filter(|rule| rule.cells.matches(&key)) {
            let properties = rule.properties.iter();
            expected.extend(properties.map(|(property, words)| (*property, words.clone())));
        }
        expected
    }

    /// The limits of a cell, in the order of the file.
    pub fn limits(&self, key: &CellKey) -> Vec<&Limit> {
        let rules = self.limits.iter().filter(|rule| rule.cells.matches(key));
        rules.map(|rule| &rule.limit).collect()
    }

    /// True if a limit of the cell needs the baseline.
    pub fn needs_baseline(&self, key: &CellKey) -> bool {
        let mut limits = self.limits(key).into_iter();
        limits.any(|limit| limit.mentions(Unit::Baseline))
    }

    /// True if the cell's latencies are compared with those of the control run by run, because a
    /// real machine is never the same twice.
    pub fn is_paired(&self, key: &CellKey) -> bool {
        let mut limits = self.limits(key).into_iter();
        !key.is_simulated() && limits.any(|limit| limit.metric.is_time())
    }
}
