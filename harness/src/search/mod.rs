//! Search: the smallest plan that breaks a lock, or how much was tried.
//!
//! Everything is simulated. Nothing here prints, reads a clock, or keeps a file.
//!
//! # Why a sweep misses nothing
//!
//! A run follows from its plan alone. A fault whose moment has not come changes nothing, so until its moment a run
//! with the fault is the run without it: every moment that is listed comes. A test counts on from each moment and
//! finds that there is no further one.
//!
//! # What is folded
//!
//! Plans that are the same run as one that is made are not run.
//!
//! **Order.** Let a plan have the faults *a* and *b*, and let *b* strike before *a* does. Until *a* strikes, the run is
//! that of the plan with *b* alone. So *a*'s moment is a moment of that run, not before *b* struck, and the plan is
//! below that of *b*; if that moment does not come there, the run is that of *b* alone. Below a plan only moments are
//! tried that are not before its last fault struck; all others are below another plan. A second fault at the very moment
//! of the first is tried, too.
//!
//! Nothing else is folded. It seems that a fault of the next message could as well start at the step before it; a test
//! refuted that. What an event waits for lets others that happen at the same time go first, and the run is another one.
//! Two deaths of a client can leave the same run behind, and then a second fault need be placed after one of them only.
//! That was built, and taken out: it folds a tenth of all pairs, but the shortest, and saves less than a twentieth of the
//! time.

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
pub use attempt::{Keep, Shown, show_one};
pub use generate::Draw;
pub use hunt::Hunt;
pub use novelty::Memory;
pub use plan::{Plan, Target};
pub use shrink::{Demand, shrink};
pub use shrink_all::{Effort, shrink_all};
pub use sweep::{Progress, Sweep, SweepError, Tried};

/// Plans that have the same violation in the same shape.
pub type CounterexampleGroup = crate::counterexamples::CounterexampleGroup<Plan>;

/// All finds of a search, by violation and shape.
pub type Counterexamples = crate::counterexamples::Counterexamples<Plan>;
