//! The shortest stalls and delays that the driver records, as fractions of the lease. A checker must not rely on an
//! event that may be too short to be in the history.

use std::time::Duration;

/// A fraction of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseFraction {
    /// The number by which the lease is divided.
    pub divisor: u32,
}

impl LeaseFraction {
    /// Creates the fraction `1 / divisor`.
    pub(crate) const fn one_in(divisor: u32) -> Self {
        LeaseFraction { divisor }
    }

    /// Returns this fraction of `lease`, in the unit of `lease`.
    pub const fn part_of(self, lease: u64) -> u64 {
        lease / self.divisor as u64
    }

    /// Returns this fraction of `lease`.
    pub fn duration_of(self, lease: Duration) -> Duration {
        lease / self.divisor
    }
}

/// Shortest stall of the harness that is recorded, unless timers are less precise than this. Several stalls in a row
/// may prolong a hold; the checkers decide whether its holder would have been in time without them.
pub const RECORDED_HARNESS_STALL: LeaseFraction = LeaseFraction::one_in(100);

/// Shortest delay of anything else that is recorded: stalls of servers and workers, a worker's wait for a CPU, and
/// faults that took or lasted too long.
pub const RECORDED_DELAY: LeaseFraction = LeaseFraction::one_in(10);
