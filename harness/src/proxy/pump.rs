//! One direction of one connection: reads bytes, finds frames, passes them to the interceptor, applies the faults, and
//! writes.

use std::io;
use std::ops::Range;
use std::pin::pin;

use picklock_scenarios::Direction;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::connection_state::ConnectionState;
use super::interceptor::{FrameBarrier, InterceptedFrame};
use super::send_queue::SendQueue;
use crate::proxy::command_log::acquire_detection::LockEffect;
use crate::proxy::command_log::answered::Answered;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::command_log::log_record::preview;
use crate::proxy::command_log::pending::Pending;
use crate::proxy::resp::command::{self, Request};
use crate::proxy::resp::frame_meta::FrameMeta;
use crate::proxy::resp::frame_reader::{Extent, FrameReader};
use crate::proxy::resp::reply_kind::ReplyKind;
use crate::proxy::resp::scan::Shape;

/// The frames of one chunk: their positions in the buffer, and their metadata.
type Frames = Vec<(Range<usize>, FrameMeta)>;

/// One direction of one connection.
pub(super) struct Pump<'a> {
    shared: &'a ConnectionState<'a>,
    direction: Direction,
    socket: ReadHalf<'a>,
    reader: FrameReader,
    queue: SendQueue<'a>,
    /// The frames of the current chunk. The vector is reused.
    frames: Frames,
    /// Number of these frames that have been admitted or sent.
    done: usize,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        shared: &'a ConnectionState<'a>,
        direction: Direction,
        socket: ReadHalf<'a>,
        writer: WriteHalf<'a>,
    ) -> Self {
        Pump {
            shared,
            direction,
            socket,
            reader: FrameReader::new(direction, shared.proxy.frame_budget.share()),
            queue: SendQueue::new(shared, direction, writer),
            frames: Vec::new(),
            done: 0,
        }
    }

    /// Forwards bytes until the sender ends the stream.
    ///
    /// # Errors
    /// Returns an error if the connection broke, at either end.
    pub(super) async fn run(mut self) -> io::Result<()> {
        loop {
            match self.read_chunk().await? {
                ReadOutcome::Bytes => self.pass_chunk().await?,
                ReadOutcome::End { reset } => {
                    let rest = self.reader.take_raw();
                    self.frames.clear();
                    self.done = 0;
                    self.frames.extend(rest.map(|extent| self.raw(extent)));
                    self.admit_all().await?;
                    self.queue.end(reset, self.shared.proxy.clock.now_ns());
                    return self.queue.flush().await;
                }
            }
        }
    }

    /// Reads the next chunk, and writes waiting frames in the meantime.
    async fn read_chunk(&mut self) -> io::Result<ReadOutcome> {
        let (shared, direction) = (self.shared, self.direction);
        loop {
            let has_partial_frame = self.reader.is_partial() && !self.shared.is_raw();
            if self.queue.is_empty() && !has_partial_frame {
                return Ok(read(shared, direction, &mut self.socket, &mut self.reader).await);
            }
            tokio::select! {
                biased;
                flushed = self.queue.flush(), if !self.queue.is_empty() => flushed?,
                // The other direction has found bytes that are not RESP, so the partial frame is forwarded unchanged.
                () = self.shared.turned_raw(), if has_partial_frame => return Ok(ReadOutcome::Bytes),
                outcome = read(shared, direction, &mut self.socket, &mut self.reader),
                    if self.queue.has_room() => {
                    return Ok(outcome);
                }
            }
        }
    }

    /// Sends the chunk that was read at once if possible, or otherwise admits its frames one by one.
    async fn pass_chunk(&mut self) -> io::Result<()> {
        let now_ns = self.shared.proxy.clock.now_ns();
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let answered_here = self.find_frames(now_ns, &mut frames);
        self.frames = frames;
        self.done = 0;
        if !answered_here && self.queue.is_clear(now_ns) && !self.shared.is_intercepted() {
            self.send_at_once(now_ns)?;
        } else {
            self.admit_all().await?;
        }
        self.reader.consume();
        Ok(())
    }

    /// The fast path: reads the clock once, locks the log once, and writes all bytes at once.
    fn send_at_once(&mut self, now_ns: u64) -> io::Result<()> {
        let (shared, direction) = (self.shared, self.direction);
        let end = self.reader.cursor();
        if direction == Direction::Request {
            let mut pending = shared.pending();
            for (_, meta) in &self.frames {
                shared.expect_reply_in(&mut pending, meta, None, now_ns);
            }
        }
        let mut log = shared.proxy.log.append();
        for (range, meta) in &self.frames {
            if !meta.is_raw() {
                let frame = &self.reader.bytes()[range.clone()];
                let (size, outcome) = (frame.len(), FrameOutcome::Forwarded);
                let record = shared.log_record(direction, meta, size, Some(now_ns), outcome);
                log.push(&record, preview(frame, meta.shape));
            }
        }
        drop(log);
        self.done = self.frames.len();
        self.queue.write_now(&self.reader.bytes()[..end], now_ns)
    }

    /// The slow path: passes each frame to the interceptor, and applies the faults to it.
    async fn admit_all(&mut self) -> io::Result<()> {
        while let Some((range, mut meta)) = self.frames.get(self.done).cloned() {
            // Errors begin with `-` in both protocols, and with `!` for long errors in RESP3.
            let is_error = matches!(self.reader.bytes()[range.start], b'-' | b'!')
                && self.direction == Direction::Reply;
            let lock_effect = self.detect_effect(range.clone(), &mut meta).await?;
            if let Some(barrier) = self.intercept(&meta, is_error, lock_effect) {
                wait_for(&mut self.queue, barrier).await?;
            }
            self.queue.admit(meta, &self.reader.bytes()[range]);
            self.done += 1;
        }
        Ok(())
    }

    /// Determines the effect of a frame's command, if the interceptor waits for it. Frames ahead of it are written in
    /// the meantime.
    async fn detect_effect(
        &mut self,
        range: Range<usize>,
        meta: &mut FrameMeta,
    ) -> io::Result<LockEffect> {
        let (shared, direction) = (self.shared, self.direction);
        let (reader, queue) = (&self.reader, &mut self.queue);
        let effect = shared.detect_effect(direction, meta, &reader.bytes()[range]);
        let (lock_effect, key) = wait_for(queue, effect).await?;
        meta.request.key = key;
        Ok(lock_effect)
    }

    fn intercept(
        &self,
        meta: &FrameMeta,
        is_error: bool,
        lock_effect: LockEffect,
    ) -> Option<FrameBarrier> {
        if !meta.is_message() || !self.shared.is_intercepted() {
            return None;
        }
        self.shared.proxy.interceptor.intercept(&InterceptedFrame {
            at_ns: meta.at_ns,
            link: self.shared.link,
            conn: self.shared.conn,
            direction: self.direction,
            command: meta.request.command.as_str(),
            is_error,
            key: meta.request.key,
            op: meta.request.operation.op,
            phase: meta.request.operation.phase,
            lock_effect,
        })
    }

    /// Finds the complete frames in the bytes that were read. Returns `true` if one of them is the reply to a command
    /// that the proxy answers.
    fn find_frames(&mut self, now_ns: u64, frames: &mut Frames) -> bool {
        let mut answered_here = false;
        let mut pending = self.shared.pending();
        while !self.shared.is_raw() {
            match self.reader.next_frame() {
                Ok(Some(extent)) => {
                    let meta = self.meta(&extent, now_ns, &mut pending);
                    answered_here |= meta.request.answer.is_some();
                    frames.push((extent.range, meta));
                }
                Ok(None) => return answered_here,
                Err(reason) => {
                    self.shared.turn_raw(self.direction, now_ns, reason);
                }
            }
        }
        let rest = self.reader.take_raw();
        frames.extend(rest.map(|extent| self.raw(extent)));
        answered_here
    }

    fn meta(&self, extent: &Extent, now_ns: u64, pending: &mut Pending) -> FrameMeta {
        let frame = &self.reader.bytes()[extent.range.clone()];
        let (shape, operation) = (extent.shape, self.shared.operation());
        let request = match shape {
            Shape::Command | Shape::Inline => {
                let mut request = command::read(frame, shape, &self.shared.proxy.keys, operation);
                // The digest is needed only if requests are tracked.
                if self.shared.proxy.sent.get().is_some() {
                    request.digest = command::digest_of(frame, shape);
                }
                Some(request)
            }
            Shape::Blank | Shape::Raw => None,
            Shape::Plain | Shape::Error | Shape::Composite => {
                let (kind, answered) = match shape {
                    // The command is not executed yet, and may never be.
                    Shape::Plain if frame.starts_with(b"+QUEUED\r") => {
                        (ReplyKind::Answer, Answered::Failed)
                    }
                    Shape::Plain => (ReplyKind::Answer, Answered::Done),
                    Shape::Error => (ReplyKind::Error, Answered::from_error(&frame[1..])),
                    _ => (ReplyKind::parse(frame), Answered::Done),
                };
                let request = pending.answered_by(kind);
                // If a request gets several confirmations, only the last one completes it.
                if let Some(request) = &request
                    && !pending.waits_for_confirmations()
                {
                    let answered = match request.answer {
                        Some(_) => Answered::Refused,
                        None => answered,
                    };
                    self.shared.record_reply(now_ns, answered);
                }
                request
            }
        };
        FrameMeta {
            at_ns: now_ns,
            request: request.unwrap_or_else(|| Request::none(operation)),
            shape,
        }
    }

    fn raw(&self, extent: Extent) -> (Range<usize>, FrameMeta) {
        let now_ns = self.shared.proxy.clock.now_ns();
        let meta = FrameMeta::unrequested(now_ns, self.shared.operation(), extent.shape);
        (extent.range, meta)
    }
}

