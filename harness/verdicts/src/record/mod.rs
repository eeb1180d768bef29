//! The documents that runs produce, for reports, comparisons and the gate.

mod contradiction;
mod matrix;
mod repro;
mod run;
mod scenario_hash;
mod search;

pub use matrix::{
    Cell, CellSetting, CustodyTally, MATRIX_FORMAT, MatrixRecord, Similarity, SkippedCell,
    Surprise, Tally,
};
pub use repro::{REPRO_FORMAT, RecordedVerdict, Repro, ReproLock, ReproOverrides, ServersTable};
pub use run::{Counts, FORMAT, Latency, Phases, Redis, RunRecord, StruckFault, Subject};
pub use scenario_hash::scenario_hash;
pub use search::{
    Asked, Coverage, Find, Placed, SEARCH_FORMAT, SearchKind, SearchRecord, Shards, Unshrunk,
};

/// True for what documents leave out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
