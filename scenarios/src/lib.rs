//! The scenario vocabulary, its parser and the catalog.
//!
//! Pure data: no I/O, no clock, no async runtime. [`Scenario::parse`] turns text into a checked scenario, or into an
//! error that names file, line, column and the nearest valid word.
//!
//! - `scenario`: a scenario with its tables `topology`, `workload` and `schedule`; `parse` reads it from a file, and
//!   `validate` checks it
//! - `fault`: one file per kind of fault, with its fields, actions and words
//! - `property` and `cause`: the words of verdicts
//! - [`catalog`]: the scenarios that are included, and [`profile`]: selections of them
//! - `family`, `backend_name`, `lock_kind`, `lock_feature`: other words of scenario files
//! - `lease_duration`, `signed_duration`, `rate`: values in scenario files
//! - `arbitrary`: generates valid scenarios for tests

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod backend_name;
pub mod catalog;
mod cause;
mod family;
mod fault;
mod lease_duration;
mod lock_feature;
mod lock_kind;
mod nearest;
mod parse;
mod problem;
pub mod profile;
mod property;
mod rate;
mod scenario;
mod schedule;
mod secret_places;
mod signed_duration;
mod string_enum;
mod topology;
mod validate;
mod workload;

pub use backend_name::{BackendName, UnknownBackend};
pub use cause::{CAUSES, Cause, Responsible};
pub use family::Family;
pub use fault::{
    Action, Affects, Capability, DataAction, Direction, FaultKind, FaultPlan, Lasts, LinkAction,
    NodeAction, Phase, Resource, Selection, ServerError, StockFault, Target, TaskScope, Trigger,
    TriggerEvent, Who, WorkerAction,
};
pub use lease_duration::{BadDuration, LeaseDuration};
pub use lock_feature::LockFeature;
pub use lock_kind::LockKind;
pub use nearest::{did_you_mean, nearest};
pub use parse::ScenarioError;
pub use property::{PROPERTIES, Property};
pub use rate::{BadRate, Per, Rate};
pub use scenario::{Expectation, ExpectationError, Judge, Measure, OTHERS, Scenario};
pub use schedule::{MissedTicks, Schedule};
pub use signed_duration::SignedDuration;
pub use topology::{Persistence, Topology};
pub use workload::{
    LockOrder, Seeds, SoldOut, StartOrder, StockPlace, Update, Workload, WorkloadKind,
};
