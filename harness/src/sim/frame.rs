//! The frames that travel on the simulated network.

use picklock_scenarios::{Direction, Phase, ServerError};

use super::args::Args;
use crate::model::Reply;
use crate::proxy::LockEffect;

/// The properties of a command that links and faults use.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandTag {
    /// Index of the command's name in [`NetworkState::names`].
    pub(super) name: usize,
    /// Index of the lock key that the command names, in the run's list of keys.
    pub(super) key: Option<u32>,
    /// Number of the attempt in which the worker sent the command.
    pub(super) op: u64,
    pub(super) phase: Phase,
    /// Whether the command took a lock. Known only if the interceptor waited for the command's effect.
    pub(super) lock_effect: LockEffect,
    /// Time at which the command was sent, on the simulation's clock, if the command did not leave at once.
    pub(super) sent_ns: Option<u64>,
    /// The error with which a fault replaces the reply. The node does not execute the command.
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
            lock_effect: LockEffect::None,
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
    /// The tag of the command that the frame contains or answers.
    pub(super) tag: CommandTag,
    pub(super) payload: Payload,
}

pub(super) enum Payload {
    Command(Args),
    Reply(Reply),
    /// A message published on a channel to which the client has subscribed. No request belongs to it.
    Publication(Reply),
    /// The client has closed the connection.
    Close,
}

impl Frame {
    /// Returns `true` for a command, a reply or a publication. Only these frames reach the interceptor and can be
    /// affected by faults.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.payload, Payload::Close)
    }

    /// Applies a fault that answers the frame with an error: the node refuses the command, or the reply is replaced.
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
