use std::cell::RefCell;

use super::cut_text::cut_texts;
use crate::clock::Clock;
use crate::history::{Event, EventKind};

/// Is called with each event as it happens: the live progress of a front end.
pub type Listener = Box<dyn Fn(&Event)>;

/// Initial capacity: the events of a small run.
const USUAL: usize = 256;

/// Writes the history: keeps events with their times.
pub struct Recorder {
    clock: Clock,
    events: RefCell<Vec<Event>>,
    listener: Listener,
}

impl Recorder {
    /// A recorder with an empty history.
    pub fn new(clock: Clock, listener: Listener) -> Self {
        Recorder {
            clock,
            events: RefCell::new(Vec::with_capacity(USUAL)),
            listener,
        }
    }

    /// Keeps an event with the time of the run's clock, and returns that time. A lock's long words
    /// are cut.
    pub fn write(&self, mut what: EventKind) -> u64 {
        cut_texts(&mut what);
        let at_ns = self.clock.now_ns();
        let mut events = self.events.borrow_mut();
        events.push(Event { at_ns, what });
        (self.listener)(&events[events.len() - 1]);
        at_ns
    }

    /// The buyers begin: the clock is set to zero, and so are the times of events written before,
    /// because a history never runs backwards.
    pub fn begin(&self) {
        self.clock.set_to_zero();
        for event in self.events.borrow_mut().iter_mut() {
            event.at_ns = 0;
        }
    }

    /// True if this worker was seen to break the protocol, or to hang.
    pub fn has_misbehaved(&self, of: usize) -> bool {
        let events = self.events.borrow();
        let of_it = |event: &Event| matches!(&event.what, EventKind::Misbehaved { worker, .. } if *worker == of);
        events.iter().any(of_it)
    }

    /// True if this node was seen to have died.
    pub fn has_lost(&self, of: usize) -> bool {
        let events = self.events.borrow();
        let of_it =
            |event: &Event| matches!(event.what, EventKind::NodeLost { node, .. } if node == of);
        events.iter().any(of_it)
    }

    /// Takes the events out.
    pub fn take(&self) -> Vec<Event> {
        self.events.take()
    }
}
