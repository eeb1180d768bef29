//! The requests that were sent to servers, kept until a server reports their execution.
//!
//! A server's report identifies a client by its address, and contains neither workers nor attempts. So each connection
//! introduces itself with an `ECHO` of its number, and its requests are kept in order: each line of the report about
//! that connection belongs to the next request. Servers report neither refused requests nor administrative requests, so
//! requests whose name and arguments do not match the line are skipped.
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Mutex;

use picklock_scenarios::Phase;

use crate::proxy::LinkId;
use crate::proxy::command_log::answered::Answered;
use crate::proxy::lock;
use crate::proxy::operation::Operation;
use crate::proxy::resp::command::{CommandName, Request, digest};

/// Maximum number of requests that are kept per connection, so that memory is bounded if a server does not report.
const MAX_REQUESTS: usize = 1 << 16;

/// Prefix of the word that introduces a connection.
const INTRODUCTION: &str = "picklock-connection-";

/// A request that a server has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutedRequest {
    /// The link on which the request was sent.
    pub(crate) link: LinkId,
    /// The attempt in progress when the request was sent.
    pub(crate) op: u64,
    /// The phase of that attempt.
    pub(crate) phase: Phase,
    /// When the reply arrived, or `None` if it has not arrived.
    pub(crate) replied_ns: Option<u64>,
    /// The request's number among the requests of its connection, from 0, or `None` if the reported command does not
    /// match a request that was sent.
    pub(crate) number: Option<u64>,
    /// Number of connections that had been closed when the request was sent.
    pub(crate) closed_before: usize,
    /// When the worker sent the request, or `None` if no fault held it back.
    pub(crate) held_since_ns: Option<u64>,
    /// When the request was forwarded to the server, or `None` if that is unknown.
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
    /// The outcome of the request at the server, or `None` if the server has not replied.
    answered: Option<Answered>,
    closed_before: usize,
    held_since_ns: Option<u64>,
    forwarded_at_ns: Option<u64>,
}

#[derive(Debug)]
struct Connection {
    link: LinkId,
    /// Requests that have not been matched with a report yet, oldest first.
    sent: VecDeque<Sent>,
    /// Number of requests that were matched or discarded.
    removed: u64,
    /// Number of requests that were answered.
    replied: u64,
    last: (u64, Phase),
    closed: bool,
    /// Unanswered requests that name a lock's key and that are missing from the server's report, although it has
    /// reported a later request.
    passed_over: Vec<u64>,
    /// Whether the server has answered such a request. Its report is then incomplete.
    unreported: bool,
}

