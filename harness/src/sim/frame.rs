//! The frames that travel on the simulated network.

use picklock_scenarios::{Direction, Phase, ServerError};

use super::args::Args;
use crate::model::Reply;
use crate::proxy::Acquired;

/// The properties of a command that links and faults use.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandTag {
    /// Index of its name in the network's list of names.
    pub(super) name: usize,
    /// Index of the lock key that it names in the run's list of keys.
    pub(super) key: Option<u32>,
    /// The attempt that its worker was working on.
    pub(super) op: u64,
    pub(super) phase: Phase,
    /// Whether the command took a lock. Set only if the interceptor waited for the effect.
    pub(super) acquired: Acquired,
    /// Time at which it was sent, on the simulation's clock, if it did not leave at once.
    pub(super) sent_ns: Option<u64>,
    /// The error with which a fault answers it. Its node executes another command instead.
    pub(super) answer: Option<ServerError>,
}

impl CommandTag {
    /// Creates the tag of a frame that belongs to no command.
    pub(super) fn none() -> Self {
        CommandTag {
            name: 0,
            key: None,
            op: 0,
            phase: Phase::Idle,
            acquired: Acquired::Nothing,
            sent_ns: None,
            answer: None,
        }
    }
}

/// Returns the reply of a server in this error state.
pub(super) fn error_reply(error: ServerError) -> Reply {
    Reply::Error(error.text().into())
}

pub(super) struct Frame {
    pub(super) conn: u64,
    /// The tag of the command that it is, or that it answers.
    pub(super) tag: CommandTag,
    pub(super) payload: Payload,
}

pub(super) enum Payload {
    Command(Args),
    Reply(Reply),
    /// A message published on a channel to which the client has subscribed, without a request.
    Publication(Reply),
    /// The client has closed the connection.
    Close,
}

impl Frame {
    /// Returns `true` for a command, a reply or a publication. Only these reach the interceptor and
    /// can be affected by faults.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.payload, Payload::Close)
    }

    /// Returns the frame as changed by a fault that answers it: its node refuses the command, or the reply is replaced.
    pub(super) fn answered(mut self, answer: Option<ServerError>) -> Frame {
        match (answer, &self.payload) {
            (Some(error), Payload::Reply(_)) => {
                self.payload = Payload::Reply(error_reply(error));
            }
            (Some(_), Payload::Command(_)) => self.tag.answer = answer,
            _ => {}
        }
        self
    }

    pub(super) fn direction(&self) -> Direction {
        match self.payload {
            Payload::Command(_) | Payload::Close => Direction::Request,
            Payload::Reply(_) | Payload::Publication(_) => Direction::Reply,
        }
    }
}
