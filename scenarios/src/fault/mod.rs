//! Faults: what goes wrong, to whom, and when. [`kind`] has the table of kinds, one file each.

mod action;
mod check;
mod describe;
mod kind;
mod plan;
mod selection;
mod sentence;
mod server_error;
mod stock_fault;
mod target;
mod trigger;

macro_rules! files_of_kinds {
    ($($kind:ident: $file:ident,)*) => {
        $(mod $file;)*
    };
}
kind::kinds!(files_of_kinds);

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
