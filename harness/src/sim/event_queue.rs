//! The network's events, ordered by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::connection_state::ConnectionDirection;
use super::frame::Frame;
use super::submission_queue::RequestError;

/// A scheduled event on the network.
pub(super) enum NetworkEvent {
    /// A frame arrives at its other end.
    Arrival(Frame),
    /// The delay of a frame is over.
    Due(ConnectionDirection),
    /// A client receives the error that the node did not accept its connection.
    Refused(u64, RequestError),
    /// A blocking command of this node may have timed out.
    TimedOut(usize),
}

/// Position of an event in the queue. Events are ordered by time, then by `tie`, and then by serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at_ns: u64,
    /// A random number from the seed, so that the order of simultaneous events differs between seeds.
    tie: u32,
    serial: u64,
}

#[derive(Default)]
pub(super) struct EventQueue {
    /// The positions of the events, with the places of the events in `events`. Events are large, so they do not move.
    order: BinaryHeap<Reverse<(Position, usize)>>,
    events: Vec<Option<NetworkEvent>>,
    /// The empty places in `events`.
    free: Vec<usize>,
    last_serial: u64,
}

impl EventQueue {
    /// Adds an event. Among events at the same time, the one with the lowest `tie` comes first.
    pub(super) fn add(&mut self, at_ns: u64, tie: u32, event: NetworkEvent) {
        self.last_serial += 1;
        let serial = self.last_serial;
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[place] = Some(event);
        let position = Position { at_ns, tie, serial };
        self.order.push(Reverse((position, place)));
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        let Reverse((position, _)) = self.order.peek()?;
        Some(position.at_ns)
    }

    /// Removes the next event if its time has come, and returns it with its time.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, NetworkEvent)> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        let Reverse((position, place)) = self.order.pop()?;
        self.free.push(place);
        Some((position.at_ns, self.events[place].take()?))
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
        for number in 0..4 {
            queue.add(7, 0, NetworkEvent::TimedOut(number));
        }
        assert_eq!(drain_order(&mut queue), [0, 1, 2, 3]);
    }
}
