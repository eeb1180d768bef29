//! Writes what passes on the simulated network into a command log, as the real proxy does.
//!
//! A frame's `at_ns` is when it was admitted to its link, after its gate; its line is written when
//! it leaves; `sent_ns` is when it *arrives* at its other end. Without a log nothing here is
//! called.

use std::sync::Arc;

use super::args::Args;
use super::connection_state::Connection;
use super::frame::{CommandTag, Frame, Payload};
use super::network::Network;
use crate::proxy::{
    CommandName, FrameOutcome, LinkId, LogRecord, preview_of_command, preview_of_reply,
};

impl Network {
    /// Writes the line of a frame that came and arrives at these times of the simulation; `None`: it never
    /// arrives. `names`: the names of the commands, in which [`CommandTag::name`] is a position.
    pub(super) fn log_frame(
        &self,
        link: LinkId,
        names: &[Arc<str>],
        frame: &Frame,
        (arrived_at_ns, arrives_ns): (u64, Option<u64>),
        outcome: FrameOutcome,
    ) {
        let Some(log) = &self.log else { return };
        let ahead_ns = self.ahead_ns();
        let CommandTag {
            name,
            key,
            op,
            phase,
            answer,
            ..
        } = frame.tag;
        let outcome = match (answer, outcome) {
            (Some(_), FrameOutcome::Forwarded) => FrameOutcome::Answered,
            _ => outcome,
        };
        let name = names.get(name).map_or("", |name| name);
        let record = LogRecord {
            at_ns: arrived_at_ns.saturating_sub(ahead_ns),
            sent_ns: arrives_ns.map(|at_ns| at_ns.saturating_sub(ahead_ns)),
            link,
            conn: frame.conn,
            direction: frame.direction(),
            command: CommandName::new(name.as_bytes()),
            key,
            op,
            phase,
            size: 0,
            outcome,
        };
        match &frame.payload {
            Payload::Command(args) => {
                let size = size(args);
                let words = preview_of_command(args.iter());
                log.append().push(&LogRecord { size, ..record }, words);
            }
            Payload::Reply(reply) | Payload::Publication(reply) => {
                let mut text = Vec::new();
                reply.encode(false, &mut text);
                let size = text.len();
                let preview = std::iter::once(preview_of_reply(&text));
                log.append().push(&LogRecord { size, ..record }, preview);
            }
            Payload::Close => {}
        }
    }

    /// What waits on a connection, and what would arrive on it from this time of the simulation
    /// on, is lost.
    pub(super) fn log_lost(
        &self,
        conn: u64,
        connection: &Connection,
        from_ns: u64,
        outcome: FrameOutcome,
    ) {
        let Some(log) = &self.log else { return };
        log.mark_lost(conn, from_ns.saturating_sub(self.ahead_ns()), outcome);
        let state = self.state.borrow();
        let write = |frame: &Frame, arrived_at_ns| {
            let times = (arrived_at_ns, None);
            self.log_frame(connection.link, &state.names, frame, times, outcome);
        };
        for path in [&connection.request, &connection.reply] {
            for waiting in path.link.iter() {
                write(&waiting.frame, waiting.arrived_at_ns);
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
            log.mark_lost(conn, at_ns, FrameOutcome::Unreachable);
        }
    }

    fn ahead_ns(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.run_clock.now_ns())
    }
}

/// How many bytes a command has on a proxy: `*N`, then each word with its length before it.
fn size(args: &Args) -> usize {
    let digits = |number: usize| number.checked_ilog10().map_or(1, |tens| tens as usize + 1);
    let words = args.iter().map(|word| 5 + digits(word.len()) + word.len());
    3 + digits(args.len()) + words.sum::<usize>()
}
