//! Messages that are not yet written. The remaining lease is computed only when they are.

use std::time::Duration;

use picklock_impls::{Grant, LockError};

use super::message::{Answer, Notification, WorkerMessage};

/// A message whose times are still points in time on the worker's clock.
pub(super) enum UnsentMessage {
    Ready(WorkerMessage),
    /// A grant, in answer to the request `id`.
    Granted {
        id: u64,
        grant: Grant,
        read_at: Duration,
        valid_until: Option<Duration>,
    },
    /// A renewal of the grant whose acquire request was read at `read_at`.
    Extended {
        token: String,
        read_at: Option<Duration>,
        valid_until: Duration,
    },
}

impl UnsentMessage {
    /// The message as written at `now`.
    pub(super) fn at(self, now: Duration) -> WorkerMessage {
        match self {
            UnsentMessage::Ready(said) => said,
            UnsentMessage::Granted {
                id,
                grant,
                read_at,
                valid_until,
            } => WorkerMessage::Reply {
                id,
                answer: Answer::Granted {
                    token: grant.token,
                    fence: grant.fence,
                    valid_ms: valid_until.map(|until| millis(until.saturating_sub(now))),
                    elapsed_ms: Some(millis(now.saturating_sub(read_at))),
                },
            },
            UnsentMessage::Extended {
                token,
                read_at,
                valid_until,
            } => WorkerMessage::Event(Notification::Extended {
                token,
                valid_ms: millis(valid_until.saturating_sub(now)),
                elapsed_ms: read_at.map(|read_at| millis(now.saturating_sub(read_at))),
            }),
        }
    }
}

/// Rounded down.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// An answer without the id of its request.
pub(super) struct AnswerWithoutId(pub(super) Answer);

impl AnswerWithoutId {
    pub(super) fn to(self, id: u64) -> UnsentMessage {
        UnsentMessage::Ready(WorkerMessage::Reply { id, answer: self.0 })
    }
}

/// The request was not valid, so nothing was done.
pub(super) fn wrong(message: impl Into<String>) -> AnswerWithoutId {
    AnswerWithoutId(Answer::Error {
        message: message.into(),
        definite: true,
    })
}

pub(super) fn failed(error: &LockError) -> AnswerWithoutId {
    AnswerWithoutId(Answer::Error {
        message: error.to_string(),
        definite: error.is_definite(),
    })
}
