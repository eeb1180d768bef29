//! Faults: kinds, targets and triggers. [`kind`] contains the table of kinds; each kind has its own file.

mod action;
mod answer;
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
mod false_answer;
mod flush_all;
mod flush_scripts;
mod hold;
mod kind;
mod late_commit;
mod late_write;
mod partition;
mod pause_client;
mod pause_node;
mod pause_task;
mod plan;
mod selection;
mod sentence;
mod sentinel_failover;
mod server_error;
mod stale_read;
mod stock_fault;
mod target;
mod terminate_client;
mod trigger;
mod unchecked_write;

pub use action::{
    Action, Affects, Capability, DataAction, LinkAction, NodeAction, Resource, TaskScope,
    WorkerAction,
};
pub(crate) use check::{check, check_nodes};
use kind::Kind;
pub use kind::{FaultKind, Lasts};
pub use plan::FaultPlan;
pub(crate) use plan::Field;
pub use selection::{Selection, Who};
pub use server_error::ServerError;
pub use stock_fault::StockFault;
pub use target::Target;
pub use trigger::{Direction, Phase, Trigger, TriggerEvent};
