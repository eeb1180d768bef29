//! The gate's decision: whether the results meet the rules and the baseline.
//!
//! [`decide`] makes the decision; [`terminal`], [`markdown`], [`annotations`] and [`gate_json`] format it.

mod accepted;
mod annotations;
mod baseline;
mod cell_key;
mod decide;
mod finding;
mod limit;
mod limit_check;
mod markdown;
mod metric;
mod paired;
mod rules;
mod terminal;
mod verdicts;

pub use annotations::annotations;
pub use baseline::{BASELINE_FORMAT, Baseline, BaselineCell, BaselineError, changes};
pub use cell_key::CellKey;
pub use decide::{Decision, GATE_FORMAT, decide, gate_json};
pub use finding::{Finding, Kind};
pub use limit::{Limit, Reference, Side};
pub use limit_check::Measurement;
pub use markdown::markdown;
pub use metric::Metric;
pub use paired::{CONFIDENCE, GateRuns, MIN_PAIRS, Pair, Paired, absorb};
pub use rules::{Accepted, CellRules, Rules};
pub use terminal::{hint, terminal};
