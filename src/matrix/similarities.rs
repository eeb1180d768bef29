//! Finds the built-in lock that each other lock of a matrix resembles.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::record::{Cell, Similarity};
use picklock_harness::spec::{LockSpec, Overrides};
use picklock_impls::{BuiltInLock, LOCKS};
use picklock_reports::matrix::{ReferenceLock, similarity};
use picklock_scenarios::{BackendName, Scenario};

use super::selection::Selection;

impl Selection {
    /// Returns the built-in lock that each other lock resembles: one entry per lock and backend, in the order
    /// of the table.
    pub fn similarities(&self, overrides: Overrides, cells: &[Cell]) -> Vec<Similarity> {
        let scenarios: Vec<&Scenario> = self.scenarios.iter().map(|(_, it)| it).collect();
        let mut backends: Vec<BackendName> = cells.iter().map(|cell| cell.backend).collect();
        backends.dedup();
        let mut found = Vec::new();
        for backend in backends {
            for one in self
                .locks
                .iter()
                .filter(|one| !one.has_catalog_expectations)
            {
                let is_its =
                    |cell: &&Cell| cell.backend == backend && cell.lock.name == one.spec.name;
                let cells: Vec<&Cell> = cells.iter().filter(is_its).collect();
                let references = references(&scenarios, &one.spec, overrides);
                found.extend(similarity(&cells, &references, one.best.map(|it| it.name)));
            }
        }
        found
    }
}

/// Returns the built-in locks whose results are comparable with those of the lock, because they use the same number of
/// servers.
fn references(
    scenarios: &[&Scenario],
    lock: &LockSpec,
    overrides: Overrides,
) -> Vec<ReferenceLock> {
    let nodes = overrides.nodes.unwrap_or(lock.nodes);
    let alike = LOCKS
        .iter()
        .filter(|one| (one.nodes, one.replicas) == (nodes, lock.replicas));
    let reference = |one: &BuiltInLock| {
        let expected = |it: &Scenario| Expected::for_lock(it, one.name, Tables::NamedOrAll);
        let expected = scenarios.iter().map(|it| (it.name.clone(), expected(it)));
        ReferenceLock {
            name: one.name.to_owned(),
            expected: expected.collect(),
        }
    };
    alike.map(reference).collect()
}
