//! The writing end of one direction: drives the link's state machine with a socket, the clock and
//! the changes of the faults.

use std::io;

use picklock_scenarios::Direction;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::WriteHalf;

use super::connection_state::ConnectionState;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::faults::fault_rules::{Terms, Verdict};
use crate::proxy::faults::imposed_faults::FaultChanges;
use crate::proxy::faults::link_state::{LinkState, Step};
use crate::proxy::faults::refused_command::REFUSED_BYTES;
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_meta::FrameMeta;

/// With more waiting bytes than this nothing more is read, and TCP slows the sender down.
const FULL: usize = 1 << 20;

/// What waits to be written.
enum Payload {
    /// A frame, or bytes that are not RESP. Nothing of it has been written.
    Frame(FrameMeta),
    /// The rest of what a write did not take whole. It has been logged as sent.
    Rest,
    /// The end of the stream.
    End,
    /// The stream broke.
    Reset,
}

struct Outgoing {
    payload: Payload,
    bytes: Vec<u8>,
    /// How many of the bytes have been written.
    written: usize,
}

/// The writing end of one direction.
pub(super) struct SendQueue<'a> {
    shared: &'a ConnectionState<'a>,
    direction: Direction,
    writer: WriteHalf<'a>,
    link: LinkState<Outgoing>,
    changes: FaultChanges,
    waiting_bytes: usize,
    share: FrameShare,
}

impl<'a> SendQueue<'a> {
    pub(super) fn new(
        shared: &'a ConnectionState<'a>,
        direction: Direction,
        writer: WriteHalf<'a>,
    ) -> Self {
        SendQueue {
            shared,
            direction,
            writer,
            link: LinkState::new(shared.fault_rules(Some(direction))),
            changes: shared.proxy.faults.subscribe(),
            waiting_bytes: 0,
            share: shared.proxy.frame_budget.share(),
        }
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.link.is_empty()
    }

    /// True when nothing waits, and no fault matches what comes now.
    pub(super) fn is_clear(&mut self, now_ns: u64) -> bool {
        self.link.is_clear(now_ns)
    }

    /// True when more may be read. Not while the receiver does not take what it was sent.
    pub(super) fn has_room(&self) -> bool {
        let first = self.link.front().map(|first| &first.frame.payload);
        self.waiting_bytes < FULL && !matches!(first, Some(Payload::Rest))
    }

    /// Writes at once what the socket takes, and keeps the rest. Only when nothing waits.
    pub(super) fn write_now(&mut self, bytes: &[u8], now_ns: u64) -> io::Result<()> {
        let count = match self.writer.try_write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if count < bytes.len() {
            self.enqueue(Payload::Rest, &bytes[count..], now_ns, Terms::default());
        }
        Ok(())
    }

    /// Judges the next frame: lets it wait for its turn, drops it, or ends its connection.
    pub(super) fn admit(&mut self, mut meta: FrameMeta, bytes: &[u8]) {
        let mut terms = match self.link.judge(meta.command()) {
            Verdict::Drop => return self.note(&meta, bytes, None, FrameOutcome::Dropped),
            Verdict::Reset => {
                self.note(&meta, bytes, None, FrameOutcome::Cut);
                return self.shared.reset();
            }
            Verdict::Pass(terms) => terms,
        };
        // The reply to a command that was answered here is what its server said to what it got instead.
        terms.answer = terms.answer.or(meta.request.answer);
        meta.request.answer = terms.answer;
        match terms.answer.filter(|_| self.direction == Direction::Reply) {
            None => self.enqueue(Payload::Frame(meta), bytes, meta.at_ns, terms),
            Some(error) => {
                let bytes = format!("-{}\r\n", error.text()).into_bytes();
                self.enqueue(Payload::Frame(meta), &bytes, meta.at_ns, terms);
            }
        }
    }

    /// The stream has ended, in order or not; what waits goes first.
    pub(super) fn end(&mut self, reset: bool, now_ns: u64) {
        let payload = if reset { Payload::Reset } else { Payload::End };
        self.enqueue(payload, &[], now_ns, Terms::default());
    }

    fn enqueue(&mut self, payload: Payload, bytes: &[u8], arrived_at_ns: u64, terms: Terms) {
        self.waiting_bytes += bytes.len();
        // A frame that has come whole goes on whole. Those that are not whole yet have less room.
        self.share.keep(self.waiting_bytes);
        let outgoing = Outgoing {
            payload,
            bytes: bytes.to_vec(),
            written: 0,
        };
        self.link.admit(outgoing, arrived_at_ns, terms);
    }

    /// Writes what may go on, until nothing waits. Can be cancelled at any point and called again.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        loop {
            self.changes.mark_seen();
            match self.link.step(self.shared.proxy.clock.now_ns()) {
                Step::Empty => return Ok(()),
                Step::Send => self.send_first().await?,
                Step::WaitForFaults => self.changes.changed().await,
                Step::WaitUntil(due_ns) => {
                    let due = self.shared.proxy.clock.instant(due_ns);
                    tokio::select! {
                        () = tokio::time::sleep_until(due) => {}
                        () = self.changes.changed() => {}
                    }
                }
            }
        }
    }

    /// Writes as much of the first frame as the socket takes.
    async fn send_first(&mut self) -> io::Result<()> {
        let Some(first) = self.link.front_mut() else {
            return Ok(());
        };
        let outcome = first.outcome;
        let outgoing = &mut first.frame;
        match std::mem::replace(&mut outgoing.payload, Payload::Rest) {
            Payload::Frame(meta) => {
                // From here on it counts as sent: an answer can come at any time.
                let now_ns = self.shared.proxy.clock.now_ns();
                self.shared.expect_reply(self.direction, &meta, now_ns);
                let (direction, bytes) = (self.direction, &outgoing.bytes);
                self.shared
                    .note(direction, &meta, bytes, Some(now_ns), outcome);
                if direction == Direction::Request && meta.request.answer.is_some() {
                    self.waiting_bytes -= outgoing.bytes.len();
                    outgoing.bytes = REFUSED_BYTES.to_vec();
                    self.waiting_bytes += outgoing.bytes.len();
                }
            }
            Payload::Rest => {}
            Payload::End => {
                self.link.pop();
                let shut = self.writer.shutdown().await;
                if self.direction == Direction::Request {
                    // A server closes such a connection at once; its own end may come late.
                    self.shared.closed();
                }
                return shut;
            }
            Payload::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
        }
        match self.writer.try_write(&outgoing.bytes[outgoing.written..]) {
            Ok(count) => outgoing.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::select! {
                    writable = self.writer.writable() => writable?,
                    () = self.changes.changed() => {}
                }
            }
            Err(error) => return Err(error),
        }
        if outgoing.written == outgoing.bytes.len() {
            self.waiting_bytes -= outgoing.bytes.len();
            self.share.keep(self.waiting_bytes);
            self.link.pop();
        }
        Ok(())
    }

    fn note(&self, meta: &FrameMeta, bytes: &[u8], sent_ns: Option<u64>, outcome: FrameOutcome) {
        let direction = self.direction;
        self.shared.note(direction, meta, bytes, sent_ns, outcome);
    }
}

impl Drop for SendQueue<'_> {
    /// What has not been written when the connection ends never will be: the log says so.
    fn drop(&mut self) {
        for waiting in self.link.iter() {
            if let Payload::Frame(meta) = &waiting.frame.payload {
                self.note(meta, &waiting.frame.bytes, None, FrameOutcome::Cut);
            }
        }
    }
}
