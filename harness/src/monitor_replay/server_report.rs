//! What one server tells, read into the replay of its node: whose command each line is about.
//!
//! A server names a client by its address. Each connection of a worker introduces itself with an
//! `ECHO`, which ties the address to the connection; what the connection sends is known from elsewhere.

use std::collections::HashMap;

use memchr::memmem;

use crate::history::KeyCommand;
use crate::model::CommandKind;
use crate::proxy::{ExecutedRequest, SentRequests};

use super::monitor_stream::{MonitorLine, MonitorStream, Source, Told};
use super::replay::MonitorReplay;
use super::replayed_server::{ByWorker, Notice};

/// What is known while the report of one server is read.
#[derive(Debug, Default)]
pub struct ServerReport {
    server: usize,
    stream: MonitorStream,
    /// The connection at each of the server's addresses.
    connections: HashMap<String, u64>,
    /// How many of the connections that were closed the replay knows of.
    closed: usize,
    /// When the latest command was executed that is no part of a script.
    script_ns: u64,
    /// What the names of the run's keys contain, where strangers use the server too.
    own_keys: Option<String>,
    /// Where they do: the latest command that is no part of a script matters to the run.
    matters: bool,
}

impl ServerReport {
    /// The report of a node's server with this number.
    pub fn for_server(server: usize) -> Self {
        ServerReport {
            server,
            ..ServerReport::default()
        }
    }

    /// From now on what strangers do to other keys than those with this in their names is passed over.
    pub fn skip_strangers(&mut self, own_keys: String) {
        self.own_keys = Some(own_keys);
    }

    /// False for what a stranger does to keys of strangers.
    fn matters(&mut self, line: &MonitorLine) -> bool {
        let Some(own_keys) = &self.own_keys else {
            return true;
        };
        let names_own = |word: &Vec<u8>| memmem::find(word, own_keys.as_bytes()).is_some();
        let names_own = line.words.iter().any(names_own);
        if let Source::Client(address) = &line.source {
            let flushes = CommandKind::of(&line.name(), "") == Some(CommandKind::Flushes);
            // An ECHO shows the time.
            let is_echo = echo(line).is_some();
            let is_own = self.connections.contains_key(address);
            self.matters = names_own || flushes || is_echo || is_own;
        }
        self.matters || names_own
    }

    /// Reads what has arrived by `at_ns`. `echoed` gets the words of the clients' `ECHO`s that
    /// introduce no connection.
    ///
    /// # Errors
    /// A line that is none, as text. What follows it cannot be read.
    pub fn read(
        &mut self,
        bytes: &[u8],
        at_ns: u64,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
        mut echoed: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        self.stream.feed(bytes);
        while let Some(told) = self.stream.next_told()? {
            match told {
                Told::Executed(line) => {
                    self.executed(&line, at_ns, replay, sent_requests, &mut echoed);
                }
                Told::Lost {
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
                    replay.lost(self.server, notice);
                }
                Told::Answer(_) => {}
            }
        }
        Ok(())
    }

    fn executed(
        &mut self,
        line: &MonitorLine,
        now_ns: u64,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
        echoed: &mut impl FnMut(&[u8]),
    ) {
        let mut by = None;
        if let Source::Client(address) = &line.source {
            self.script_ns = now_ns;
            if let Some(word) = echo(line) {
                match sent_requests.introduced(word) {
                    Some(conn) => {
                        replay.connected(self.server, address);
                        self.connections.insert(address.clone(), conn);
                    }
                    None => echoed(word),
                }
            } else if let Some(&conn) = self.connections.get(address) {
                let sent = sent_requests.claim_words(conn, &line.words);
                // Its reply may have come before its line did.
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
        if self.matters(line) {
            replay.executed(self.server, line, self.script_ns, by);
        }
    }

    /// A server does not tell that a connection is closed, so the replay hears it from the first
    /// request that was sent after that: what is pushed from then on goes to nobody who has left.
    fn record_closed(
        &mut self,
        until: usize,
        replay: &mut MonitorReplay,
        sent_requests: &SentRequests,
    ) {
        if until <= self.closed {
            return;
        }
        for closed in sent_requests.closed_ones(self.closed..until) {
            let at = self.connections.iter().filter(|(_, conn)| **conn == closed);
            at.for_each(|(address, _)| replay.closed(self.server, address));
        }
        self.closed = until;
    }
}

/// The word of an `ECHO`.
fn echo(line: &MonitorLine) -> Option<&[u8]> {
    match line.words.as_slice() {
        [name, word] if name.eq_ignore_ascii_case(b"ECHO") => Some(word),
        _ => None,
    }
}

/// A change that is noticed earlier than this after its command went on is as good as noticed at once, nanoseconds.
const MOMENT_NS: u64 = 1_000_000;

/// The command of a worker, whose changes were noticed at this time.
fn command(sent: &ExecutedRequest, line: &MonitorLine, noticed_ns: u64) -> KeyCommand {
    let was_late = |forwarded_at_ns: &u64| noticed_ns.saturating_sub(*forwarded_at_ns) >= MOMENT_NS;
    KeyCommand {
        worker: sent.link.worker,
        op: sent.op,
        phase: sent.phase,
        command: line.name().into(),
        sent_ns: sent.held_since_ns,
        forwarded_at_ns: sent.forwarded_at_ns.filter(was_late),
    }
}
