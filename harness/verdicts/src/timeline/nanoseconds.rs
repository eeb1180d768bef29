//! Nanoseconds, the unit of all times in a history.

const NS_PER_MS: u64 = 1_000_000;

/// Tolerance for expiries. Servers count them in whole milliseconds, on a clock that they read once per event-loop
/// iteration.
pub(crate) const EXPIRY_SLACK_NS: u64 = 2 * NS_PER_MS;

/// Converts milliseconds to nanoseconds.
pub fn ns_from_ms(count: u64) -> u64 {
    count.saturating_mul(NS_PER_MS)
}

/// Converts nanoseconds to whole milliseconds, rounded down.
pub fn ms_from_ns(ns: u64) -> u64 {
    ns / NS_PER_MS
}

/// Returns `true` if a written expiry is the requested lease, exactly or rounded up to the next whole second. An excess
/// of one millisecond is tolerated, because a server's clock is not exact.
pub fn is_rounded_up(written_ns: u64, requested_at_ns: u64) -> bool {
    let second_ns = ns_from_ms(1000);
    let max_ns = requested_at_ns
        .div_ceil(second_ns)
        .saturating_mul(second_ns);
    (requested_at_ns..=max_ns.saturating_add(ns_from_ms(1))).contains(&written_ns)
}
