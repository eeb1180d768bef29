//! Feeds the reports of one server into the replay of its node, with the worker's request behind each line.
//!
//! A server's report identifies a client by its address. Each connection of a worker introduces itself with an
//! `ECHO`, which links the address to the connection; the requests of the connection are known to the proxy.

use std::collections::HashMap;

use memchr::memmem;

use crate::history::KeyCommand;
use crate::model::CommandKind;
use crate::proxy::{ExecutedRequest, SentRequests};

use super::monitor_stream::{MonitorLine, MonitorStream, ServerMessage, Source};
use super::replay::MonitorReplay;
use super::replayed_server::{ByWorker, Notice};

/// The state for reading the reports of one server.
#[derive(Debug, Default)]
pub struct ServerReport {
    server: usize,
    stream: MonitorStream,
    /// The connection at each of the server's addresses.
    connections: HashMap<String, u64>,
    /// Number of closed connections that have been recorded in the replay.
    closed: usize,
    /// When the latest command outside a script was executed.
    script_ns: u64,
    /// Prefix of the run's keys, if other users share the server.
    own_keys: Option<String>,
    /// Whether the latest command outside a script concerns the run, if other users share the server.
    is_relevant: bool,
}

impl ServerReport {
    /// Creates the state for a node's server with this number.
    pub fn for_server(server: usize) -> Self {
        ServerReport {
            server,
            ..ServerReport::default()
        }
    }

    /// From now on, skips commands of other users, unless they name a key that contains `own_keys`.
    pub fn skip_other_users(&mut self, own_keys: String) {
        self.own_keys = Some(own_keys);
    }

    /// Returns `false` for a command by which another user accesses only that user's own keys.
    fn is_relevant(&mut self, line: &MonitorLine) -> bool {
        let Some(own_keys) = &self.own_keys else {
            return true;
        };
        let names_own = line
            .words
            .iter()
            .any(|word| memmem::find(word, own_keys.as_bytes()).is_some());
        if let Source::Client(address) = &line.source {
            let flushes = CommandKind::for_command(&line.name(), "") == Some(CommandKind::Flushes);
            // `ECHO` commands are used as marks in the report.
            let is_echo = echo(line).is_some();
            let is_own = self.connections.contains_key(address);
            self.is_relevant = names_own || flushes || is_echo || is_own;
        }
        self.is_relevant || names_own
    }

    /// Reads the bytes that have arrived by `at_ns`. Calls `on_echo` with the argument of each `ECHO` that does not
    /// introduce a connection.
    ///
    /// # Errors
    /// Returns the beginning of a line that cannot be parsed. Nothing after it can be read.
    pub fn read(
        &mut self,
        bytes: &[u8],
        at_ns: u64,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
        mut on_echo: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        self.stream.feed(bytes);
        while let Some(message) = self.stream.next_message()? {
            match message {
                ServerMessage::Executed(line) => {
                    self.record_executed(&line, at_ns, replay, sent_requests, &mut on_echo);
                }
                ServerMessage::Lost {
                    loss,
                    database,
                    key,
                } => {
                    let notice = Notice {
                        loss,
                        database,
                        key,
                        at_ns,
                    };
                    replay.record_loss(self.server, notice);
                }
                ServerMessage::Answer(_) => {}
            }
        }
        Ok(())
    }

    fn record_executed(
        &mut self,
        line: &MonitorLine,
        now_ns: u64,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
        on_echo: &mut impl FnMut(&[u8]),
    ) {
        let mut by = None;
        if let Source::Client(address) = &line.source {
            self.script_ns = now_ns;
            if let Some(word) = echo(line) {
                match sent_requests.parse_introduction(word) {
                    Some(conn) => {
                        replay.record_connected(self.server, address);
                        self.connections.insert(address.clone(), conn);
                    }
                    None => on_echo(word),
                }
            } else if let Some(&conn) = self.connections.get(address) {
                let sent = sent_requests.take_executed(conn, &line.words);
                // The reply to a command may have arrived before the line that reports it.
                if let Some(sent) = &sent {
                    self.record_closed(sent.closed_before, replay, sent_requests);
                }
                let replied_ns = sent.and_then(|sent| sent.replied_ns);
                self.script_ns = replied_ns.map_or(now_ns, |at| at.min(now_ns));
                by = sent.map(|sent| ByWorker {
                    command: command(&sent, line, self.script_ns),
                    request: sent.number.map(|number| (conn, number)),
                });
            }
        }
        if self.is_relevant(line) {
            replay.record_executed(self.server, line, self.script_ns, by);
        }
    }

    /// Records closed connections in the replay, before the first request that was sent after they were closed. A
    /// server does not report that a connection was closed, but a value that is pushed later must not go to a client
    /// that has disconnected.
    fn record_closed(
        &mut self,
        until: usize,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
    ) {
        if until <= self.closed {
            return;
        }
        for closed in sent_requests.closed_connections(self.closed..until) {
            let at = self.connections.iter().filter(|(_, conn)| **conn == closed);
            at.for_each(|(address, _)| replay.record_closed(self.server, address));
        }
        self.closed = until;
    }
}

/// Returns the argument of an `ECHO`.
fn echo(line: &MonitorLine) -> Option<&[u8]> {
    match line.words.as_slice() {
        [name, word] if name.eq_ignore_ascii_case(b"ECHO") => Some(word),
        _ => None,
    }
}

/// Minimum time, in nanoseconds, from the forwarding of a command to the observation of its change. If it takes longer,
/// the change counts as observed late.
const MIN_LATE_NS: u64 = 1_000_000;

/// Returns a worker's command, whose changes were observed at `observed_ns`.
fn command(sent: &ExecutedRequest, line: &MonitorLine, observed_ns: u64) -> KeyCommand {
    let was_late =
        |forwarded_at_ns: &u64| observed_ns.saturating_sub(*forwarded_at_ns) >= MIN_LATE_NS;
    KeyCommand {
        worker: sent.link.worker,
        op: sent.op,
        phase: sent.phase,
        command: line.name().into(),
        sent_ns: sent.held_since_ns,
        forwarded_at_ns: sent.forwarded_at_ns.filter(was_late),
        names_unread_value: false,
    }
}
