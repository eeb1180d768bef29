use std::time::Duration;

use super::finding::{Mistake, Problem};
use super::outcome::Stop;
use crate::adapter::message::{Answer, WorkerMessage};

/// A request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    /// The `op` of the request.
    pub op: &'static str,
    /// The id of both.
    pub id: u64,
    /// The lease that was asked for, milliseconds; 0 if none was.
    pub ttl_ms: u64,
    /// The answer.
    pub answer: Answer,
    /// Just before the request was sent.
    pub sent: Duration,
    /// When the answer was read.
    pub heard: Duration,
}

impl Exchange {
    pub(super) fn line(&self) -> String {
        let reply = WorkerMessage::reply(self.id, self.answer.clone());
        serde_json::to_string(&reply).unwrap_or_default()
    }

    /// The token, if the answer is a grant.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.answer {
            Answer::Granted { token, .. } => Some(token),
            _ => None,
        }
    }

    /// The token, of an `acquire` of a lock that is free. An error: it was not granted.
    pub(super) fn granted(&self) -> Result<&str, Stop> {
        let what = match &self.answer {
            Answer::Granted { token, .. } => return Ok(token),
            Answer::Error { message, .. } => format!("`error`: {message}"),
            other => format!("`{}`", other.reply()),
        };
        let problem = self.shows(format!("it answered `acquire` of a free lock with {what}"));
        Err(problem.of(Mistake::NotGranted(self.answer.reply())).into())
    }

    /// What this answer shows to be wrong.
    pub(super) fn shows(&self, what: impl Into<String>) -> Problem {
        Problem::new(what).with_line(&self.line())
    }

    /// An error, always: this answer shows that something is wrong.
    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Stop> {
        Err(self.shows(what).into())
    }
}

#[cfg(test)]
impl Exchange {
    /// A request that was sent at 100 ms and answered at 110 ms.
    pub(super) fn answered(answer: Answer) -> Exchange {
        Exchange {
            op: "acquire",
            id: 7,
            ttl_ms: 1_000,
            answer,
            sent: Duration::from_millis(100),
            heard: Duration::from_millis(110),
        }
    }

    /// The same, granted.
    pub(super) fn grant(valid_ms: Option<u64>, elapsed_ms: Option<u64>) -> Exchange {
        Exchange::answered(Answer::Granted {
            token: "t".into(),
            fence: None,
            valid_ms,
            elapsed_ms,
        })
    }
}
