//! The timer of the network task.

use std::pin::Pin;
use std::task::Context;

use tokio::time::Sleep;

use crate::clock::Clock;

/// A reusable timer. Creating a new timer for each event would take longer than processing the event.
pub(super) struct Timer {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
    set_ns: Option<u64>,
}

impl Timer {
    /// Creates a timer without a wake-up time.
    pub(super) fn new(clock: &Clock) -> Self {
        Timer {
            clock: clock.clone(),
            sleep: Box::pin(tokio::time::sleep_until(clock.instant(0))),
            set_ns: None,
        }
    }

    /// Returns `true` if the clock has reached `at_ns`. Otherwise the task is woken at that time.
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
