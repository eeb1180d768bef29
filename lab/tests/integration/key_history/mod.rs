//! The account of the keys, made twice in one simulation: by the nodes themselves, and from what they
//! tell, the way it is made on real servers. The two must be the same.
//!
//! `PICKLOCK_ACCOUNT_RUNS=1000 cargo test -p picklock-lab --test integration account -- --nocapture` is the
//! long form; it prints how many runs and changes were compared. `PICKLOCK_ACCOUNT_SEED` chooses
//! others.
//!
//! - [`cells`]: which runs
//! - [`difference`]: where two accounts differ
//! - [`spoilt`]: that they do when a report is spoilt, and otherwise not
//! - [`monitor_key_history`]: the second account

mod cells;
mod difference;
mod monitor_key_history;
mod spoilt;
