//! The network's events, ordered by time.

use std::collections::BTreeMap;

use super::connection_state::ConnectionDirection;
use super::frame::Frame;
use super::submission_queue::RequestError;

/// A scheduled event on the network.
pub(super) enum NetworkEvent {
    /// A frame arrives at its other end.
    Arrival(Frame),
    /// A delayed frame may continue.
    Due(ConnectionDirection),
    /// The client receives the error that its connection was not accepted.
    Refused(u64, RequestError),
    /// A blocking command of this node may have timed out.
    TimedOut(usize),
}

/// The time of an event and the slot in which it is stored, packed into one number because keys are moved and compared
/// more than anything else. From the highest bits on: the time in nanoseconds (64), a number drawn from the seed (32)
/// that orders events at the same time, a serial number (4), and the slot (28), which hardly ever decides the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

const SLOT_BITS: u32 = 28;

impl Key {
    fn new(at_ns: u64, tie: u32, serial: u8, slot: usize) -> Key {
        // The run budget counts every command and is spent long before this many are in flight.
        debug_assert!(slot < 1 << SLOT_BITS);
        // The upper bits of the serial number are shifted out.
        let low = u32::from(serial) << SLOT_BITS | slot as u32;
        Key(u128::from(at_ns) << 64 | u128::from(tie) << 32 | u128::from(low))
    }

    fn at_ns(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn slot(self) -> usize {
        self.0 as usize & ((1 << SLOT_BITS) - 1)
    }
}

#[derive(Default)]
pub(super) struct EventQueue {
    events: BTreeMap<Position, NetworkEvent>,
    last_serial: u64,
}

impl EventQueue {
    /// Adds an event. Of the events at the same time, the one with the lowest `tie` comes first.
    pub(super) fn add(&mut self, at_ns: u64, tie: u32, event: NetworkEvent) {
        // The serial number wraps. Two events with the same time and tie are rare; the later one
        // may then come first, in every run with this seed.
        self.serial = self.serial.wrapping_add(1);
        let slot = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(slot) {
            Some(empty) => *empty = Some(event),
            None => self.slots.push(Some(event)),
        }
        self.heap
            .push(Reverse(Key::new(at_ns, tie, self.serial, slot)));
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        let (position, _) = self.events.first_key_value()?;
        Some(position.at_ns)
    }

    /// Removes and returns the next event and its time, if it is due.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, NetworkEvent)> {
        let next = self.events.first_entry()?;
        let at_ns = next.key().at_ns;
        (at_ns <= now_ns).then(|| (at_ns, next.remove()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain_order(queue: &mut EventQueue) -> Vec<usize> {
        let events = std::iter::from_fn(|| queue.pop(u64::MAX));
        let numbers = events.map(|(_, event)| match event {
            NetworkEvent::TimedOut(number) => number,
            _ => unreachable!("only timeouts were added"),
        });
        numbers.collect()
    }

    #[test]
    fn events_are_ordered_by_time_then_tie_then_insertion() {
        let mut queue = EventQueue::default();
        for (at_ns, tie, number) in [(5, 2, 0), (5, 1, 1), (3, 9, 2), (1 << 40, 0, 3)] {
            queue.add(at_ns, tie, NetworkEvent::TimedOut(number));
        }
        assert!(queue.pop(2).is_none());
        assert_eq!(drain_order(&mut queue), [2, 1, 0, 3]);
        // Reuses the slots that were freed last.
        for number in 0..4 {
            queue.add(7, 0, NetworkEvent::TimedOut(number));
        }
        assert_eq!(drain_order(&mut queue), [0, 1, 2, 3]);
    }
}
