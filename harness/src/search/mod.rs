//! Search: finds the smallest plan that breaks a lock, or reports how much was tried.
//!
//! All runs are simulated. Nothing here prints, reads a clock or saves a file.
//!
//! # Why a sweep misses nothing
//!
//! A run depends only on its plan. A fault changes nothing before its injection point. Until then, the run equals the
//! run without the fault, so every listed injection point is reached. A test checks that each injection point is
//! reached, and that none is missing from the list.
//!
//! # Pruning
//!
//! A plan is skipped if its run would equal the run of another plan.
//!
//! **Order.** Consider a plan with the faults *a* and *b*, where *b* fires before *a*. Until *a* fires, the run equals
//! the run of the plan with only *b*. So the injection point of *a* occurs in that run, after *b* has fired, and the
//! plan is a child of the plan with only *b*. If the injection point does not occur in that run, *a* never fires, and
//! the run equals the run with only *b*. Therefore the children of a plan only use injection points that are not
//! earlier than the point at which the plan's last fault fired. Plans with earlier injection points are children of
//! another plan. A second fault at the same injection point as the first is tried, too.
//!
//! Nothing else is pruned. A fault at a message might seem to be equivalent to the same fault at the step before the
//! message, but a test refuted that: while an event waits for its fault, simultaneous events overtake it, and the run
//! differs. Killing a client at two different injection points can lead to the same run. Then a second fault would have
//! to be tried after only one of the two. Such pruning was implemented and removed again: it removes a tenth of all
//! pairs, but only those with the shortest runs, and saves less than 5 % of the time.

mod attempt;
mod candidates;
pub mod fault_model;
mod generate;
mod hunt;
pub mod injection_points;
mod novelty;
mod plan;
mod robust;
mod share;
mod shrink;
mod shrink_all;
mod size;
mod sweep;
pub mod workload;

pub use crate::counterexamples::{Place, Violation, ViolationFilter};
pub use attempt::{Keep, PlanResult, run_plan};
pub use generate::Draw;
pub use hunt::Hunt;
pub use novelty::Memory;
pub use plan::{Plan, Target};
pub use shrink::{Demand, Shrunk, shrink};
pub use shrink_all::{Effort, shrink_all};
pub use sweep::{Progress, SearchResult, Sweep, SweepError};

/// Plans that have the same violation with the same signature.
pub type CounterexampleGroup = crate::counterexamples::CounterexampleGroup<Plan>;

/// All counterexamples of a search, by violation and signature.
pub type Counterexamples = crate::counterexamples::Counterexamples<Plan>;
