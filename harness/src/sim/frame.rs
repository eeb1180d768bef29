//! The frames that travel on the simulated network.

use picklock_scenarios::{Direction, Phase, ServerError};

use super::args::Args;
use crate::model::Reply;
use crate::proxy::Acquired;

/// What the links know about a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandTag {
    /// Its name, by its position in the network's list of names.
    pub(super) name: usize,
    /// The lock's key that it names, by its position in the run's list of keys.
    pub(super) key: Option<u32>,
    /// The attempt that its worker was busy with.
    pub(super) op: u64,
    pub(super) phase: Phase,
    /// Whether it took a lock, of a command that was executed while somebody wanted to know.
    pub(super) acquired: Acquired,
    /// When it was sent, on the simulation's clock, if it did not leave at once.
    pub(super) sent_ns: Option<u64>,
    /// A fault answers it with this error, and its node gets something else.
    pub(super) answer: Option<ServerError>,
}

impl CommandTag {
    /// The tag of a frame that belongs to no command.
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

/// The reply of a server in that state.
pub(super) fn error_reply(error: ServerError) -> Reply {
    Reply::Error(error.text().into())
}

pub(super) struct Frame {
    pub(super) conn: u64,
    /// Of the command that it is, or that it answers.
    pub(super) tag: CommandTag,
    pub(super) payload: Payload,
}

pub(super) enum Payload {
    Command(Args),
    Reply(Reply),
    /// What was published on a channel to which the client has subscribed: no request asked for it.
    Publication(Reply),
    /// The client has closed the connection.
    Close,
}

impl Frame {
    /// True for a command, a reply or a publication: what an interceptor sees, and what a fault can strike.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.payload, Payload::Close)
    }

    /// The frame when a fault answers it: its node refuses the command, or the reply is replaced.
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
