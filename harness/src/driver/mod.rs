//! The driver: clients that compete for a lock, with the same code in every backend.
//!
//! - `run`: one run, from its first worker to its final inspection; `shutdown`: its end
//! - `start`: starts a client; `worker_client`: the connection to its worker, with `output_budget` as its limit
//! - `client_driver`: the loop of a client; `requests`: its requests to its worker
//! - `section`: the critical section, with `work` inside it and `stock_store` for the stock. Other kinds of sections:
//!   `reentry`, `two_locks`, `permit_section`, `read_write_section`, `leader_section`, `ticks`
//! - `probe` and `permit_probe`: test after the run whether the lock is free
//! - `stall`: records stalls of the machine, and incidents of the proxy

mod client_driver;
mod grants;
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
