//! A request of `picklock adapter check` with its reply, and the problems that a check reports about it.

use std::time::Duration;

use super::finding::{Mistake, Problem};
use super::outcome::Stop;
use crate::adapter::message::{Answer, WorkerMessage};

/// A request and its reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    /// The `op` of the request.
    pub op: &'static str,
    /// The id of the request and the reply.
    pub id: u64,
    /// The requested lease in milliseconds, or 0 if none was requested.
    pub ttl_ms: u64,
    /// The reply.
    pub answer: Answer,
    /// Time just before the request was sent.
    pub sent: Duration,
    /// Time when the reply was read.
    pub received: Duration,
}

impl Exchange {
    pub(super) fn line(&self) -> String {
        let reply = WorkerMessage::reply(self.id, self.answer.clone());
        serde_json::to_string(&reply).unwrap_or_default()
    }

    /// Returns the token, if the reply is a grant.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.answer {
            Answer::Granted { token, .. } => Some(token),
            _ => None,
        }
    }

    /// Returns the token of an `acquire` of a free lock.
    ///
    /// # Errors
    /// Returns an error if the lock was not granted.
    pub(super) fn granted(&self) -> Result<&str, Stop> {
        let reply = match &self.answer {
            Answer::Granted { token, .. } => return Ok(token),
            Answer::Error { message, .. } => format!("`error`: {message}"),
            other => format!("`{}`", other.reply()),
        };
        let problem = self.problem(format!("it answered `acquire` of a free lock with {reply}"));
        Err(problem
            .with_mistake(Mistake::NotGranted(self.answer.reply()))
            .into())
    }

    /// Creates the problem that this reply shows.
    pub(super) fn problem(&self, what: impl Into<String>) -> Problem {
        Problem::new(what).with_line(&self.line())
    }

    /// Returns the problem that this reply shows as an error.
    pub(super) fn fail<T>(&self, what: impl Into<String>) -> Result<T, Stop> {
        Err(self.problem(what).into())
    }
}

#[cfg(test)]
impl Exchange {
    /// Creates an exchange that was sent at 100 ms and answered at 110 ms.
    pub(super) fn answered(answer: Answer) -> Exchange {
        Exchange {
            op: "acquire",
            id: 7,
            ttl_ms: 1_000,
            answer,
            sent: Duration::from_millis(100),
            received: Duration::from_millis(110),
        }
    }

    /// Creates an exchange with these times whose request was granted.
    pub(super) fn grant(valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> Exchange {
        Exchange::answered(Answer::Granted {
            token: "t".into(),
            fence: None,
            valid_ms,
            elapsed_ms,
        })
    }
}
