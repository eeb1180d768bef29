//! The driver: clients that compete for a lock, with the same code in every backend.

mod client_driver;
mod leader_section;
mod output_budget;
mod permit_probe;
mod permit_section;
mod probe;
mod read_write_section;
mod reentry;
mod requests;
mod run;
mod section;
mod shutdown;
mod stall;
mod start;
mod stock_store;
mod ticks;
mod two_locks;
mod work;
mod worker_client;

pub use run::{RunError, run};
pub use shutdown::Shutdown;
