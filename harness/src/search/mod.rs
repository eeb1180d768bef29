//! Search: the smallest plan that breaks a lock, or how much was tried.
//!
//! Everything is simulated. Nothing here prints, reads a clock, or keeps a file.
//!
//! - [`Plan`]: what one run does: a small workload and a list of faults, each valid by itself; [`Target`]: the lock
//! - [`workload`]: the small workloads; [`vocabulary`]: the faults; [`moments`](mod@moments): when they can strike
//! - [`attempt`](show_one): runs plans, and says which of them are [finds](crate::finds)
//! - [`Sweep`]: every placement of up to so many faults
//! - [`Hunt`]: random plans (`generate`), steered by what is new (`novelty`)
//! - [`shrink`](fn@shrink): the smallest plan (`size`) with the same violation by the same cause, by trying
//!   `candidates`; [`shrink_all`]: of all finds
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
//! **Deaths.** Let a client die for good in two plans with one fault each, and let the two runs be the same but for the
//! death: all others do the same at the same times, keys change at the same times, and the dead client has sent the same
//! commands. This is not foretold but seen: both plans are run, and everything that was recorded and logged is compared.
//! A node knows no more than what it was sent, the others no more than what they were answered, and each frame's time on
//! the way tells how far the stream is from which all of them are drawn. So once both clients are dead, what they sent
//! has arrived, and their connections are closed everywhere, the two runs are in the same state. A second fault that
//! strikes at another client's moment after that turns both into the same run, and is placed in the first of them only.
//! A test makes some of the others as well.
//!
//! Nothing else is folded. It seems that a fault of the next message could as well start at the step before it; a test
//! refuted that. What an event waits for lets others that happen at the same time go first, and the run is another one.

mod attempt;
mod candidates;
mod generate;
mod hunt;
pub mod moments;
mod novelty;
mod plan;
mod share;
mod shrink;
mod shrink_all;
mod size;
mod steady;
mod sweep;
pub mod vocabulary;
pub mod workload;

pub use crate::finds::{Place, Violation, Wanted};
pub use attempt::{Keep, Shown, show_one};
pub use generate::Draw;
pub use hunt::Hunt;
pub use novelty::Memory;
pub use plan::{Plan, Target};
pub use shrink::{Demand, shrink};
pub use shrink_all::{Effort, shrink_all};
pub use sweep::{Progress, Sweep, SweepError, Tried};

/// Plans that have the same violation in the same shape.
pub type FindGroup = crate::finds::FindGroup<Plan>;

/// All finds of a search, by violation and shape.
pub type Finds = crate::finds::Finds<Plan>;
