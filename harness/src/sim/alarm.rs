//! The network's one timer, which is set again and again.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;

use tokio::time::Sleep;

use crate::clock::Clock;

/// A timer; a new one for each time would cost more than what happens then.
pub(super) struct Alarm {
    clock: Clock,
    sleep: Pin<Box<Sleep>>,
    set_ns: Option<u64>,
}

impl Alarm {
    /// Not set yet.
    pub(super) fn new(clock: &Clock) -> Self {
        Alarm {
            clock: clock.clone(),
            sleep: Box::pin(tokio::time::sleep_until(clock.instant(0))),
            set_ns: None,
        }
    }

    /// True when the clock shows this time. Else the task is woken then.
    pub(super) fn is_over(&mut self, at_ns: u64, context: &mut Context<'_>) -> bool {
        if self.set_ns != Some(at_ns) {
            self.sleep.as_mut().reset(self.clock.instant(at_ns));
            self.set_ns = Some(at_ns);
        }
        let over = self.sleep.as_mut().poll(context).is_ready();
        if over {
            self.set_ns = None;
        }
        over
    }
}
