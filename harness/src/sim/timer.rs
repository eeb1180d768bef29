//! The network's one timer.

use std::pin::Pin;
use std::task::Context;

use tokio::time::Sleep;

use crate::clock::Clock;

/// A timer that is set again and again. A new one for each event would cost more than the event.
pub(super) struct Timer {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
    set_ns: Option<u64>,
}

impl Timer {
    /// Not set yet.
    pub(super) fn new(clock: &Clock) -> Self {
        Timer {
            clock: clock.clone(),
            sleep: Box::pin(tokio::time::sleep_until(clock.instant(0))),
            set_ns: None,
        }
    }

    /// True when the clock has reached this time. Else the task is woken then.
    pub(super) fn poll(&mut self, at_ns: u64, context: &mut Context<'_>) -> bool {
        if self.set_ns != Some(at_ns) {
            self.sleep.as_mut().reset(self.clock.instant(at_ns));
            self.set_ns = Some(at_ns);
        }
        let elapsed = self.sleep.as_mut().poll(context).is_ready();
        if elapsed {
            self.set_ns = None;
        }
        elapsed
    }
}
