//! The driver: competing buyers under a lock, the same code in every backend.

mod buyer;
mod conversation;
mod orderly_end;
mod output_budget;
mod probe;
mod requests;
mod run;
mod section;
mod stall;
mod start;
mod stock_store;
mod work;

pub use orderly_end::OrderlyEnd;
pub use run::{Ran, RunError, Setup, run};
