//! The rules of a gate: its cells, their expectations, and their limits.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::expectation::Expectation;

use super::cell_key::CellKey;
use super::limit::{Limit, Reference};

/// The rules that the gate compares a run with. The baseline is separate.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The required cells, in the order of the configuration, each with its rules.
    pub cells: Vec<(CellKey, CellRules)>,
    /// The lock that latencies in server backends are compared with.
    pub control: Option<String>,
}

/// The requirements of a cell in addition to its scenario's expectations.
#[derive(Debug, Clone, Default)]
pub struct CellRules {
    /// Expectations in the words of scenario files. They override those of the scenario.
    pub expects: BTreeMap<Property, Expectation>,
    /// Known violations, which are reported and do not fail the gate before their date.
    pub accepts: BTreeMap<Property, Accepted>,
    /// Limits, in the order of the file.
    pub limits: Vec<Limit>,
}

/// A known violation of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The cause of the violation, or `None` for any cause.
    pub violation: Option<Cause>,
    /// Why it is accepted.
    pub reason: String,
    /// The last day on which it is accepted.
    pub until: String,
    /// Whether that day has passed.
    pub is_over: bool,
}

impl Accepted {
    /// Returns `true` if all of these violations are known.
    pub(super) fn covers<'a>(&self, mut causes: impl Iterator<Item = &'a Cause>) -> bool {
        causes.all(|cause| self.violation.is_none_or(|known| known == *cause))
    }
}

static NO_RULES: CellRules = CellRules {
    expects: BTreeMap::new(),
    accepts: BTreeMap::new(),
    limits: Vec::new(),
};

impl Rules {
    /// Returns the position of a cell in the configuration.
    pub(super) fn position(&self, key: &CellKey) -> Option<usize> {
        self.cells.iter().position(|(cell, _)| cell == key)
    }

    /// Returns the rules of a cell. A cell that is not configured has no rules.
    pub fn for_cell(&self, key: &CellKey) -> &CellRules {
        let found = self.position(key);
        found.map_or(&NO_RULES, |index| &self.cells[index].1)
    }

    /// Returns `true` if a limit needs the baseline.
    pub fn need_baseline(&self) -> bool {
        let mut limits = self.cells.iter().flat_map(|(_, rules)| &rules.limits);
        limits.any(|limit| limit.reference == Reference::Baseline)
    }

    /// Returns `true` if the cell's latencies are compared with the control's run by run, because a real machine never
    /// behaves the same twice.
    pub fn is_paired(&self, key: &CellKey) -> bool {
        let mut limits = self.for_cell(key).limits.iter();
        !key.is_simulated() && limits.any(|limit| limit.metric.is_time())
    }
}
