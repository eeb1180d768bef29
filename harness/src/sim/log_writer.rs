//! Writes the simulated network's traffic to a command log in the same form as the real proxy.
//!
//! A frame's `at_ns` is the time at which the frame was admitted to its link, after its barrier. The frame's line is
//! written when the frame leaves. `sent_ns` is the time at which the frame arrives at the other end.

use std::sync::Arc;

use super::args::Args;
use super::connection_state::Connection;
use super::frame::{CommandTag, Frame, Payload};
use super::network::Network;
use crate::proxy::{
    CommandName, FrameOutcome, LinkId, LogRecord, preview_of_command, preview_of_reply,
};

impl Network {
    /// Writes the line of a frame. Both times are on the simulation's clock; the second time is `None` if the frame
    /// never arrives. [`CommandTag::name`] is an index into `names`.
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

    /// Marks those frames of a connection as lost that are waiting, or that would arrive at `from_ns` or later.
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

    /// Marks those frames of a connection as unreachable that arrive at `at_ns`, when the node is down.
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

/// Returns the size of a command in RESP: `*N`, then each word with its length before it.
fn size(args: &Args) -> usize {
    let digits = |number: usize| number.checked_ilog10().map_or(1, |tens| tens as usize + 1);
    let words = args.iter().map(|word| 5 + digits(word.len()) + word.len());
    3 + digits(args.len()) + words.sum::<usize>()
}
