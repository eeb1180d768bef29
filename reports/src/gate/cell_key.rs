//! The key that identifies a cell.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt;

use picklock_verdicts::record::{Cell, SkippedCell};
use serde::{Deserialize, Serialize};

use crate::escape::visible;

/// Identifies a cell across runs and across versions of its scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// Name of the lock.
    #[serde(rename = "impl")]
    pub lock: String,
    /// Its options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the backend.
    pub backend: BackendName,
}

impl CellKey {
    /// Returns the key of a cell that was run.
    pub fn new(cell: &Cell) -> CellKey {
        CellKey {
            lock: cell.lock.name.clone(),
            options: cell.options.clone(),
            scenario: cell.scenario.clone(),
            backend: cell.backend,
        }
    }

    /// Returns the key of a cell that was left out.
    pub fn omitted(cell: &SkippedCell) -> CellKey {
        CellKey {
            lock: cell.lock.clone(),
            options: BTreeMap::new(),
            scenario: cell.scenario.clone(),
            backend: cell.backend,
        }
    }

    /// Returns `true` for the simulation, whose runs repeat byte for byte.
    pub fn is_simulated(&self) -> bool {
        self.backend == BackendName::Sim
    }
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.lock))?;
        for (name, value) in &self.options {
            write!(f, " {}={}", visible(name), visible(value))?;
        }
        write!(f, " × {} × {}", visible(&self.scenario), self.backend)
    }
}
