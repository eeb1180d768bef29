//! Builds the key history of one simulation twice: by the nodes themselves, and from the servers' reports, as on real
//! servers. The two must be equal.
//!
//! The long form is `PICKLOCK_KEY_HISTORY_RUNS=1000 cargo test -p picklock-lab --test integration key_history --
//! --nocapture`; it prints how many runs and changes were compared. `PICKLOCK_KEY_HISTORY_SEED` selects other runs.
//!
//! - [`cells`]: the runs
//! - [`difference`]: the comparison of two key histories
//! - [`spoilt`]: controls, which show that a spoilt report makes a difference
//! - [`monitor_key_history`]: the key history from the servers' reports

mod cells;
mod difference;
mod monitor_key_history;
mod spoilt;
