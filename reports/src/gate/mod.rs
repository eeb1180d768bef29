//! The gate's decision: whether the results meet the rules and the baseline.
//!
//! - [`rules`](self): the configured cells, expectations and limits
//! - [`limit`](self), [`metric`](self): what must stay on which side of a bound
//! - [`limit_check`](self): checks whether a cell keeps to a limit
//! - [`baseline`](self): the earlier results to compare against
//! - [`decide`]: rules, baseline and runs in, [`Decision`] out
//! - [`terminal`], [`markdown`], [`annotations`], [`gate_json`]: the decision for people and machines

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
pub use decide::{Decision, GATE_FORMAT, GateOutcome, decide, gate_json};
pub use finding::{Finding, Kind};
pub use limit::{Limit, Reference, Side};
pub use limit_check::Measurement;
pub use markdown::markdown;
pub use metric::Metric;
pub use paired::{CONFIDENCE, FEWEST_PAIRS, GateRuns, Pair, Paired, absorb};
pub use rules::{CellRules, Rules};
pub use terminal::terminal;
