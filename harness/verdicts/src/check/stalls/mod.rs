//! Unplanned stalls of the harness, a server or a worker, and the findings that they excuse.
//!
//! `thresholds` has all minimum lengths, `harness_stall` and `stall` read the events that report a stall, and the other
//! modules decide which findings rest on a stall. `disturbances` lists the faults as well.

pub(super) mod active_spans;
pub(super) mod delays;
pub(super) mod disturbances;
pub(super) mod harness_stall;
pub(super) mod reply_delays;
pub(super) mod stall;
pub(super) mod stall_correction;
pub mod thresholds;
