//! Records the history of a run. All times come from one clock, and each event is written at the time at which it is
//! recorded, so times never decrease.

use std::cell::RefCell;

use super::cut_text::cut_texts;
use crate::clock::Clock;
use crate::history::{Event, EventKind};

/// A function that is called with each event as it happens, so that a front end can show the progress.
pub type Listener = Box<dyn Fn(&Event)>;

/// Initial capacity of the history: the number of events of a small run.
const INITIAL_CAPACITY: usize = 256;

/// Records the history: events with their times.
pub struct Recorder {
    clock: Clock,
    events: RefCell<Vec<Event>>,
    listener: Listener,
}

impl Recorder {
    /// Creates a recorder with an empty history.
    pub fn new(clock: Clock, listener: Listener) -> Self {
        Recorder {
            clock,
            events: RefCell::new(Vec::with_capacity(INITIAL_CAPACITY)),
            listener,
        }
    }

    /// Records an event at the current time of the run's clock, and returns that time. Long texts of the lock are cut.
    pub fn write(&self, mut what: EventKind) -> u64 {
        cut_texts(&mut what);
        let at_ns = self.clock.now_ns();
        let mut events = self.events.borrow_mut();
        events.push(Event { at_ns, what });
        (self.listener)(&events[events.len() - 1]);
        at_ns
    }

    /// Begins the run when the clients start: sets the clock to zero. Also sets the times of earlier events to zero,
    /// because times in a history never decrease.
    pub fn begin(&self) {
        self.clock.set_to_zero();
        for event in self.events.borrow_mut().iter_mut() {
            event.at_ns = 0;
        }
    }

    /// Returns `true` if this worker was recorded as breaking the protocol or hanging.
    pub fn has_misbehaved(&self, worker: usize) -> bool {
        let matches = |event: &Event| matches!(&event.what, EventKind::Misbehaved { worker: recorded, .. } if *recorded == worker);
        self.events.borrow().iter().any(matches)
    }

    /// Returns `true` if a fault has begun.
    pub fn has_fault_begun(&self) -> bool {
        let matches = |event: &Event| matches!(event.what, EventKind::FaultBegan { .. });
        self.events.borrow().iter().any(matches)
    }

    /// Returns `true` if this node was recorded as lost.
    pub fn has_lost(&self, node: usize) -> bool {
        let matches = |event: &Event| matches!(event.what, EventKind::NodeLost { node: recorded, .. } if recorded == node);
        self.events.borrow().iter().any(matches)
    }

    /// Removes and returns the events.
    pub fn take(&self) -> Vec<Event> {
        self.events.take()
    }
}
