//! Unplanned stalls of the harness, a server or a worker, and what they excuse.

pub(super) mod active_spans;
pub(super) mod delays;
pub(super) mod harness_stall;
pub(super) mod stall;
pub(super) mod stall_correction;
