//! Which of two grants came first.
//!
//! A grant arrives later than it is made, and its reply may have been delayed, so the order of arrival proves nothing.
//! [`follows_grants_before_ns`] returns a time with this property: every other grant that had arrived before that time
//! was made before this grant. One of three arguments proves it:
//!
//! 1. This attempt was requested only after that time.
//! 2. The lock's own report shows that the lease of this attempt began after that time (`deadline - ttl`).
//! 3. This attempt's lease was still running at that time. If this grant had come first, the other grant would have
//!    been made during a running lease. This argument requires that the servers lost no data, so it is not used if a
//!    fault has affected a node's data or a clock in the meantime.
//!
//! A lease that the lock reports as expired (`valid_ms` is 0) may have expired long ago, so arguments 2 and 3 do not
//! apply to it.

use super::attempt::Attempt;
use super::nanoseconds::ns_from_ms;

/// Returns the time before which every other arrived grant was made before this attempt's grant. The attempt's
/// deadline must be set. `valid_ms` is the validity that the lock reported, and `leases_broken` states whether a fault
/// has affected a node's data or a clock since the attempt began.
pub(super) fn follows_grants_before_ns(
    attempt: &Attempt,
    arrived_ns: u64,
    valid_ms: Option<u64>,
    leases_broken: bool,
) -> u64 {
    // A validity of 0 does not show when the lease began or ended.
    if valid_ms == Some(0) {
        return attempt.acquire_ns.min(arrived_ns);
    }
    // A reported validity beyond the requested lease does not show when the grant was made.
    let claim_is_sane = valid_ms.is_none_or(|valid_ms| ns_from_ms(valid_ms) <= attempt.ttl_ns);
    let deadline_ns = if claim_is_sane {
        attempt.deadline_ns
    } else {
        attempt.acquire_ns.saturating_add(attempt.ttl_ns)
    };
    let shown_ns = match (leases_broken, attempt.lease_reported) {
        (false, _) => deadline_ns,
        (true, true) => deadline_ns.saturating_sub(attempt.ttl_ns),
        (true, false) => 0,
    };
    attempt.acquire_ns.max(shown_ns).min(arrived_ns)
}