impl Drop for Pump<'_> {
    /// Logs the frames that are still waiting at a barrier at the end of the connection, with the outcome `Cut`.
    fn drop(&mut self) {
        let bytes = self.reader.bytes();
        for (range, meta) in self.frames.iter().skip(self.done) {
            let frame = bytes.get(range.clone()).unwrap_or_default();
            self.shared
                .log_frame(self.direction, meta, frame, None, FrameOutcome::Cut);
        }
    }
}

/// Waits for a barrier or a reply. Frames that are already queued are written in the meantime.
async fn wait_for<T>(queue: &mut SendQueue<'_>, awaited: impl Future<Output = T>) -> io::Result<T> {
    let mut awaited = pin!(awaited);
    loop {
        tokio::select! {
            biased;
            done = &mut awaited => return Ok(done),
            flushed = queue.flush(), if !queue.is_empty() => flushed?,
        }
    }
}

/// How a read ended.
enum ReadOutcome {
    Bytes,
    End { reset: bool },
}

/// Reads the bytes that are available. Bytes from the client are counted.
async fn read(
    shared: &ConnectionState<'_>,
    direction: Direction,
    socket: &mut ReadHalf<'_>,
    reader: &mut FrameReader,
) -> ReadOutcome {
    let room = reader.room();
    let read = match direction {
        Direction::Request => {
            let clock = &shared.proxy.clock;
            shared.received.read(socket, room, clock).await
        }
        Direction::Reply => socket.read(room).await,
    };
    match read {
        Ok(0) => ReadOutcome::End { reset: false },
        Ok(count) => {
            reader.filled(count);
            ReadOutcome::Bytes
        }
        Err(_) => ReadOutcome::End { reset: true },
    }
}
