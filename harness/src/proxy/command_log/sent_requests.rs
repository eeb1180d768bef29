//! The requests that were sent to servers, until a server has told that it has executed them.
//!
//! A server that tells what it executes names a client by its address, and knows nothing of workers and
//! attempts. So each connection introduces itself with an `ECHO` of its number, and what it has sent
//! is kept here: the server's next word about that connection is about its next request. Some
//! requests a server does not tell about (those that it refuses, and administrative ones), so those that
//! do not match, by name and arguments, are passed over.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Mutex;

use picklock_scenarios::Phase;

use crate::proxy::LinkId;
use crate::proxy::command_log::answered::Answered;
use crate::proxy::command_log::operation::Operation;
use crate::proxy::lock;
use crate::proxy::resp::command::{CommandName, Request, digest};

/// Requests of one connection that are kept: a server that tells nothing must not fill the memory.
const MOST: usize = 1 << 16;

/// The word that introduces a connection, before its number.
const INTRODUCTION: &str = "picklock-connection-";

/// A request that a server has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutedRequest {
    /// The link that it came on.
    pub(crate) link: LinkId,
    /// The attempt that the worker was busy with.
    pub(crate) op: u64,
    /// What the worker had been asked for.
    pub(crate) phase: Phase,
    /// When its reply came, if it has.
    pub(crate) replied_ns: Option<u64>,
    /// Its number among those of its connection, from 0; `None`: it is not known which it is.
    pub(crate) number: Option<u64>,
    /// How many connections had been closed when it was sent.
    pub(crate) closed_before: usize,
    /// When its worker sent it, if a fault held it back.
    pub(crate) held_since_ns: Option<u64>,
    /// When it went on to the server, if that is known.
    pub(crate) forwarded_at_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    command: CommandName,
    digest: u64,
    op: u64,
    phase: Phase,
    #[cfg(feature = "servers")]
    names_key: bool,
    replied_ns: Option<u64>,
    /// What the server made of it; `None`: it has not answered.
    answered: Option<Answered>,
    closed_before: usize,
    held_since_ns: Option<u64>,
    forwarded_at_ns: Option<u64>,
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
    closed: bool,
}

#[derive(Debug, Default)]
struct Connections {
    by_number: HashMap<u64, Connection>,
    /// Those that were closed, in that order.
    closed: Vec<u64>,
}

/// The requests of all connections.
#[derive(Debug, Default)]
pub struct SentRequests {
    connections: Mutex<Connections>,
    /// What tells the connections of this run from those of another at the same servers.
    run: String,
}

impl SentRequests {
    /// Of a run that shares its servers with others, which have other tokens.
    pub fn of_run(token: String) -> SentRequests {
        SentRequests {
            run: token,
            ..SentRequests::default()
        }
    }

    /// The word with which a connection introduces itself.
    pub fn introduction(&self, conn: u64) -> String {
        format!("{INTRODUCTION}{}{conn}", self.run)
    }

    /// The number of the connection that introduces itself with this word.
    pub(crate) fn introduced(&self, word: &[u8]) -> Option<u64> {
        let word = std::str::from_utf8(word).ok()?;
        let number = word.strip_prefix(INTRODUCTION)?.strip_prefix(&self.run)?;
        number.parse().ok()
    }

    /// A connection has been opened.
    pub(crate) fn opened(&self, conn: u64, link: LinkId) {
        let connection = Connection {
            link,
            sent: VecDeque::new(),
            claimed: 0,
            replied: 0,
            last: (0, Phase::Idle),
            closed: false,
        };
        lock(&self.connections).by_number.insert(conn, connection);
    }

    /// A connection has been closed towards its server: what is sent on others from now on is sent after
    /// that.
    pub(crate) fn closed(&self, conn: u64) {
        let Connections { by_number, closed } = &mut *lock(&self.connections);
        if let Some(connection) = by_number.get_mut(&conn)
            && !std::mem::replace(&mut connection.closed, true)
        {
            closed.push(conn);
        }
    }

    /// The connections with these numbers among those that were closed, in that order.
    pub(crate) fn closed_ones(&self, numbers: Range<usize>) -> Vec<u64> {
        let connections = lock(&self.connections);
        let closed = connections.closed.get(numbers);
        closed.map(<[u64]>::to_vec).unwrap_or_default()
    }

