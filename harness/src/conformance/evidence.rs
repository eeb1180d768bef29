//! What the script of a check has seen. Plain data: a judge needs nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use super::finding::Problem;
use super::script::{LockName, Who};
use crate::adapter::message::{Answer, Notification, WorkerMessage};

/// A request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
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
    /// The answer as a line.
    pub fn line(&self) -> String {
        let reply = WorkerMessage::Reply {
            id: self.id,
            answer: self.answer.clone(),
        };
        serde_json::to_string(&reply).unwrap_or_default()
    }

    /// The token, if the answer is a grant.
    pub fn token(&self) -> Option<&str> {
        match &self.answer {
            Answer::Granted { token, .. } => Some(token),
            _ => None,
        }
    }
}

/// The keys of the server at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysSeen {
    /// The rest of each key's life in milliseconds; -1: it does not expire.
    pub ttl_ms: BTreeMap<String, i64>,
    /// When the look was over.
    pub at: Duration,
    /// How many connections the server had accepted by then.
    pub connections: u64,
}

/// How a process ended after its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSeen {
    /// In words; `None`: it went on, and was killed.
    pub how: Option<String>,
    /// How long was waited for it.
    pub patience: Duration,
    /// The processes that it left behind: name and number.
    pub left: Vec<String>,
}

/// What a script has seen.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The lease of the check.
    pub lease: Duration,
    /// The names of its two locks.
    pub locks: [String; 2],
    /// The server that the adapter was given.
    pub node: Option<SocketAddr>,
    /// Requests and answers, by label.
    pub exchanges: BTreeMap<&'static str, Exchange>,
    /// Looks at the keys, by label.
    pub keys: BTreeMap<&'static str, KeysSeen>,
    /// Looks at connections, by label; an error in words.
    pub peers: BTreeMap<&'static str, Result<BTreeSet<SocketAddr>, String>>,
    /// Ends, by label.
    pub ends: BTreeMap<&'static str, EndSeen>,
    /// The events of each process, in their order.
    pub events: Vec<(Who, Notification)>,
    /// A process that ended where it may: how, in words.
    pub gave_up: Option<String>,
}

impl Evidence {
    /// An answer.
    ///
    /// # Errors
    /// The script did not get as far.
    pub(super) fn exchange(&self, label: &'static str) -> Result<&Exchange, Problem> {
        let exchange = self.exchanges.get(label);
        exchange.ok_or_else(|| Problem::new(format!("the check did not get as far as `{label}`")))
    }

    /// A look at the keys.
    ///
    /// # Errors
    /// The script did not get as far.
    pub(super) fn keys(&self, label: &'static str) -> Result<&KeysSeen, Problem> {
        let keys = self.keys.get(label);
        keys.ok_or_else(|| Problem::new(format!("the check did not get as far as `{label}`")))
    }

    /// An `acquire` of a lock that is free.
    ///
    /// # Errors
    /// It was not granted.
    pub(super) fn granted(&self, label: &'static str) -> Result<&Exchange, Problem> {
        let exchange = self.exchange(label)?;
        let problem = |what: String| Err(Problem::new(what).with_line(&exchange.line()));
        match &exchange.answer {
            Answer::Granted { .. } => Ok(exchange),
            Answer::Error { message, .. } => problem(format!(
                "it answered `acquire` of a free lock with `error`: {message}"
            )),
            other => problem(format!(
                "it answered `acquire` of a free lock with `{}`",
                other.reply()
            )),
        }
    }

    /// The name of a lock.
    pub(super) fn lock(&self, lock: LockName) -> &str {
        match lock {
            LockName::First => &self.locks[0],
            LockName::Second => &self.locks[1],
        }
    }

    /// The keys that were written between two looks.
    ///
    /// # Errors
    /// The script did not get as far.
    pub(super) fn written(
        &self,
        before: &'static str,
        after: &'static str,
    ) -> Result<BTreeMap<&str, i64>, Problem> {
        let (before, after) = (self.keys(before)?, self.keys(after)?);
        let fresh = after.ttl_ms.iter();
        let fresh = fresh.filter(|(key, _)| !before.ttl_ms.contains_key(*key));
        Ok(fresh.map(|(key, ttl)| (key.as_str(), *ttl)).collect())
    }

    /// Of these keys, those of the lock: the one with its name, else those that contain it, else all.
    pub(super) fn of_lock<'a>(
        &self,
        lock: LockName,
        written: &BTreeMap<&'a str, i64>,
    ) -> BTreeMap<&'a str, i64> {
        let name = self.lock(lock);
        let chosen = |keep: &dyn Fn(&str) -> bool| -> BTreeMap<&'a str, i64> {
            let keys = written.iter().filter(|(key, _)| keep(key));
            keys.map(|(key, ttl)| (*key, *ttl)).collect()
        };
        let exact = chosen(&|key| key == name);
        if !exact.is_empty() {
            return exact;
        }
        let containing = chosen(&|key| key.contains(name));
        match containing.is_empty() {
            true => written.clone(),
            false => containing,
        }
    }
}

/// Names in backticks, for a sentence.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names = names.into_iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}
