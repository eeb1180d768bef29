//! The documents that runs produce, for reports, comparisons and the gate.

mod contradiction;
mod matrix;
mod repro;
mod run;
mod scenario_hash;
mod search;
mod verdict_text;

pub use matrix::{
    Cell, CellSetting, CiJob, KeyHistoryTally, MATRIX_FORMAT, MatrixRecord, Mismatch, Similarity,
    SkippedCell, Tally,
};
pub use repro::{REPRO_FORMAT, RecordedVerdict, Repro, ReproLock, ReproOverrides, ServersTable};
pub use run::{Counts, FORMAT, FiredFault, Latency, LockInfo, Phases, Redis, RunRecord};
pub use scenario_hash::scenario_hash;
pub use search::{
    Counterexample, Coverage, Placed, Recurred, SEARCH_FORMAT, SearchKind, SearchRecord,
    SearchSettings, Shards, Unshrunk,
};

/// Returns `true` if a value is the default, which documents omit.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
