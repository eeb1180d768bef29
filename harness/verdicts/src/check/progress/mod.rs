//! Evidence for the `progress` property: which clients waited, which nodes were reachable, and what excuses the wait.
//!
//! `properties/progress.rs` decides. In reading order:
//!
//! - `waiters`: the locks that clients want, and since when
//! - `reach`: the workers that can reach the nodes that their lock needs
//! - `outstanding`: the time until which a lease may be outstanding
//! - `starvation_excuse`: what the machine may have caused
//! - `kept_alive`, `deadlocks`, `overtaking`, `client_deaths`: starvations with their own rules
//! - `blocked_lock`: the reason why no client got the lock, with `attempt_times`

mod attempt_times;
pub(super) mod blocked_lock;
pub(super) mod client_deaths;
pub(super) mod deadlocks;
pub(super) mod kept_alive;
pub(super) mod outstanding;
pub(super) mod overtaking;
pub(super) mod reach;
pub(super) mod starvation_excuse;
pub(super) mod waiters;
