//! Evidence for the `progress` property: which clients waited, which nodes were reachable, and what excuses the wait.

pub(super) mod blocked_lock;
pub(super) mod client_deaths;
pub(super) mod deadlocks;
pub(super) mod kept_alive;
pub(super) mod outstanding;
pub(super) mod overtaking;
pub(super) mod reach;
pub(super) mod starvation_excuse;
pub(super) mod waiters;
