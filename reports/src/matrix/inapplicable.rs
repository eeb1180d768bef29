//! Cells that are not applicable: cells that were omitted when the matrix was planned, and cells whose runs revealed a
//! missing feature.

use picklock_scenarios::BackendName;
use picklock_verdicts::record::MatrixRecord;

/// Cells of one scenario in one backend that are not applicable for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inapplicable<'a> {
    /// The locks.
    pub locks: Vec<&'a str>,
    /// The scenario.
    pub scenario: &'a str,
    /// The backend.
    pub backend: BackendName,
    /// The reason as text.
    pub reason: &'a str,
}

impl Inapplicable<'_> {
    /// Formats the group, such as `redlock, fenced × split-vote × sim: it needs 4 nodes`.
    pub fn describe(&self) -> String {
        let locks = self.locks.join(", ");
        format!(
            "{locks} × {} × {}: {}",
            self.scenario, self.backend, self.reason
        )
    }
}

/// Returns all cells of the matrix that are not applicable, grouped by reason.
pub fn inapplicable(record: &MatrixRecord) -> Vec<Inapplicable<'_>> {
    let omitted = record.skipped.iter();
    let omitted = omitted.map(|one| (&one.lock, &one.scenario, one.backend, one.reason.as_str()));
    let shown = record.cells.iter().filter_map(|cell| {
        let reason = cell.inapplicable()?;
        Some((&cell.lock.name, &cell.scenario, cell.backend, reason))
    });
    let mut groups: Vec<Inapplicable<'_>> = Vec::new();
    for (lock, scenario, backend, reason) in omitted.chain(shown) {
        let place = (scenario.as_str(), backend, reason);
        let is_same =
            |one: &&mut Inapplicable<'_>| (one.scenario, one.backend, one.reason) == place;
        match groups.iter_mut().find(is_same) {
            Some(group) => group.locks.push(lock),
            None => groups.push(Inapplicable {
                locks: vec![lock.as_str()],
                scenario,
                backend,
                reason,
            }),
        }
    }
    groups
}