impl Connection {
    /// Records that a request is missing from the server's report, although the server has reported a later request.
    #[cfg(feature = "servers")]
    fn pass_over(&mut self, number: u64, sent: &Sent) {
        match sent.answered {
            Some(Answered::Done) if sent.names_key => self.unreported = true,
            None if sent.names_key => self.passed_over.push(number),
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct Connections {
    by_number: HashMap<u64, Connection>,
    /// The closed connections, in the order in which they were closed.
    closed: Vec<u64>,
}

/// The sent requests of all connections.
#[derive(Debug, Default)]
pub struct SentRequests {
    connections: Mutex<Connections>,
    /// Token that distinguishes this run's connections from those of other runs on the same servers.
    token: String,
}

impl SentRequests {
    /// Creates the table for a run that may share its servers with other runs, which have other tokens.
    pub fn with_token(token: String) -> SentRequests {
        SentRequests {
            token,
            ..SentRequests::default()
        }
    }

    /// Returns the word with which a connection introduces itself.
    pub fn introduction(&self, conn: u64) -> String {
        format!("{INTRODUCTION}{}{conn}", self.token)
    }

    /// Returns the number of the connection that introduces itself with `word`, or `None` if `word` is not such an
    /// introduction.
    pub(crate) fn parse_introduction(&self, word: &[u8]) -> Option<u64> {
        let word = std::str::from_utf8(word).ok()?;
        let number = word.strip_prefix(INTRODUCTION)?.strip_prefix(&self.token)?;
        number.parse().ok()
    }

    /// Adds a connection that was opened.
    pub(crate) fn add_connection(&self, conn: u64, link: LinkId) {
        let connection = Connection {
            link,
            sent: VecDeque::new(),
            removed: 0,
            replied: 0,
            last: (0, Phase::Idle),
            closed: false,
            passed_over: Vec::new(),
            unreported: false,
        };
        lock(&self.connections).by_number.insert(conn, connection);
    }

    /// Records that a connection was closed towards its server. Requests on other connections that are recorded from
    /// now on were sent after that.
    pub(crate) fn record_close(&self, conn: u64) {
        let Connections { by_number, closed } = &mut *lock(&self.connections);
        if let Some(connection) = by_number.get_mut(&conn)
            && !std::mem::replace(&mut connection.closed, true)
        {
            closed.push(conn);
        }
    }

    /// Returns the closed connections with these positions in the order of closing.
    pub(crate) fn closed_connections(&self, positions: Range<usize>) -> Vec<u64> {
        let connections = lock(&self.connections);
        let closed = connections.closed.get(positions);
        closed.map(<[u64]>::to_vec).unwrap_or_default()
    }

    /// Adds a connection that was opened, unless it is known.
    pub(crate) fn add_connection_once(&self, conn: u64, link: LinkId) {
        if !lock(&self.connections).by_number.contains_key(&conn) {
            self.add_connection(conn, link);
        }
    }

    /// Records a request that is about to be forwarded at `forwarded_at_ns`, or slightly later. If a fault held it
    /// back, `held_since_ns` is when it arrived. Returns its number among the requests of its connection.
    pub(in crate::proxy) fn record_request(
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
        let number = connection.removed + connection.sent.len() as u64;
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
        if connection.sent.len() > MAX_REQUESTS {
            connection.sent.pop_front();
            connection.removed += 1;
        }
        number
    }

    /// Records a request that consists of `words`.
    pub(crate) fn record_words<'a>(
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
        self.record_request(conn, &request, held_since_ns, None);
    }

    /// Records the reply to the connection's oldest unanswered request.
    pub(crate) fn record_reply(&self, conn: u64, at_ns: u64, answered: Answered) {
        let mut connections = lock(&self.connections);
        let Some(connection) = connections.by_number.get_mut(&conn) else {
            return;
        };
        let number = connection.replied;
        let index = number
            .checked_sub(connection.removed)
            .and_then(|index| usize::try_from(index).ok());
        connection.replied += 1;
        match index.map(|index| connection.sent.get_mut(index)) {
            Some(Some(sent)) => {
                sent.replied_ns = Some(at_ns);
                sent.answered = Some(answered);
            }
            Some(None) => {}
            None => {
                let passed_over = connection.passed_over.iter();
                let is_passed_over = passed_over.clone().any(|other| *other == number);
                connection.passed_over.retain(|other| *other > number);
                connection.unreported |= is_passed_over && answered == Answered::Done;
            }
        }
    }

    /// Returns `true` if the node, according to a reply before `before_ns`, has executed a command that names a lock's
    /// key but has not reported it. A running node may still report recent commands. A server reports commands in
    /// order, so a command is certainly unreported if a later command was reported.
    #[cfg(feature = "servers")]
    pub(crate) fn has_unreported(&self, node: usize, before_ns: u64) -> bool {
        let connections = lock(&self.connections);
        connections
            .by_number
            .values()
            .filter(|connection| connection.link.node == node)
            .any(|connection| {
                let is_overdue = |sent: &Sent| {
                    let replied = sent.replied_ns.is_some_and(|at_ns| at_ns < before_ns);
                    replied && sent.names_key && sent.answered == Some(Answered::Done)
                };
                connection.unreported || connection.sent.iter().any(is_overdue)
            })
    }

    /// Removes and returns the request that matches a command which the server reports as executed on this
    /// connection. `words` are the name and the arguments.
    pub(crate) fn take_executed(&self, conn: u64, words: &[Vec<u8>]) -> Option<ExecutedRequest> {
        let (name, arguments) = words.split_first()?;
        let command = CommandName::new(name);
        let digest = digest(arguments.iter().map(Vec::as_slice));
        let mut connections = lock(&self.connections);
        let connection = connections.by_number.get_mut(&conn)?;
        let mut sent = connection.sent.iter();
        // Prefer a request that was not refused, because servers do not report refused requests, and the same words may
        // have been sent again.
        let at = sent.position(|sent| {
            (sent.command, sent.digest) == (command, digest)
                && sent.answered != Some(Answered::Refused)
        });
        // The command may belong to another client that uses the same port by now.
        if at.is_none() && connection.closed {
            return None;
        }
        let number = at.map(|at| connection.removed + at as u64);
        let sent = at.and_then(|at| {
            let first = connection.removed;
            connection.removed += at as u64 + 1;
            let mut matched: Vec<Sent> = connection.sent.drain(..=at).collect();
            let sent = matched.pop();
            #[cfg(feature = "servers")]
            for (number, passed_over) in (first..).zip(&matched) {
                connection.pass_over(number, passed_over);
            }
            sent
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

    fn take(requests: &SentRequests, name: &str, argument: &[u8]) -> Option<ExecutedRequest> {
        requests.take_executed(7, &[name.as_bytes().to_vec(), argument.to_vec()])
    }

    #[test]
    fn unreported_requests_are_skipped() {
        let requests = SentRequests::default();
        let link = LinkId { worker: 2, node: 1 };
        requests.add_connection(7, link);
        // The first `SET` was refused because the server was out of memory.
        let sent: [(&str, &[u8]); 4] = [
            ("CLIENT", b"x"),
            ("SET", b"one"),
            ("SET", b"two"),
            ("GET", b"k"),
        ];
        for (number, (name, argument)) in sent.into_iter().enumerate() {
            let request = request(name.as_bytes(), argument, number as u64);
            assert_eq!(
                requests.record_request(7, &request, None, None),
                number as u64
            );
        }
        for at_ns in [100, 200, 300] {
            requests.record_reply(7, at_ns, Answered::Done);
        }
        let set = take(&requests, "set", b"two").unwrap();
        assert_eq!((set.link, set.op, set.replied_ns), (link, 2, Some(300)));
        assert_eq!(set.number, Some(2));
        requests.record_reply(7, 400, Answered::Done);
        let get = take(&requests, "get", b"k").unwrap();
        assert_eq!((get.op, get.replied_ns), (3, Some(400)));
        assert_eq!(get.number, Some(3));
        // A command that was not sent is attributed to the latest attempt.
        let other = take(&requests, "DEL", b"k").unwrap();
        assert_eq!((other.op, other.replied_ns), (3, None));
        assert_eq!(other.number, None);
        assert_eq!(requests.take_executed(8, &[b"GET".to_vec()]), None);
    }

    #[test]
    fn executed_and_unreported_command_is_noticed() {
        let requests = SentRequests::default();
        requests.add_connection(7, LinkId { worker: 2, node: 1 });
        let named = |argument: &[u8]| Request {
            key: Some(0),
            ..request(b"SET", argument, 1)
        };
        requests.record_request(7, &named(b"refused"), None, None);
        requests.record_reply(7, 100, Answered::Failed);
        requests.record_request(7, &request(b"PING", b"", 1), None, None);
        requests.record_reply(7, 200, Answered::Done);
        requests.record_request(7, &named(b"one"), None, None);
        let has_unreported = |node| requests.has_unreported(node, u64::MAX);
        assert!(!has_unreported(1), "nothing was executed yet");
        requests.record_reply(7, 300, Answered::Done);
        assert!(has_unreported(1));
        assert!(!has_unreported(0), "that is another node");
        assert!(
            !requests.has_unreported(1, 300),
            "it may still report a command that was answered only now"
        );
        take(&requests, "SET", b"one").unwrap();
        assert!(!has_unreported(1));
    }

    /// That a command is missing from the report is detected when the next command of its connection is reported.
    #[test]
    fn answered_command_that_the_report_lacks_is_noticed() {
        for reply_is_late in [false, true] {
            for (answered, is_missing) in [(Answered::Done, true), (Answered::Failed, false)] {
                let requests = SentRequests::default();
                requests.add_connection(7, LinkId { worker: 2, node: 1 });
                let named = |argument: &[u8]| Request {
                    key: Some(0),
                    ..request(b"SET", argument, 1)
                };
                requests.record_request(7, &named(b"lost"), None, None);
                requests.record_request(7, &named(b"two"), None, None);
                let reply = || requests.record_reply(7, 100, answered);
                if !reply_is_late {
                    reply();
                }
                take(&requests, "SET", b"two").unwrap();
                if reply_is_late {
                    assert!(!requests.has_unreported(1, u64::MAX));
                    reply();
                }
                requests.record_reply(7, 200, Answered::Done);
                assert_eq!(requests.has_unreported(1, u64::MAX), is_missing);
            }
        }
    }

    #[test]
    fn report_matches_repeated_request_rather_than_refused_one() {
        let requests = SentRequests::default();
        requests.add_connection(7, LinkId { worker: 2, node: 1 });
        for (op, answered) in [(1, Answered::Refused), (2, Answered::Done)] {
            requests.record_request(7, &request(b"SET", b"token", op), None, None);
            requests.record_reply(7, op * 100, answered);
        }
        let executed = take(&requests, "SET", b"token").unwrap();
        assert_eq!(
            (executed.op, executed.replied_ns, executed.number),
            (2, Some(200), Some(1))
        );
    }

    #[test]
    fn request_counts_connections_closed_before_it() {
        let requests = SentRequests::default();
        for conn in 7..10 {
            requests.add_connection(conn, LinkId { worker: 2, node: 1 });
        }
        requests.record_close(8);
        requests.record_request(7, &request(b"SET", b"one", 1), None, None);
        requests.record_close(8);
        requests.record_close(9);
        requests.record_close(1000);
        requests.record_request(7, &request(b"SET", b"two", 1), None, None);
        let before = |argument| take(&requests, "SET", argument).unwrap().closed_before;
        assert_eq!((before(b"one"), before(b"two")), (1, 2));
        assert_eq!(before(b"never sent"), 0);
        assert_eq!(requests.closed_connections(0..1), [8]);
        assert_eq!(requests.closed_connections(1..2), [9]);
    }

    #[test]
    fn unsent_command_on_closed_connection_matches_nothing() {
        let requests = SentRequests::default();
        requests.add_connection(7, LinkId { worker: 2, node: 1 });
        requests.record_request(7, &request(b"SET", b"one", 1), None, None);
        requests.record_close(7);
        assert_eq!(take(&requests, "UNLINK", b"k"), None);
        // The server may report a command late.
        assert_eq!(take(&requests, "SET", b"one").unwrap().op, 1);
    }

    #[test]
    fn introduction_is_parsed_only_with_its_own_token() {
        let (ours, other) = (
            SentRequests::with_token("1f-".into()),
            SentRequests::default(),
        );
        for one in [&ours, &other] {
            assert_eq!(
                one.parse_introduction(one.introduction(12).as_bytes()),
                Some(12)
            );
            assert_eq!(one.parse_introduction(b"picklock-connection-x"), None);
            assert_eq!(one.parse_introduction(b"hello"), None);
        }
        assert_eq!(
            ours.parse_introduction(other.introduction(12).as_bytes()),
            None
        );
        assert_eq!(
            other.parse_introduction(ours.introduction(12).as_bytes()),
            None
        );
    }
}
