//! The unit of time in which histories are read.

const NS_PER_MS: u64 = 1_000_000;

/// Milliseconds as nanoseconds.
pub fn ms(count: u64) -> u64 {
    count.saturating_mul(NS_PER_MS)
}

/// True if an expiry is the lease that was asked for, or that rounded up to the next whole second. By a
/// millisecond more a server's clock may mislead.
pub fn is_rounded_up(written_ns: u64, requested_at_ns: u64) -> bool {
    let second_ns = ms(1000);
    let most_ns = requested_at_ns
        .div_ceil(second_ns)
        .saturating_mul(second_ns);
    (requested_at_ns..=most_ns.saturating_add(ms(1))).contains(&written_ns)
}
