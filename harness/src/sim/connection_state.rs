//! The state of one connection in the network.

use std::collections::VecDeque;

use picklock_scenarios::Direction;

use super::client_endpoint::ClientEndpoint;
use super::frame::{CommandTag, Frame};
use super::submission_queue::{RequestError, RequestId};
use crate::model::ClientId;
use crate::proxy::{LinkId, LinkState, is_handshake_blocked};

/// Identifies one direction of one connection.
pub(super) type ConnectionDirection = (u64, Direction);

/// The frames in one direction of one connection. Frames never overtake each other.
pub(super) struct Path {
    /// Frames that wait at a barrier, or behind a frame that waits there.
    pub(super) arriving: VecDeque<Frame>,
    /// Whether the interceptor has inspected the first frame in `arriving`.
    pub(super) shown: bool,
    /// Whether the first frame in `arriving` waits at a barrier.
    pub(super) at_barrier: bool,
    /// Frames that were admitted to the link, and the effects of faults on them.
    pub(super) link: LinkState<Frame>,
    /// Arrival time of the latest frame. No later frame arrives before it.
    pub(super) latest_arrival_ns: u64,
}

impl Path {
    pub(super) fn new(link: LinkState<Frame>) -> Self {
        Path {
            arriving: VecDeque::new(),
            shown: false,
            at_barrier: false,
            link,
            latest_arrival_ns: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arriving.is_empty() && self.link.is_empty()
    }

    /// Returns `true` if neither another frame nor a fault holds back a frame that arrives now.
    fn is_clear(&mut self, now_ns: u64) -> bool {
        self.arriving.is_empty() && self.link.is_clear(now_ns)
    }
}

pub(super) struct Connection {
    pub(super) link: LinkId,
    /// The identifier that the node uses for the connection.
    pub(super) client: ClientId,
    pub(super) request: Path,
    pub(super) reply: Path,
    pub(super) established: bool,
    /// The requests that wait for a reply, oldest first. The protocol has no request numbers, so a reply completes the
    /// oldest request, even if the node sent it for another request.
    pub(super) waiting: VecDeque<RequestId>,
    /// A blocking command that the node has not answered yet.
    pub(super) blocked: Option<CommandTag>,
    /// Frames that arrived after the blocking command. The node does not read them before it has answered the blocking
    /// command.
    pub(super) behind: VecDeque<Frame>,
}

impl Connection {
    pub(super) fn path(&mut self, direction: Direction) -> &mut Path {
        match direction {
            Direction::Request => &mut self.request,
            Direction::Reply => &mut self.reply,
        }
    }

    /// Returns `true` if no frame and no fault holds back a frame that arrives now. Before the handshake, both
    /// directions must be free of faults.
    pub(super) fn is_clear(&mut self, direction: Direction, now_ns: u64) -> bool {
        self.path(direction).is_clear(now_ns)
            && (self.established || self.request.link.is_quiet() && self.reply.link.is_quiet())
    }

    /// Returns `true` if the connection is open or can be opened now.
    pub(super) fn can_establish(&mut self) -> bool {
        if !self.established {
            let (request, reply) = (&mut self.request.link, &mut self.reply.link);
            self.established = !is_handshake_blocked(request, reply);
        }
        self.established
    }

    /// Fails all requests that wait for a reply.
    pub(super) fn fail(self, endpoint: ClientEndpoint, error: RequestError) {
        for request in self.waiting {
            endpoint.complete(request, Err(error));
        }
    }
}
