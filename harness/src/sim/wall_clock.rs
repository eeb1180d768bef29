//! Wall clocks of simulated machines, each with its own offset.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use picklock_impls::WallClock;

use crate::clock::Clock;

/// Reading of a correct wall clock at the start of every simulation: 2026-01-01T00:00:00Z. A constant start keeps the
/// real date out of the history.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// A wall clock, which reads the simulation's time plus an adjustable offset.
#[derive(Clone)]
pub(super) struct SimWallClock {
    clock: Clock,
    offset_us: Rc<Cell<i64>>,
}

impl SimWallClock {
    /// Creates a correct wall clock.
    pub(super) fn new(clock: &Clock) -> Self {
        SimWallClock {
            clock: clock.clone(),
            offset_us: Rc::default(),
        }
    }

    /// Sets the offset in nanoseconds. A negative offset means that the clock is behind.
    pub(super) fn set_off(&self, off_ns: i64) {
        self.offset_us.set(off_ns / 1000);
    }

    /// Returns the clock's reading at a time of the simulation, in microseconds since the Unix epoch.
    pub(super) fn at_us(&self, sim_ns: u64) -> i64 {
        let right = EPOCH + Duration::from_nanos(sim_ns);
        let right = i64::try_from(right.as_micros()).unwrap_or(i64::MAX);
        right.saturating_add(self.offset_us.get())
    }

    /// Returns the time of the simulation at which the clock reads `wall_us` microseconds, or 0 for an earlier reading.
    pub(super) fn sim_ns(&self, wall_us: i64) -> u64 {
        let right = wall_us.saturating_sub(self.offset_us.get());
        let epoch = i64::try_from(EPOCH.as_micros()).unwrap_or(i64::MAX);
        u64::try_from(right.saturating_sub(epoch))
            .unwrap_or(0)
            .saturating_mul(1000)
    }
}

impl WallClock for SimWallClock {
    fn since_epoch(&self) -> Duration {
        let us = self.at_us(self.clock.now_ns());
        Duration::from_micros(u64::try_from(us).unwrap_or(0))
    }
}
