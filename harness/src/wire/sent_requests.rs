//! The requests that were sent to servers, until their account has claimed them.
//!
//! A server that tells what it executes names a client by its address, and knows nothing of workers and
//! attempts. So each connection introduces itself with an `ECHO` of its number, and what it has sent
//! is kept here: the server's next word about that connection is about its next request. Some
//! requests a server does not tell about (those that it refuses, and administrative ones), so those that
//! do not match, by name and arguments, are passed over.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use picklock_scenarios::Phase;

use super::LinkId;
use super::command::{CommandName, Request, digest};
use super::operation::Operation;

/// Requests of one connection that are kept: a server that tells nothing must not fill the memory.
const MOST: usize = 1 << 16;

/// The word that introduces a connection, before its number.
const INTRODUCTION: &str = "picklock-connection-";

/// A request that a server has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutedRequest {
    /// The link that it came on.
    pub link: LinkId,
    /// The attempt that the worker was busy with.
    pub op: u64,
    /// What the worker had been asked for.
    pub phase: Phase,
    /// When its reply came, if it has.
    pub replied_ns: Option<u64>,
    /// Its number among those of its connection, from 0; `None`: it is not known which it is.
    pub number: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    command: CommandName,
    digest: u64,
    op: u64,
    phase: Phase,
    names_key: bool,
    replied_ns: Option<u64>,
    /// It was not refused, so the server has executed it.
    succeeded: bool,
}

#[derive(Debug)]
struct Connection {
    link: LinkId,
    /// Not claimed yet, oldest first.
    sent: VecDeque<Sent>,
    /// How many requests were claimed or dropped.
    claimed: u64,
    /// How many were answered.
    replied: u64,
    last: (u64, Phase),
}

/// The requests of all connections.
#[derive(Debug, Default)]
pub(crate) struct SentRequests {
    connections: Mutex<HashMap<u64, Connection>>,
}

/// The word with which a connection introduces itself.
pub(crate) fn introduction(conn: u64) -> String {
    format!("{INTRODUCTION}{conn}")
}

/// The number of the connection that introduces itself with this word.
pub(crate) fn introduced(word: &[u8]) -> Option<u64> {
    let word = std::str::from_utf8(word).ok()?;
    word.strip_prefix(INTRODUCTION)?.parse().ok()
}

