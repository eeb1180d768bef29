//! The receiving end of the network: processes frames when they arrive.

use picklock_scenarios::Direction;

use super::args::Args;
use super::event_queue::NetworkEvent;
use super::frame::{Frame, Payload, error_reply};
use super::network::{LATENCY, Network};
use super::node::Node;
use super::node_observer::NodeStep;
use super::submission_queue::RequestError;
use crate::model::{ClientId, Reply};
use crate::proxy::{FrameOutcome, LinkId, LockEffect, REFUSED};

fn execute(node: &mut Node, client: ClientId, args: &Args, at_ns: u64) -> Reply {
    // Only commands with more words, which are rare, need an allocation.
    let mut few: [&[u8]; 12] = [&[]; 12];
    if args.len() > few.len() {
        let many: Vec<&[u8]> = args.iter().collect();
        return node.execute(client, &many, at_ns);
    }
    for (slot, word) in few.iter_mut().zip(args.iter()) {
        *slot = word;
    }
    node.execute(client, &few[..args.len()], at_ns)
}

impl Network {
    /// Processes every event that is due. The function is inlined into the network's turn, because otherwise each event
    /// would be moved once more.
    #[inline(always)]
    pub(super) fn process_events(&self, now_ns: u64) {
        loop {
            let event = self.state.borrow_mut().events.pop(now_ns);
            match event {
                Some((at_ns, NetworkEvent::Arrival(frame))) => self.arrive(at_ns, frame),
                Some((at_ns, NetworkEvent::Due(way))) => self.advance(way, at_ns),
                Some((_, NetworkEvent::Refused(conn, error))) => self.reset(&[conn], error),
                Some((at_ns, NetworkEvent::TimedOut(node))) => self.time_out(at_ns, node),
                None => return,
            }
        }
    }

    pub(super) fn arrive(&self, at_ns: u64, frame: Frame) {
        let mut state = self.state.borrow_mut();
        let connection = state.connections.get(frame.conn);
        let Some((link, client)) = connection.map(|known| (known.link, known.client)) else {
            // The connection was reset while the frame travelled, and the client has already received the error.
            return;
        };
        if frame.direction() == Direction::Reply {
            if let Payload::Publication(published) = frame.payload {
                drop(state);
                self.endpoint.deliver(frame.conn, published);
            } else if let Some((request, reply)) = state.match_reply(frame) {
                drop(state);
                self.endpoint.complete(request, Ok(reply));
            }
            return;
        }
        let node = &mut state.nodes[link.node];
        let refuse = |error| NetworkEvent::Refused(frame.conn, error);
        let refused_ns = at_ns + LATENCY.start;
        if !node.up {
            self.log_unreachable(frame.conn, at_ns);
            let refused = refuse(RequestError::Refused);
            state.events.add(refused_ns, 0, refused);
        } else if node.paused {
            node.backlog.push_back(frame);
        } else if node.turns_away(client) {
            let refused = refuse(RequestError::TooManyClients);
            state.events.add(refused_ns, 0, refused);
        } else {
            drop(state);
            self.process(at_ns, link, frame);
        }
    }

    /// Processes a frame that has arrived at its node: executes a command and sends its reply, or closes the
    /// connection. A command is queued if an earlier command of its client is blocked.
    fn process(&self, at_ns: u64, link: LinkId, frame: Frame) {
        let Frame {
            conn,
            mut tag,
            payload,
        } = frame;
        let mut state = self.state.borrow_mut();
        let Some(connection) = state.connections.get_mut(conn) else {
            return;
        };
        let args = match payload {
            Payload::Command(args) if connection.blocked.is_none() => args,
            Payload::Command(_) => {
                connection.behind.push_back(Frame { conn, tag, payload });
                return;
            }
            Payload::Close | Payload::Reply(_) | Payload::Publication(_) => {
                let closed = state.remove_connection(conn);
                drop(state);
                if let Some(closed) = closed {
                    self.log_lost(conn, &closed, at_ns + 1, FrameOutcome::Cut);
                    closed.fail(self.endpoint, RequestError::Reset);
                }
                return;
            }
        };
        let client = connection.client;
        if self.sent.is_some() {
            state.nodes[link.node].observe(NodeStep::Executing { conn, client }, at_ns);
        }
        if tag.answer.is_none() {
            state.record_command(link, &tag, at_ns);
        }
        let wants_effect = self.interceptor.is_armed(link.worker)
            && self.interceptor.waits_for_effect(link, tag.phase);
        let before = state.nodes[link.node].watch.changes();
        let node = &mut state.nodes[link.node];
        let reply = match tag.answer {
            None => execute(node, client, &args, at_ns),
            Some(error) => {
                node.execute(client, REFUSED, at_ns);
                error_reply(error)
            }
        };
        state.record_key_changes(link, &mut tag, &args, at_ns);
        if wants_effect {
            let effect = state.nodes[link.node].effect_since(before);
            tag.lock_effect = LockEffect::in_phase(Some(effect), tag.phase);
        }
        self.used.borrow_mut().push(args);
        match reply {
            Reply::Blocked => {
                state.block(conn, tag, at_ns);
                drop(state);
            }
            reply => {
                self.record_replied(conn, &reply, at_ns);
                let payload = Payload::Reply(reply);
                self.send(state, Frame { conn, tag, payload }, at_ns);
            }
        }
        // Most commands only produce their own reply. Messages for other clients are rare.
        let has_messages = self.state.borrow().nodes[link.node].server.has_messages();
        if has_messages {
            self.send_messages(at_ns, link.node);
        }
    }

    /// Sends the node's late replies to blocked clients, and its publications to subscribers. Then processes the
    /// commands that the unblocked clients had sent while they were blocked.
    fn send_messages(&self, at_ns: u64, node: usize) {
        let answered = {
            let replied = |conn, reply: &Reply| self.record_replied(conn, reply, at_ns);
            self.state.borrow_mut().send_messages(node, replied)
        };
        for conn in answered {
            self.advance((conn, Direction::Reply), at_ns);
            let mut state = self.state.borrow_mut();
            let Some(connection) = state.connections.get_mut(conn) else {
                continue;
            };
            let behind = std::mem::take(&mut connection.behind);
            let link = connection.link;
            drop(state);
            for frame in behind {
                self.process(at_ns, link, frame);
            }
        }
    }

    /// Ends the blocking commands of a node that have timed out.
    pub(super) fn time_out(&self, at_ns: u64, node: usize) {
        self.state.borrow_mut().nodes[node].time_out(at_ns);
        self.send_messages(at_ns, node);
        self.state.borrow_mut().schedule_timeout(node, at_ns);
    }
}
