//! What the user wants: which cells, what is expected of them, and which limits they keep to.

use picklock_scenarios::WorldName;
use std::collections::BTreeMap;

use picklock_verdicts::check::Property;
use picklock_verdicts::record::Cell;

use super::cell_key::CellKey;
use super::limit::{Limit, Unit};

/// All that the gate is to hold a run against, besides the baseline.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The cells that must be there.
    pub cells: Vec<CellKey>,
    /// Expectations beyond the scenarios' own; later ones win.
    pub expects: Vec<ExpectRule>,
    /// Limits.
    pub limits: Vec<LimitRule>,
    /// The subject that real-world latencies are compared with.
    pub control: Option<String>,
}

/// Which cells a rule is about: all whose names are those that it gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Name of the subject.
    pub subject: Option<String>,
    /// Name of the scenario.
    pub scenario: Option<String>,
    /// Name of the world.
    pub world: Option<WorldName>,
}

/// What is expected of some cells.
#[derive(Debug, Clone)]
pub struct ExpectRule {
    /// Which.
    pub cells: Selector,
    /// In the words of scenario files.
    pub properties: BTreeMap<Property, String>,
}

/// A limit that some cells keep to.
#[derive(Debug, Clone)]
pub struct LimitRule {
    /// Which.
    pub cells: Selector,
    /// The limit.
    pub limit: Limit,
}

impl Selector {
    /// True when the rule is about this cell.
    pub fn matches(&self, key: &CellKey) -> bool {
        let fits = |wanted: &Option<String>, name: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == name)
        };
        fits(&self.subject, &key.subject)
            && fits(&self.scenario, &key.scenario)
            && self.world.is_none_or(|world| world == key.backend)
    }
}

impl Rules {
    /// What is expected of a cell, in words: the scenario's own, and over it what the rules say.
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

    /// True when a limit of the cell needs the baseline.
    pub fn needs_baseline(&self, key: &CellKey) -> bool {
        let mut limits = self.limits(key).into_iter();
        limits.any(|limit| limit.mentions(Unit::Baseline))
    }

    /// True for a cell whose latencies are compared run by run with those of the control: a real
    /// machine is never the same twice.
    pub fn is_paired(&self, key: &CellKey) -> bool {
        let mut limits = self.limits(key).into_iter();
        !key.is_simulated() && limits.any(|limit| limit.metric.is_time())
    }
}
