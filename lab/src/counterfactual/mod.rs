//! Counterfactual runs: the same run without one of its faults.
//!
//! A simulated run depends only on its scenario and its seed, and a fault changes nothing before it fires. So a run
//! without a fault equals the original run up to the fault, and its verdict shows whether the violation
//! needed it:
//!
//! - A cause that names a fault must vanish with that fault: without it, the property is not violated at that time.
//! - A cause must survive without all faults that it does not need.
//! - A fault that fired after the violation must change nothing about it.
//!
//! [`needs()`] is the table of the faults that each cause needs. [`examine`] checks the violations of one run,
//! [`study`] those of many runs, and [`page`] writes the results.

mod examine;
mod needs;
mod page;
mod run;
mod study;

pub use examine::{Check, Circumstance, Examination, Outcome, Rule, examine};
pub use needs::{Needs, needs};
pub use page::{needs_table, page};
pub use run::Case;
pub use study::{Study, drawn, every_lock_in_the_catalog, study};
