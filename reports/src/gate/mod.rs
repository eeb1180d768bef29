//! The gate's decision: whether what came out is what was to come out.
//!
//! - [`rules`](self): what the user wants: cells, expectations, limits
//! - [`limit`](self), [`metric`](self): `acquire.p99 < baseline * 1.3 + 2ms`
//! - [`baseline`](self): what came out when the user was content
//! - [`decide`]: rules, baseline and runs in, [`Decision`] out; nothing else counts
//! - [`sign_test`](self): what noise can and cannot explain
//! - [`terminal`], [`markdown`], [`annotations`], [`gate_json`]: the decision for people and machines

mod annotations;
mod baseline;
mod cell_key;
mod decide;
mod document;
mod finding;
mod keeping_to;
mod limit;
mod markdown;
mod metric;
mod paired;
mod rules;
mod sign_test;
mod terminal;
mod token;
mod verdicts;

pub use annotations::annotations;
pub use baseline::{BASELINE_FORMAT, Baseline, BaselineCell, BaselineError, changes};
pub use cell_key::CellKey;
pub use decide::{Decision, Outcome, decide};
pub use document::{GATE_FORMAT, gate_json};
pub use finding::{Finding, Kind};
pub use keeping_to::Measured;
pub use limit::{Limit, LimitError, Op, Term, Unit};
pub use markdown::markdown;
pub use metric::Metric;
pub use paired::{CONFIDENCE, FEWEST_PAIRS, Pair, Paired, Ran, absorb};
pub use rules::{ExpectRule, LimitRule, Rules, Selector};
pub use sign_test::{Interval, median_interval};
pub use terminal::terminal;