    /// A connection has been opened, if it is not known.
    pub(crate) fn opened_once(&self, conn: u64, link: LinkId) {
        if !lock(&self.connections).by_number.contains_key(&conn) {
            self.opened(conn, link);
        }
    }

    /// A request is about to be sent on. `held_since_ns`: when it came, if a fault held it back; `forwarded_at_ns`: now,
    /// or a moment before. Returns its number among those of its connection.
    pub(in crate::proxy) fn sent(
        &self,
        conn: u64,
        request: &Request,
        held_since_ns: Option<u64>,
        forwarded_at_ns: Option<u64>,
    ) -> u64 {
        let Connections { by_number, closed } = &mut *lock(&self.connections);
        let Some(connection) = by_number.get_mut(&conn) else {
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
            #[cfg(feature = "servers")]
            names_key: request.key.is_some(),
            replied_ns: None,
            answered: None,
            closed_before: closed.len(),
            held_since_ns,
            forwarded_at_ns,
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
        held_since_ns: Option<u64>,
    ) {
        let request = Request {
            command: CommandName::new(words.next().unwrap_or_default()),
            digest: digest(words),
            ..Request::none(Operation { op, phase })
        };
        self.sent(conn, &request, held_since_ns, None);
    }

    /// The reply to the connection's oldest unanswered request has come.
    pub(crate) fn replied(&self, conn: u64, at_ns: u64, answered: Answered) {
        let mut connections = lock(&self.connections);
        let Some(connection) = connections.by_number.get_mut(&conn) else {
            return;
        };
        let index = connection.replied.checked_sub(connection.claimed);
        connection.replied += 1;
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(sent) = index.and_then(|index| connection.sent.get_mut(index)) {
            sent.replied_ns = Some(at_ns);
            sent.answered = Some(answered);
        }
    }

    /// True if the node has carried out a command that names a lock's key, by its reply, and has not told
    /// about it. It tells about each in order, so one that still lives will do so.
    #[cfg(feature = "servers")]
    pub(crate) fn has_untold(&self, node: usize) -> bool {
        let connections = lock(&self.connections);
        let all = connections.by_number.values();
        let of_node = all.filter(|it| it.link.node == node);
        let mut sent = of_node.flat_map(|connection| &connection.sent);
        sent.any(|sent| sent.names_key && sent.answered == Some(Answered::Done))
    }

    /// The server says that it has executed this command of the connection: name and arguments.
    pub(crate) fn claim_words(&self, conn: u64, words: &[Vec<u8>]) -> Option<ExecutedRequest> {
        let (name, arguments) = words.split_first()?;
        let command = CommandName::new(name);
        let digest = digest(arguments.iter().map(Vec::as_slice));
        let mut connections = lock(&self.connections);
        let connection = connections.by_number.get_mut(&conn)?;
        let mut sent = connection.sent.iter();
        // Servers do not tell of what they refuse, and the same words may have been sent again.
        let at = sent.position(|sent| {
            (sent.command, sent.digest) == (command, digest)
                && sent.answered != Some(Answered::Refused)
        });
        // Another client may have its port by now.
        if at.is_none() && connection.closed {
            return None;
        }
        let number = at.map(|at| connection.claimed + at as u64);
        let sent = at.and_then(|at| {
            connection.claimed += at as u64 + 1;
            connection.sent.drain(..=at).next_back()
        });
        let (op, phase) = sent.map_or(connection.last, |sent| (sent.op, sent.phase));
        Some(ExecutedRequest {
            link: connection.link,
            op,
            phase,
            replied_ns: sent.and_then(|sent| sent.replied_ns),
            number,
            closed_before: sent.map_or(0, |sent| sent.closed_before),
            held_since_ns: sent.and_then(|sent| sent.held_since_ns),
            forwarded_at_ns: sent.and_then(|sent| sent.forwarded_at_ns),
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
        requests.claim_words(7, &[name.as_bytes().to_vec(), argument.to_vec()])
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
            assert_eq!(requests.sent(7, &request, None, None), number as u64);
        }
        for at_ns in [100, 200, 300] {
            requests.replied(7, at_ns, Answered::Done);
        }
        let set = claim(&requests, "set", b"two").unwrap();
        assert_eq!((set.link, set.op, set.replied_ns), (link, 2, Some(300)));
        assert_eq!(set.number, Some(2));
        requests.replied(7, 400, Answered::Done);
        let get = claim(&requests, "get", b"k").unwrap();
        assert_eq!((get.op, get.replied_ns), (3, Some(400)));
        assert_eq!(get.number, Some(3));
        // What was not sent belongs to the latest attempt.
        let other = claim(&requests, "DEL", b"k").unwrap();
        assert_eq!((other.op, other.replied_ns), (3, None));
        assert_eq!(other.number, None);
        assert_eq!(requests.claim_words(8, &[b"GET".to_vec()]), None);
    }

    #[test]
    fn a_command_that_was_carried_out_and_not_told_about_is_noticed() {
        let requests = SentRequests::default();
        requests.opened(7, LinkId { worker: 2, node: 1 });
        let named = |argument: &[u8]| Request {
            key: Some(0),
            ..request(b"SET", argument, 1)
        };
        requests.sent(7, &named(b"refused"), None, None);
        requests.replied(7, 100, Answered::Failed);
        requests.sent(7, &request(b"PING", b"", 1), None, None);
        requests.replied(7, 200, Answered::Done);
        requests.sent(7, &named(b"one"), None, None);
        assert!(!requests.has_untold(1), "nothing was carried out yet");
        requests.replied(7, 300, Answered::Done);
        assert!(requests.has_untold(1));
        assert!(!requests.has_untold(0), "that is another node");
        claim(&requests, "SET", b"one").unwrap();
        assert!(!requests.has_untold(1));
    }

    #[test]
    fn a_refused_request_is_not_taken_for_the_same_words_sent_again() {
        let requests = SentRequests::default();
        requests.opened(7, LinkId { worker: 2, node: 1 });
        for (op, answered) in [(1, Answered::Refused), (2, Answered::Done)] {
            requests.sent(7, &request(b"SET", b"token", op), None, None);
            requests.replied(7, op * 100, answered);
        }
        let told = claim(&requests, "SET", b"token").unwrap();
        assert_eq!(
            (told.op, told.replied_ns, told.number),
            (2, Some(200), Some(1))
        );
    }

    #[test]
    fn a_request_tells_which_connections_were_closed_before_it() {
        let requests = SentRequests::default();
        for conn in 7..10 {
            requests.opened(conn, LinkId { worker: 2, node: 1 });
        }
        requests.closed(8);
        requests.sent(7, &request(b"SET", b"one", 1), None, None);
        requests.closed(8);
        requests.closed(9);
        requests.closed(1000);
        requests.sent(7, &request(b"SET", b"two", 1), None, None);
        let before = |argument| claim(&requests, "SET", argument).unwrap().closed_before;
        assert_eq!((before(b"one"), before(b"two")), (1, 2));
        assert_eq!(before(b"never sent"), 0);
        assert_eq!(requests.closed_ones(0..1), [8]);
        assert_eq!(requests.closed_ones(1..2), [9]);
    }

    #[test]
    fn what_a_closed_connection_has_not_sent_is_not_its_own() {
        let requests = SentRequests::default();
        requests.opened(7, LinkId { worker: 2, node: 1 });
        requests.sent(7, &request(b"SET", b"one", 1), None, None);
        requests.closed(7);
        assert_eq!(claim(&requests, "UNLINK", b"k"), None);
        // The server may tell of it late.
        assert_eq!(claim(&requests, "SET", b"one").unwrap().op, 1);
    }

    #[test]
    fn an_introduction_is_recognised() {
        let (ours, other) = (SentRequests::of_run("1f-".into()), SentRequests::default());
        for one in [&ours, &other] {
            assert_eq!(one.introduced(one.introduction(12).as_bytes()), Some(12));
            assert_eq!(one.introduced(b"picklock-connection-x"), None);
            assert_eq!(one.introduced(b"hello"), None);
        }
        assert_eq!(ours.introduced(other.introduction(12).as_bytes()), None);
        assert_eq!(other.introduced(ours.introduction(12).as_bytes()), None);
    }
}
