//! The documents that runs produce, for reports, comparisons and the gate.
//!
//! - [`run`](self): one run, `picklock-run/1`
//! - [`matrix`](self): many cells of lock, scenario and backend, `picklock-matrix/1`
//! - [`search`](self): many plans for one lock, `picklock-search/1`
//! - [`repro`](self): everything needed to repeat a run, `picklock-repro/1`

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