impl SentRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        // Every method leaves it complete, so a panic elsewhere does not spoil it.
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection has been opened.
    pub(crate) fn opened(&self, conn: u64, link: LinkId) {
        let connection = Connection {
            link,
            sent: VecDeque::new(),
            claimed: 0,
            replied: 0,
            last: (0, Phase::Idle),
        };
        self.lock().insert(conn, connection);
    }

    /// A connection has been opened, if it is not known.
    pub(crate) fn opened_once(&self, conn: u64, link: LinkId) {
        if !self.lock().contains_key(&conn) {
            self.opened(conn, link);
        }
    }

    /// A request is about to be sent. Returns its number among those of its connection.
    pub(super) fn sent(&self, conn: u64, request: &Request) -> u64 {
        let mut connections = self.lock();
        let Some(connection) = connections.get_mut(&conn) else {
            return 0;
        };
        let number = connection.claimed + connection.sent.len() as u64;
        let (op, phase) = (request.operation.op, request.operation.phase);
        connection.last = (op, phase);
        connection.sent.push_back(Sent {
            command: request.command,
            digest: request.digest,
            op,
            phase,
            names_key: request.key.is_some(),
            replied_ns: None,
            succeeded: false,
        });
        if connection.sent.len() > MOST {
            connection.sent.pop_front();
            connection.claimed += 1;
        }
        number
    }

    /// A request of these words is about to be sent.
    pub(crate) fn sent_words<'a>(
        &self,
        conn: u64,
        mut words: impl Iterator<Item = &'a [u8]>,
        (op, phase): (u64, Phase),
    ) {
        let request = Request {
            command: CommandName::new(words.next().unwrap_or_default()),
            digest: digest(words),
            ..Request::none(Operation { op, phase })
        };
        self.sent(conn, &request);
    }

    /// The reply to the connection's oldest unanswered request has come; `is_error`: a refusal.
    pub(super) fn replied(&self, conn: u64, at_ns: u64, is_error: bool) {
        let mut connections = self.lock();
        let Some(connection) = connections.get_mut(&conn) else {
            return;
        };
        let index = connection.replied.checked_sub(connection.claimed);
        connection.replied += 1;
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(sent) = index.and_then(|index| connection.sent.get_mut(index)) {
            sent.replied_ns = Some(at_ns);
            sent.succeeded = !is_error;
        }
    }

    /// True if the node has carried out a command that names a lock's key, by its reply, and has not told
    /// about it. It tells about each in order, so one that still lives will do so.
    pub(crate) fn has_untold(&self, node: usize) -> bool {
        let connections = self.lock();
        let of_node = connections.values().filter(|it| it.link.node == node);
        let mut sent = of_node.flat_map(|connection| &connection.sent);
        sent.any(|sent| sent.names_key && sent.succeeded)
    }

    /// The server says that it has executed this command of the connection: name and arguments.
    pub(crate) fn claim_words(&self, conn: u64, words: &[Vec<u8>]) -> Option<ExecutedRequest> {
        let (name, arguments) = words.split_first()?;
        let digest = digest(arguments.iter().map(Vec::as_slice));
        self.claim(conn, CommandName::new(name), digest)
    }

    /// The server says that it has executed this command of the connection, with arguments of this
    /// digest.
    fn claim(&self, conn: u64, command: CommandName, digest: u64) -> Option<ExecutedRequest> {
        let mut connections = self.lock();
        let connection = connections.get_mut(&conn)?;
        let mut sent = connection.sent.iter();
        let at = sent.position(|sent| (sent.command, sent.digest) == (command, digest));
        let number = at.map(|at| connection.claimed + at as u64);
        let sent = match at {
            Some(at) => {
                connection.claimed += at as u64 + 1;
                connection.sent.drain(..=at).next_back()
            }
            None => None,
        };
        let (op, phase) = sent.map_or(connection.last, |sent| (sent.op, sent.phase));
        Some(ExecutedRequest {
            link: connection.link,
            op,
            phase,
            replied_ns: sent.and_then(|sent| sent.replied_ns),
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: &[u8], argument: &[u8], op: u64) -> Request {
        let phase = Phase::Acquire;
        Request {
            command: CommandName::new(command),
            digest: digest([argument].into_iter()),
            ..Request::none(Operation { op, phase })
        }
    }

    fn claim(requests: &SentRequests, name: &str, argument: &[u8]) -> Option<ExecutedRequest> {
        let name = CommandName::new(name.as_bytes());
        requests.claim(7, name, digest([argument].into_iter()))
    }

    #[test]
    fn requests_that_the_server_does_not_tell_about_are_passed_over() {
        let requests = SentRequests::default();
        let link = LinkId { worker: 2, node: 1 };
        requests.opened(7, link);
        // The first SET was refused: there was no memory.
        let sent: [(&str, &[u8]); 4] = [
            ("CLIENT", b"x"),
            ("SET", b"one"),
            ("SET", b"two"),
            ("GET", b"k"),
        ];
        for (number, (name, argument)) in sent.into_iter().enumerate() {
            let request = request(name.as_bytes(), argument, number as u64);
            assert_eq!(requests.sent(7, &request), number as u64);
        }
        for at_ns in [100, 200, 300] {
            requests.replied(7, at_ns, false);
        }
        let set = claim(&requests, "set", b"two").unwrap();
        assert_eq!((set.link, set.op, set.replied_ns), (link, 2, Some(300)));
        assert_eq!(set.number, Some(2));
        requests.replied(7, 400, false);
        let get = claim(&requests, "get", b"k").unwrap();
        assert_eq!((get.op, get.replied_ns), (3, Some(400)));
        assert_eq!(get.number, Some(3));
        // What was not sent belongs to the latest attempt.
        let other = claim(&requests, "DEL", b"k").unwrap();
        assert_eq!((other.op, other.replied_ns), (3, None));
        assert_eq!(other.number, None);
        assert_eq!(requests.claim(8, CommandName::new(b"GET"), 0), None);
    }

    #[test]
    fn a_command_that_was_carried_out_and_not_told_about_is_noticed() {
        let requests = SentRequests::default();
        requests.opened(7, LinkId { worker: 2, node: 1 });
        let named = |argument: &[u8]| Request {
            key: Some(0),
            ..request(b"SET", argument, 1)
        };
        requests.sent(7, &named(b"refused"));
        requests.replied(7, 100, true);
        requests.sent(7, &request(b"PING", b"", 1));
        requests.replied(7, 200, false);
        requests.sent(7, &named(b"one"));
        assert!(!requests.has_untold(1), "nothing was carried out yet");
        requests.replied(7, 300, false);
        assert!(requests.has_untold(1));
        assert!(!requests.has_untold(0), "that is another node");
        claim(&requests, "SET", b"one").unwrap();
        assert!(!requests.has_untold(1));
    }

    #[test]
    fn an_introduction_is_recognised() {
        assert_eq!(introduced(introduction(12).as_bytes()), Some(12));
        assert_eq!(introduced(b"picklock-connection-x"), None);
        assert_eq!(introduced(b"hello"), None);
    }
}
