//! The state that the driver and the nemesis of a run share. The two components communicate only through this state.

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
