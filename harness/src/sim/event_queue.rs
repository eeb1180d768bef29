//! The network's events, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::connection_state::ConnectionDirection;
use super::frame::Frame;
use super::submission_queue::RequestError;

/// Something that happens on the network at a certain time.
pub(super) enum NetworkEvent {
    /// A frame arrives at its other end.
    Arrival(Frame),
    /// A frame that was delayed may go on.
    Due(ConnectionDirection),
    /// The client learns that its connection was not accepted, and why.
    Refused(u64, RequestError),
    /// A blocking command may have waited long enough at this node.
    TimedOut(usize),
}

/// When an event happens, and where it is stored. It is one number and small, because it is moved
/// and compared more than anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// From the highest bits on: the time in nanoseconds; a number drawn from the seed, which
    /// orders events at the same time; and a serial number, so that the slot never decides.
    order: u128,
    slot: usize,
}

impl Key {
    fn at_ns(self) -> u64 {
        (self.order >> 64) as u64
    }
}

/// The events to come.
#[derive(Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<Key>>,
    slots: Vec<Option<NetworkEvent>>,
    free: Vec<usize>,
    serial: u32,
}

impl EventQueue {
    /// Adds an event. `tie`: orders it among those at the same time, the lowest first.
    pub(super) fn add(&mut self, at_ns: u64, tie: u32, event: NetworkEvent) {
        // It may wrap: events with the same number as before have happened long ago.
        self.serial = self.serial.wrapping_add(1);
        let slot = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(empty) => *empty = Some(event),
            None => self.slots.push(Some(event)),
        }
        let order = u128::from(at_ns) << 64 | u128::from(tie) << 32 | u128::from(self.serial);
        self.heap.push(Reverse(Key { order, slot }));
    }

    /// When the next event happens.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(key)| key.at_ns())
    }

    /// The next event and its time, if that has come.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, NetworkEvent)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse(key) = self.heap.pop()?;
        let event = self.slots[key.slot].take()?;
        self.free.push(key.slot);
        Some((key.at_ns(), event))
    }
}
