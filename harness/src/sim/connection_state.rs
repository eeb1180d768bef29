//! What the network knows about one connection.

use std::collections::VecDeque;

use picklock_scenarios::Direction;

use super::client_endpoint::ClientEndpoint;
use super::frame::{CommandTag, Frame};
use super::submission_queue::{RequestError, RequestId};
use crate::model::ClientId;
use crate::proxy::{LinkId, LinkState, is_handshake_blocked};

/// Names one direction of one connection.
pub(super) type ConnectionDirection = (u64, Direction);

/// One direction of one connection. Nothing overtakes in it.
pub(super) struct Path {
    /// Frames that wait for a gate: their own, or that of a frame ahead.
    pub(super) arriving: VecDeque<Frame>,
    /// The first arriving frame was shown to the interceptor.
    pub(super) shown: bool,
    /// The first arriving frame waits at a gate.
    pub(super) gated: bool,
    /// Frames that were admitted, and what faults do to them.
    pub(super) link: LinkState<Frame>,
    /// When the latest frame arrives at the other end: none arrives before it.
    pub(super) latest_arrival_ns: u64,
}

impl Path {
    pub(super) fn new(link: LinkState<Frame>) -> Self {
        Path {
            arriving: VecDeque::new(),
            shown: false,
            gated: false,
            link,
            latest_arrival_ns: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arriving.is_empty() && self.link.is_empty()
    }

    /// True when nothing is in the way of a frame that comes now.
    fn is_clear(&mut self, now_ns: u64) -> bool {
        self.arriving.is_empty() && self.link.is_clear(now_ns)
    }
}

pub(super) struct Connection {
    pub(super) link: LinkId,
    /// How the node calls it.
    pub(super) client: ClientId,
    pub(super) request: Path,
    pub(super) reply: Path,
    pub(super) established: bool,
    /// The requests that wait for a reply, in order. The protocol has no request numbers: a reply
    /// goes to the first of them, even if it was meant for another.
    pub(super) waiting: VecDeque<RequestId>,
    /// A blocking command that the node has not answered yet.
    pub(super) blocked: Option<CommandTag>,
    /// What arrived after it. The node does not read it before.
    pub(super) behind: VecDeque<Frame>,
}

impl Connection {
    pub(super) fn path(&mut self, direction: Direction) -> &mut Path {
        match direction {
            Direction::Request => &mut self.request,
            Direction::Reply => &mut self.reply,
        }
    }

    /// True when nothing is in the way of a frame that comes now. Before the handshake both
    /// directions must be free of faults.
    pub(super) fn is_clear(&mut self, direction: Direction, now_ns: u64) -> bool {
        self.path(direction).is_clear(now_ns)
            && (self.established || self.request.link.is_quiet() && self.reply.link.is_quiet())
    }

    /// True when the connection is open, or can be opened now.
    pub(super) fn can_establish(&mut self) -> bool {
        if !self.established {
            let (request, reply) = (&mut self.request.link, &mut self.reply.link);
            self.established = !is_handshake_blocked(request, reply);
        }
        self.established
    }

    /// Tells everybody who waits for a reply why there will be none.
    pub(super) fn fail(self, endpoint: ClientEndpoint, error: RequestError) {
        for request in self.waiting {
            endpoint.complete(request, Err(error));
        }
    }
}
