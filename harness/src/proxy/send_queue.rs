//! The writing end of one direction. It drives the link's state machine with a socket, the clock, and the changes of
//! faults.

use std::io;

use picklock_scenarios::Direction;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::WriteHalf;

use super::connection_state::ConnectionState;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::faults::fault_rules::{FrameDecision, PassConditions};
use crate::proxy::faults::imposed_faults::FaultChanges;
use crate::proxy::faults::link_state::{LinkState, Step};
use crate::proxy::faults::refused_command::REFUSED_BYTES;
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_meta::FrameMeta;

/// Maximum number of waiting bytes. If there are more, nothing is read, and TCP slows the sender down.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// An item that waits to be written.
enum Payload {
    /// A frame, or bytes that are not RESP. Nothing of it has been written.
    Frame(FrameMeta),
    /// The rest of an item that was written only partly. The item has been logged as sent.
    Rest,
    /// The end of the stream.
    End,
    /// A broken stream.
    Reset,
}

struct Outgoing {
    payload: Payload,
    bytes: Vec<u8>,
    /// Number of bytes that have been written.
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

    /// Returns `true` if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.link.is_empty()
    }

    /// Returns `true` if nothing is waiting, and no fault matches a frame that arrives now.
    pub(super) fn is_clear(&mut self, now_ns: u64) -> bool {
        self.link.is_clear(now_ns)
    }

    /// Returns `true` if more may be read, which is not the case while the receiver accepts no data.
    pub(super) fn has_room(&self) -> bool {
        let first = self.link.front().map(|first| &first.frame.payload);
        self.waiting_bytes < MAX_WAITING_BYTES && !matches!(first, Some(Payload::Rest))
    }

    /// Writes as many bytes as the socket accepts at once, and queues the rest. Call this only if nothing is waiting.
    pub(super) fn write_now(&mut self, bytes: &[u8], now_ns: u64) -> io::Result<()> {
        let count = match self.writer.try_write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if count < bytes.len() {
            self.enqueue(
                Payload::Rest,
                &bytes[count..],
                now_ns,
                PassConditions::default(),
            );
        }
        Ok(())
    }

    /// Queues or drops the next frame, or resets its connection, as the fault rules decide.
    pub(super) fn admit(&mut self, mut meta: FrameMeta, bytes: &[u8]) {
        let mut conditions = match self.link.decide(meta.command()) {
            FrameDecision::Drop => {
                self.shared.record_loss(&meta);
                return self.log(&meta, bytes, None, FrameOutcome::Dropped);
            }
            FrameDecision::Reset => {
                self.log(&meta, bytes, None, FrameOutcome::Cut);
                return self.shared.reset();
            }
            FrameDecision::Pass(conditions) => conditions,
        };
        // If the proxy answers a command, the server's reply to the substitute is replaced with that answer.
        conditions.answer = conditions.answer.or(meta.request.answer);
        meta.request.answer = conditions.answer;
        match conditions
            .answer
            .filter(|_| self.direction == Direction::Reply)
        {
            None => self.enqueue(Payload::Frame(meta), bytes, meta.at_ns, conditions),
            Some(error) => {
                let bytes = format!("-{}\r\n", error.text()).into_bytes();
                self.enqueue(Payload::Frame(meta), &bytes, meta.at_ns, conditions);
            }
        }
    }

    /// Queues the end of the stream after the waiting frames. If `reset` is true, the stream ends with a reset.
    pub(super) fn end(&mut self, reset: bool, now_ns: u64) {
        let payload = if reset { Payload::Reset } else { Payload::End };
        self.enqueue(payload, &[], now_ns, PassConditions::default());
    }

    fn enqueue(
        &mut self,
        payload: Payload,
        bytes: &[u8],
        arrived_at_ns: u64,
        conditions: PassConditions,
    ) {
        self.waiting_bytes += bytes.len();
        // The result is ignored, because a complete frame is always forwarded whole. The budget limits only incomplete
        // frames.
        self.share.resize(self.waiting_bytes);
        let outgoing = Outgoing {
            payload,
            bytes: bytes.to_vec(),
            written: 0,
        };
        self.link.admit(outgoing, arrived_at_ns, conditions);
    }

    /// Writes the frames that may be forwarded, until none is waiting. The future can be cancelled at any point.
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

    /// Writes as much of the first frame as the socket accepts.
    async fn send_first(&mut self) -> io::Result<()> {
        let Some(first) = self.link.front_mut() else {
            return Ok(());
        };
        let outcome = first.outcome;
        let outgoing = &mut first.frame;
        match std::mem::replace(&mut outgoing.payload, Payload::Rest) {
            Payload::Frame(meta) => {
                // From now on, the frame counts as sent, because its reply can arrive at any time.
                let now_ns = self.shared.proxy.clock.now_ns();
                self.shared.expect_reply(self.direction, &meta, now_ns);
                let (direction, bytes) = (self.direction, &outgoing.bytes);
                self.shared
                    .log_frame(direction, &meta, bytes, Some(now_ns), outcome);
                if direction == Direction::Request && meta.request.answer.is_some() {
                    self.waiting_bytes -= outgoing.bytes.len();
                    outgoing.bytes = REFUSED_BYTES.to_vec();
                    self.waiting_bytes += outgoing.bytes.len();
                }
            }
            Payload::Rest => {}
            Payload::End => {
                self.link.pop();
                let result = self.writer.shutdown().await;
                if self.direction == Direction::Request {
                    // Record the close now, because the server closes such a connection at once, but the end of its
                    // stream may arrive late.
                    self.shared.record_close();
                }
                return result;
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
            self.share.resize(self.waiting_bytes);
            self.link.pop();
        }
        Ok(())
    }

    fn log(&self, meta: &FrameMeta, bytes: &[u8], sent_ns: Option<u64>, outcome: FrameOutcome) {
        let direction = self.direction;
        self.shared
            .log_frame(direction, meta, bytes, sent_ns, outcome);
    }
}

impl Drop for SendQueue<'_> {
    /// Logs the frames that have not been written at the end of the connection, with the outcome `Cut`.
    fn drop(&mut self) {
        for waiting in self.link.iter() {
            if let Payload::Frame(meta) = &waiting.frame.payload {
                self.log(meta, &waiting.frame.bytes, None, FrameOutcome::Cut);
            }
        }
    }
}
