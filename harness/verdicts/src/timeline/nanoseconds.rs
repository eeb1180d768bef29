//! The unit of time in which histories are read.

const NS_PER_MS: u64 = 1_000_000;

/// Milliseconds as nanoseconds.
pub fn ms(count: u64) -> u64 {
    count.saturating_mul(NS_PER_MS)
}
