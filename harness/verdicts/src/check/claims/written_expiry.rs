//! The expiry that a lock wrote, compared with the lease that its client requested.
//!
//! Only the end of the key matters. A lock may round the lease up to a whole second. It may count the lease from its
//! request, and write the remaining time. A script may read the time after it has run for a while. The server counts
//! the lifetime of a key from the beginning of the script, so the expiry may be longer by the time for which the script
//! may have run.

use crate::check::claims::written_values::{Written, WrittenValue};
use crate::history::Declarations;
use crate::timeline::{Attempt, ms_from_ns};

/// Tolerance for a written expiry, in milliseconds.
const SLACK_MS: i64 = 1;

/// Returns a node on which no written expiry matches the requested lease, and the shortest expiry there in
/// milliseconds. Returns `None` if there is no such node. `quorum` is the number of nodes that the lock needs, and
/// `margin_ms` the margin that it declares.
pub(in crate::check) fn wrong_expiry(
    attempt: &Attempt,
    written: &Written,
    quorum: usize,
    margin_ms: i64,
) -> Option<(usize, i64)> {
    // A key that was written on fewer nodes than the lock needs is not the lock's key.
    let is_lock = |value: &WrittenValue| written.node_count(&value.key) >= quorum;
    let any_is_lock = written.lock_values().any(is_lock);
    written.by_node().find_map(|on_node| {
        let acquired = || {
            let acquired = on_node.iter().filter(|value| value.at_acquisition);
            acquired.filter(|value| !any_is_lock || is_lock(value))
        };
        let expiries = acquired().filter_map(|value| value.expiry);
        let ttl_ms = expiries.map(|expiry| expiry.ttl_ms).min()?;
        // A lock may write other keys besides its lock key. If any key has the right expiry, that key counts.
        let is_wrong = !acquired().any(|value| fits(attempt, value, margin_ms));
        is_wrong.then_some((on_node[0].node, ttl_ms))
    })
}

/// Returns `true` if an expiry is longer than the requested lease allows.
pub(in crate::check) fn is_too_long(attempt: &Attempt, ttl_ms: i64, margin_ms: i64) -> bool {
    ttl_ms > max_expiry_ms(requested_ms(attempt), margin_ms)
}

/// Returns the declared margin of the lease, in milliseconds.
pub(in crate::check) fn margin_ms(declares: Declarations) -> i64 {
    i64::try_from(declares.lease_margin_ms).unwrap_or(i64::MAX / 4)
}

fn fits(attempt: &Attempt, value: &WrittenValue, margin_ms: i64) -> bool {
    let Some(expiry) = value.expiry else {
        return false;
    };
    let past_ns = expiry.set_ns.saturating_sub(attempt.acquire_ns);
    let past_ms = i64::try_from(past_ns.div_ceil(1_000_000)).unwrap_or(i64::MAX / 2);
    let requested_ms = requested_ms(attempt);
    let max_ms = max_expiry_ms(requested_ms, margin_ms).saturating_add(value.script_ms);
    (requested_ms - SLACK_MS - past_ms..=max_ms).contains(&expiry.ttl_ms)
}

fn requested_ms(attempt: &Attempt) -> i64 {
    i64::try_from(ms_from_ns(attempt.ttl_ns)).unwrap_or(i64::MAX)
}

/// Returns the longest allowed expiry for a requested lease, in milliseconds: the lease rounded up to a whole second,
/// plus the declared margin and the tolerance.
fn max_expiry_ms(requested_ms: i64, margin_ms: i64) -> i64 {
    let longest_ms = requested_ms.saturating_add(margin_ms);
    let rounded_up_ms = longest_ms.saturating_add(999) / 1000 * 1000;
    rounded_up_ms.saturating_add(SLACK_MS)
}
