//! The state that the driver and the nemesis of a run share. The two components communicate only through this state.
//!
//! - `run_context`: the whole state, which consists of the following parts
//! - `recorder`: writes the history; `cut_text` limits the texts in it
//! - `live_workers`: the workers that are alive, and their incarnations
//! - `triggers`: the events that start faults
//! - `stock`: the stock that the clients sell from; `stock_faults`: its faults
//! - `start_gate` and `arrivals`: when clients begin to compete
//! - `applicability` and `early_end`: reasons to judge less, or to end the run early

mod applicability;
mod arrivals;
mod cut_text;
mod early_end;
mod live_workers;
mod recorder;
mod run_context;
mod start_gate;
mod stock;
mod stock_faults;
mod triggers;

pub use applicability::Applicability;
pub use arrivals::{Arrivals, Turn};
pub use early_end::EarlyEnd;
pub use live_workers::LiveWorkers;
pub use recorder::{Listener, Recorder};
pub use run_context::{LockIdentity, RunContext};
pub use start_gate::StartGate;
pub use stock::{Change, FencedOff, Stock};
pub use stock_faults::{OldStock, StockFaults};
pub use triggers::{DueFault, Location, SeenEvent, Triggers};
