//! The time at which a command is executed.

/// A reading of the node's wall clock, which may jump. A command, script or transaction has the same time throughout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Microseconds since the Unix epoch.
    pub wall_us: i64,
}

impl Now {
    /// Creates a time from milliseconds since the Unix epoch.
    pub fn from_ms(wall_ms: i64) -> Now {
        Now {
            wall_us: wall_ms.saturating_mul(1000),
        }
    }

    /// Returns the time `ms` milliseconds later.
    pub(super) fn plus_ms(self, ms: i64) -> Now {
        Now {
            wall_us: self.wall_us.saturating_add(ms.saturating_mul(1000)),
        }
    }

    /// Returns the milliseconds since the Unix epoch, rounded down.
    pub fn ms(self) -> i64 {
        self.wall_us.div_euclid(1000)
    }
}
