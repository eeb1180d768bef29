//! Which of two grants came first.
//!
//! Grants arrive later than they are made, so the order of arrival alone proves nothing: the
//! reply may have been held back on its way. [`follows_ns`] is what can be shown: every other
//! grant that had arrived before that time was made before this one, because
//!
//! 1. this attempt was only asked for afterwards; or
//! 2. by the lock's own word the lease of this attempt began afterwards (`deadline - ttl`); or
//! 3. this attempt's lease had not run out by then, so, had it come first, the other grant
//!    would have been made into a running lease. That reasoning needs a service that forgot
//!    nothing, so it is not used where a node or a clock was tampered with meanwhile.
//!
//! A lease that the lock calls run out (`valid_ms` 0) may have done so long ago: neither 2 nor
//! 3 can be said of it.

use super::attempt::Attempt;
use super::nanoseconds::ms;

/// Every other grant that had arrived before this time was made before this attempt's, whose
/// deadline is known by now. `valid_ms`: what the lock reported. `forgot`: a node or a clock was
/// tampered with after the attempt had begun.
pub(super) fn follows_ns(
    attempt: &Attempt,
    arrived_ns: u64,
    valid_ms: Option<u64>,
    forgot: bool,
) -> u64 {
    // "Worth nothing" does not say since when, and so not when the lease began.
    if valid_ms == Some(0) {
        return attempt.acquire_ns.min(arrived_ns);
    }
    // A lock that claims more than it asked for does not move the moment of its grant.
    let claim_is_sane = valid_ms.is_none_or(|valid_ms| ms(valid_ms) <= attempt.ttl_ns);
    let deadline_ns = if claim_is_sane {
        attempt.deadline_ns
    } else {
        attempt.acquire_ns.saturating_add(attempt.ttl_ns)
    };
    let shown_ns = match (forgot, attempt.told) {
        (false, _) => deadline_ns,
        (true, true) => deadline_ns.saturating_sub(attempt.ttl_ns),
        (true, false) => 0,
    };
    attempt.acquire_ns.max(shown_ns).min(arrived_ns)
}
