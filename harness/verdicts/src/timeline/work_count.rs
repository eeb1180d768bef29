//! Counts the work of the checkers in tests, so that a test can compare histories of different lengths without a clock.

#[cfg(test)]
thread_local! {
    static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds the number of values that a search or a comparison examined. Does nothing outside tests.
#[inline]
pub(crate) fn add(looked_at: usize) {
    #[cfg(test)]
    COUNT.with(|count| count.set(count.get() + looked_at as u64));
    #[cfg(not(test))]
    let _ = looked_at;
}

/// Returns the work of this thread since the last call.
#[cfg(test)]
pub(crate) fn take() -> u64 {
    COUNT.with(std::cell::Cell::take)
}
