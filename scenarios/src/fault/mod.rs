//! Faults: what goes wrong, to whom, and when.
//!
//! - [`FaultPlan`]: one `[[fault]]` table of a scenario file
//! - [`trigger`], [`target`]: when, and to whom
//! - [`kind`]: what a kind of fault is; the table of kinds
//! - [`action`]: what faults are made of, in terms of what a world can do
//! - [`check`]: what the types alone cannot say about a fault
//! - all other files: one kind of fault each

mod action;
mod check;
mod clock_jump;
mod clock_skew;
mod crash_client;
mod crash_node;
mod cut;
mod cut_replication;
mod delay;
mod describe;
mod drop;
mod evict;
mod exhaust;
mod failover;
mod flush_all;
mod flush_scripts;
mod hold;
mod kind;
mod partition;
mod pause_client;
mod pause_node;
mod plan;
mod sentinel_failover;
mod target;
mod trigger;

pub use action::{Action, Capability, DataAction, LinkAction, NodeAction, Resource, WorkerAction};
pub(crate) use check::{check, check_nodes};
pub use kind::{FaultKind, Lasts, Strikes};
pub use plan::FaultPlan;
#[cfg(feature = "arbitrary")]
pub(crate) use plan::Field;
pub use target::{Nodes, Target, Who, Workers};
pub use trigger::{Direction, EventKind, Phase, Trigger};
