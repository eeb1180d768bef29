//! The sending end of the network: passes frames through barriers, faults and partitions, and draws their latencies.

use std::cell::RefMut;

use picklock_scenarios::Direction;
use rand::RngExt;
use rand::rngs::StdRng;

use super::connection_state::ConnectionDirection;
use super::connection_state::Path;
use super::event_queue::NetworkEvent;
use super::frame::{Frame, Payload};
use super::network::{LATENCY, Network};
use super::network_state::NetworkState;
use super::submission_queue::RequestError;
use crate::model::Reply;
use crate::proxy::{
    FrameBarrier, FrameDecision, FrameOutcome, InterceptedFrame, LinkId, LockEffect,
    PassConditions, Step, held_back,
};

impl Network {
    /// Sends a frame. Most frames leave at once, because nothing holds them back.
    pub(super) fn send(&self, mut state: RefMut<'_, NetworkState>, mut frame: Frame, now_ns: u64) {
        let (conn, direction) = (frame.conn, frame.direction());
        let inner = &mut *state;
        let Some(connection) = inner.connections.get_mut(conn) else {
            return;
        };
        if !connection.is_clear(direction, now_ns) {
            frame.tag.sent_ns = Some(now_ns);
            connection.path(direction).arriving.push_back(frame);
            drop(state);
            return self.advance((conn, direction), now_ns);
        }
        let link = connection.link;
        match self.barrier(link, &frame, &inner.names[frame.tag.name]) {
            Some(barrier) => {
                frame.tag.sent_ns = Some(now_ns);
                inner.barriers.push(((conn, direction), barrier));
                self.endpoint.notify();
                let path = connection.path(direction);
                (path.shown, path.at_barrier) = (true, true);
                path.arriving.push_back(frame);
            }
            None => {
                connection.established = true;
                self.record_sent(&frame);
                let path = connection.path(direction);
                let at_ns = path.depart(now_ns, &mut inner.rng);
                let times = (now_ns, Some(at_ns));
                self.log_frame(link, &inner.names, &frame, times, FrameOutcome::Forwarded);
                let tie = inner.rng.random();
                inner.events.add(at_ns, tie, NetworkEvent::Arrival(frame));
            }
        }
    }

    /// Sends every frame of one direction that nothing holds back. As in the real proxy, the interceptor and the faults
    /// act on a frame only once it is the first of its direction. A frame leaves when its delay is over and neither a
    /// hold nor a partition stops it.
    pub(super) fn advance(&self, way: ConnectionDirection, now_ns: u64) {
        while self.admit_next(way, now_ns) {}
        while self.send_next(way, now_ns) {}
    }

    /// Admits the next frame. Returns `false` if no more frames can be admitted now.
    fn admit_next(&self, way: ConnectionDirection, now_ns: u64) -> bool {
        let mut state = self.state.borrow_mut();
        let inner = &mut *state;
        let Some(connection) = inner.connections.get_mut(way.0) else {
            return false;
        };
        let link = connection.link;
        let path = connection.path(way.1);
        let Some(first) = path.arriving.front().filter(|_| !path.at_barrier) else {
            return false;
        };
        if !path.shown {
            path.shown = true;
            if let Some(barrier) = self.barrier(link, first, &inner.names[first.tag.name]) {
                path.at_barrier = true;
                inner.barriers.push((way, barrier));
                self.endpoint.notify();
                return false;
            }
        }
        let Some(frame) = path.arriving.pop_front() else {
            return false;
        };
        path.shown = false;
        let never = (now_ns, None);
        let verdict = if frame.is_message() {
            path.link.decide(Some(&inner.names[frame.tag.name]))
        } else {
            FrameDecision::Pass(PassConditions::default())
        };
        match verdict {
            FrameDecision::Pass(terms) => {
                path.link.admit(frame.answered(terms.answer), now_ns, terms);
            }
            FrameDecision::Drop => {
                inner.record_loss(link.worker, &frame.tag);
                self.log_frame(link, &inner.names, &frame, never, FrameOutcome::Dropped);
            }
            FrameDecision::Reset => {
                self.log_frame(link, &inner.names, &frame, never, FrameOutcome::Cut);
                drop(state);
                self.reset(&[way.0], RequestError::Reset);
                return false;
            }
        }
        true
    }

    /// Sends the next admitted frame. Returns `false` if no more frames can be sent now.
    fn send_next(&self, way: ConnectionDirection, now_ns: u64) -> bool {
        let mut state = self.state.borrow_mut();
        let inner = &mut *state;
        let Some(connection) = inner.connections.get_mut(way.0) else {
            return false;
        };
        let link = connection.link;
        if connection.path(way.1).link.is_empty() || !connection.can_establish() {
            return false;
        }
        let path = connection.path(way.1);
        match path.link.step(now_ns) {
            Step::Empty | Step::WaitForFaults => return false,
            Step::WaitUntil(due_ns) => {
                let tie = inner.rng.random();
                inner.events.add(due_ns, tie, NetworkEvent::Due(way));
                return false;
            }
            Step::Send => {}
        }
        let Some(mut sent) = path.link.pop() else {
            return false;
        };
        let tag = &mut sent.frame.tag;
        tag.sent_ns = (tag.sent_ns).and_then(|sent_ns| held_back(sent_ns, now_ns));
        self.record_sent(&sent.frame);
        let at_ns = path.depart(now_ns, &mut inner.rng);
        let times = (sent.arrived_at_ns, Some(at_ns));
        self.log_frame(link, &inner.names, &sent.frame, times, sent.outcome);
        let tie = inner.rng.random();
        (inner.events).add(at_ns, tie, NetworkEvent::Arrival(sent.frame));
        true
    }

    /// Returns the barrier at which the frame must wait until a fault has fired, or `None` if it need not wait.
    fn barrier(&self, link: LinkId, frame: &Frame, command: &str) -> Option<FrameBarrier> {
        if !frame.is_message() || !self.interceptor.is_armed(link.worker) {
            return None;
        }
        self.interceptor.intercept(&InterceptedFrame {
            at_ns: self.run_clock.now_ns(),
            link,
            conn: frame.conn,
            direction: frame.direction(),
            command,
            is_error: matches!(frame.payload, Payload::Reply(Reply::Error(_))),
            key: frame.tag.key,
            op: frame.tag.op,
            phase: frame.tag.phase,
            lock_effect: match frame.direction() {
                Direction::Request => LockEffect::None,
                Direction::Reply => frame.tag.lock_effect,
            },
        })
    }
}

impl Path {
    /// Draws the latency of a departing frame, and returns its arrival time.
    fn depart(&mut self, now_ns: u64, rng: &mut StdRng) -> u64 {
        let latency_ns = rng.random_range(LATENCY);
        self.latest_arrival_ns = (now_ns + latency_ns).max(self.latest_arrival_ns + 1);
        self.latest_arrival_ns
    }
}
