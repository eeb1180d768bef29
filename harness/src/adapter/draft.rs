//! Answers before they are written: their times become numbers at the last moment.

use std::time::Duration;

use picklock_impls::{Grant, LockError};

use super::message::{Answer, Notification, Said};

/// A message whose times are still counted on the worker's clock.
pub(super) enum Draft {
    Ready(Said),
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

impl Draft {
    /// The message, if it is written at `now`.
    pub(super) fn at(self, now: Duration) -> Said {
        match self {
            Draft::Ready(said) => said,
            Draft::Granted {
                id,
                grant,
                read_at,
                valid_until,
            } => Said::Reply {
                id,
                answer: Answer::Granted {
                    token: grant.token,
                    fence: grant.fence,
                    valid_ms: valid_until.map(|until| millis(until.saturating_sub(now))),
                    elapsed_ms: Some(millis(now.saturating_sub(read_at))),
                },
            },
            Draft::Extended {
                token,
                read_at,
                valid_until,
            } => Said::Event(Notification::Extended {
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

/// An answer that only lacks its number.
pub(super) struct Numberless(pub(super) Answer);

impl Numberless {
    pub(super) fn to(self, id: u64) -> Draft {
        Draft::Ready(Said::Reply { id, answer: self.0 })
    }
}

/// The request was wrong, so nothing was done.
pub(super) fn wrong(message: impl Into<String>) -> Numberless {
    Numberless(Answer::Error {
        message: message.into(),
        definite: true,
    })
}

pub(super) fn failed(error: &LockError) -> Numberless {
    Numberless(Answer::Error {
        message: error.to_string(),
        definite: error.is_definite(),
    })
}
