//! Writes what passes on the simulated network into a command log, as the real wire does.
//!
//! A frame's `at_ns` is when it was admitted to its link, after its gate; its line is written when
//! it leaves; `sent_ns` is when it *arrives* at its other end. Without a log nothing here is
//! called.

use std::sync::Arc;

use super::args::Args;
use super::connection_state::Connection;
use super::frame::{CommandTag, Frame, Payload};
use super::network::Network;
use crate::wire::{
    CommandName, LinkId, LogRecord, Outcome, WireLog, preview_of_command, preview_of_reply,
};

/// Writes the line of one frame.
pub(super) struct LogWriter<'a> {
    log: &'a WireLog,
    link: LinkId,
    /// The names of the commands: [`CommandTag::name`] is a position in it.
    names: &'a [Arc<str>],
    /// How far the simulation's clock is ahead of the run's.
    ahead_ns: u64,
    came_ns: u64,
    outcome: Outcome,
}

impl Network {
    /// For a frame that came at this time of the simulation; `None` when there is no log.
    pub(super) fn log_writer<'a>(
        &'a self,
        link: LinkId,
        names: &'a [Arc<str>],
        came_ns: u64,
        outcome: Outcome,
    ) -> Option<LogWriter<'a>> {
        Some(LogWriter {
            log: self.log.as_ref()?,
            link,
            names,
            ahead_ns: self.ahead_ns(),
            came_ns,
            outcome,
        })
    }

    /// What waits on a connection, and what would arrive on it from this time of the simulation
    /// on, is lost.
    pub(super) fn log_lost(
        &self,
        conn: u64,
        connection: &Connection,
        from_ns: u64,
        outcome: Outcome,
    ) {
        let Some(log) = &self.log else { return };
        log.mark_lost(conn, from_ns.saturating_sub(self.ahead_ns()), outcome);
        let state = self.state.borrow();
        let write = |frame: &Frame, came_ns| {
            let writer = self.log_writer(connection.link, &state.names, came_ns, outcome);
            if let Some(writer) = writer {
                writer.write(frame, None);
            }
        };
        for path in [&connection.request, &connection.reply] {
            for waiting in path.link.iter() {
                write(&waiting.frame, waiting.came_ns);
            }
            for frame in &path.arriving {
                write(frame, from_ns);
            }
        }
    }

    /// The node was down when a frame of this connection arrived at this time of the simulation.
    pub(super) fn log_unreachable(&self, conn: u64, at_ns: u64) {
        if let Some(log) = &self.log {
            let at_ns = at_ns.saturating_sub(self.ahead_ns());
            log.mark_lost(conn, at_ns, Outcome::Unreachable);
        }
    }

    fn ahead_ns(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.run_clock.now_ns())
    }
}

impl LogWriter<'_> {
    /// Writes the line of a frame that arrives at this time of the simulation; `None`: it never
    /// does.
    pub(super) fn write(&self, frame: &Frame, arrives_ns: Option<u64>) {
        match &frame.payload {
            Payload::Command(args) => {
                let record = self.record(frame, size(args), arrives_ns);
                self.log
                    .append()
                    .push(&record, preview_of_command(args.iter()));
            }
            Payload::Reply(reply) | Payload::Publication(reply) => {
                let mut text = Vec::new();
                reply.encode(false, &mut text);
                let record = self.record(frame, text.len(), arrives_ns);
                let preview = std::iter::once(preview_of_reply(&text));
                self.log.append().push(&record, preview);
            }
            Payload::Close => {}
        }
    }

    fn record(&self, frame: &Frame, size: usize, arrives_ns: Option<u64>) -> LogRecord {
        let CommandTag {
            name,
            key,
            op,
            phase,
            ..
        } = frame.tag;
        let name = self.names.get(name).map_or("", |name| name);
        LogRecord {
            at_ns: self.came_ns.saturating_sub(self.ahead_ns),
            sent_ns: arrives_ns.map(|at_ns| at_ns.saturating_sub(self.ahead_ns)),
            link: self.link,
            conn: frame.conn,
            direction: frame.direction(),
            command: CommandName::new(name.as_bytes()),
            key,
            op,
            phase,
            size,
            outcome: self.outcome,
        }
    }
}

/// How many bytes a command has on a wire: `*N`, then each word with its length before it.
fn size(args: &Args) -> usize {
    let digits = |number: usize| number.checked_ilog10().map_or(1, |tens| tens as usize + 1);
    let words = args.iter().map(|word| 5 + digits(word.len()) + word.len());
    3 + digits(args.len()) + words.sum::<usize>()
}
