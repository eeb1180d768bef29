//! Determines which attempt each change of a key belongs to, in three passes over all events of a run.
//!
//! The proxy names the client and the attempt of each command, but it sees only connections. The passes correct this
//! with what the whole run shows. Their order matters: each relies on the client and the attempt that the pass before
//! it has written.

use picklock_scenarios::{LockKind, Workload};

use crate::history::Event;

use super::other_attempts::correct_attempts;
use super::permits::split_permits;
use super::shared_connections::{UnnamedClient, name_clients};

/// Writes the right client and attempt into each change. `events` are all events of a run in chronological order,
/// `keys` the names of the locks. `shares_connections` states whether the clients of a process use the same
/// connections.
///
/// # Errors
/// Returns an error if the client of a change is ambiguous, and a lock may rest on the value.
pub fn attribute(
    events: &mut Vec<Event>,
    keys: &[String],
    workload: &Workload,
    kind: LockKind,
    shares_connections: bool,
) -> Result<(), UnnamedClient> {
    if shares_connections {
        name_clients(events, keys, workload)?;
    }
    correct_attempts(events, keys);
    if matches!(kind, LockKind::Semaphore | LockKind::Rwlock) {
        split_permits(events, keys, kind);
    }
    Ok(())
}
