//! The rules of a gate: its cells, what is expected of them, and their limits.

use std::collections::BTreeMap;

use picklock_verdicts::check::Property;
use picklock_verdicts::expectation::Expectation;

use super::cell_key::CellKey;
use super::limit::{Limit, Reference};

/// Everything that the gate compares a run with, except the baseline.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The required cells, in the order of the configuration, each with what is required of it.
    pub cells: Vec<(CellKey, CellRules)>,
    /// The lock that real-backend latencies are compared with.
    pub control: Option<String>,
}

/// What is required of a cell, besides what its scenario expects.
#[derive(Debug, Clone, Default)]
pub struct CellRules {
    /// Expectations in the words of scenario files. They override those of the scenario.
    pub expects: BTreeMap<Property, Expectation>,
    /// Limits, in the order of the file.
    pub limits: Vec<Limit>,
}

static NO_RULES: CellRules = CellRules {
    expects: BTreeMap::new(),
    limits: Vec::new(),
};

impl Rules {
    /// The position of a cell in the configuration.
    pub(super) fn position(&self, key: &CellKey) -> Option<usize> {
        self.cells.iter().position(|(cell, _)| cell == key)
    }

    /// What is required of a cell; nothing if it is not configured.
    pub fn of(&self, key: &CellKey) -> &CellRules {
        let found = self.position(key);
        found.map_or(&NO_RULES, |index| &self.cells[index].1)
    }

    /// True if a limit needs the baseline.
    pub fn need_baseline(&self) -> bool {
        let mut limits = self.cells.iter().flat_map(|(_, rules)| &rules.limits);
        limits.any(|limit| limit.reference == Reference::Baseline)
    }

    /// True if the cell's latencies are compared with those of the control run by run, because a
    /// real machine is never the same twice.
    pub fn is_paired(&self, key: &CellKey) -> bool {
        let mut limits = self.of(key).limits.iter();
        !key.is_simulated() && limits.any(|limit| limit.metric.is_time())
    }
}
