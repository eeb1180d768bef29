//! One direction of one connection: read, understand, show, ask the faults, write.

use std::io;
use std::ops::Range;

use picklock_scenarios::Direction;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::codec::{self, Reply};
use super::command;
use super::connection::Shared;
use super::entry::Outcome;
use super::intake::{Intake, Mark, Next};
use super::outlet::Outlet;
use super::passage::{Passage, words};
use super::pending::{Asked, Pending};
use super::scan::Shape;
use super::watch::{Gate, Sight};

/// Frames of one chunk: where each lies in the buffer, and what it is.
type Frames = Vec<(Range<usize>, Passage)>;

/// One direction of one connection.
pub(super) struct Pump<'a> {
    shared: &'a Shared<'a>,
    direction: Direction,
    reader: ReadHalf<'a>,
    intake: Intake,
    outlet: Outlet<'a>,
    /// The frames of the chunk that is being dealt with. Kept to be reused.
    frames: Frames,
    /// So many of them have been dealt with.
    dealt: usize,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        direction: Direction,
        reader: ReadHalf<'a>,
        writer: WriteHalf<'a>,
    ) -> Self {
        Pump {
            shared,
            direction,
            reader,
            intake: Intake::new(direction),
            outlet: Outlet::new(shared, direction, writer),
            frames: Vec::new(),
            dealt: 0,
        }
    }

    /// Carries bytes until the sender ends.
    ///
    /// # Errors
    /// The connection broke, at either end.
    pub(super) async fn run(mut self) -> io::Result<()> {
        loop {
            match self.fill().await? {
                Filled::Some => self.pass_chunk().await?,
                Filled::End { reset } => {
                    let rest = self.intake.take_raw();
                    self.frames.clear();
                    self.dealt = 0;
                    self.frames.extend(rest.map(|mark| self.raw(mark)));
                    self.admit_all().await?;
                    self.outlet.end(reset);
                    return self.outlet.serve().await;
                }
            }
        }
    }

    /// Reads the next chunk, and lets waiting frames go meanwhile.
    async fn fill(&mut self) -> io::Result<Filled> {
        loop {
            let stuck = self.intake.is_partial() && !self.shared.is_raw();
            if self.outlet.is_empty() && !stuck {
                return Ok(read(&mut self.reader, &mut self.intake).await);
            }
            tokio::select! {
                biased;
                served = self.outlet.serve(), if !self.outlet.is_empty() => served?,
                // The other direction found that this is not RESP: what is here goes on as it is.
                () = self.shared.turned_raw(), if stuck => return Ok(Filled::Some),
                filled = read(&mut self.reader, &mut self.intake), if self.outlet.has_room() => {
                    return Ok(filled);
                }
            }
        }
    }

    /// Lets the chunk that was read go on: at once where nothing is in the way.
    async fn pass_chunk(&mut self) -> io::Result<()> {
        let now_ns = self.shared.clock().now_ns();
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        self.cut_into_frames(now_ns, &mut frames);
        self.frames = frames;
        self.dealt = 0;
        let quiet = self.outlet.is_empty() && self.outlet.faults.is_quiet();
        if quiet && !self.shared.watcher().armed() {
            self.pass_at_once(now_ns)?;
        } else {
            self.admit_all().await?;
        }
        self.intake.consume();
        Ok(())
    }

    /// The fast path: one look at the clock, one visit to the log, one write.
    fn pass_at_once(&mut self, now_ns: u64) -> io::Result<()> {
        let end = self.intake.cursor();
        if self.direction == Direction::Request {
            let mut pending = self.shared.pending();
            for (_, passage) in &self.frames {
                self.shared.ask(&mut pending, passage);
            }
        }
        let mut log = self.shared.log().append();
        for (range, passage) in &self.frames {
            if !passage.is_raw() {
                let frame = &self.intake.bytes()[range.clone()];
                let record = self.shared.record(
                    self.direction,
                    passage,
                    frame.len(),
                    Some(now_ns),
                    Outcome::Forwarded,
                );
                log.push(&record, words(frame, passage.shape));
            }
        }
        drop(log);
        self.dealt = self.frames.len();
        self.outlet.write_now(&self.intake.bytes()[..end])
    }

    /// The slow path: each frame is shown to the watcher, and the faults are asked about it.
    async fn admit_all(&mut self) -> io::Result<()> {
        while let Some((range, passage)) = self.frames.get(self.dealt).cloned() {
            // A simple error of either protocol, or a long one of RESP3.
            let is_error = matches!(self.intake.bytes()[range.start], b'-' | b'!')
                && self.direction == Direction::Reply;
            if let Some(gate) = self.show(&passage, is_error) {
                self.wait_at(gate).await?;
            }
            self.outlet.admit(passage, &self.intake.bytes()[range]);
            self.dealt += 1;
        }
        Ok(())
    }

    fn show(&self, passage: &Passage, is_error: bool) -> Option<Gate> {
        let watcher = self.shared.watcher();
        if !passage.is_message() || !watcher.armed() {
            return None;
        }
        watcher.sight(&Sight {
            at_ns: passage.at_ns,
            link: self.shared.link,
            conn: self.shared.conn,
            direction: self.direction,
            command: passage.asked.request.name.as_str(),
            is_error,
            key: passage.asked.request.key,
            op: passage.asked.stamp.op,
            phase: passage.asked.stamp.phase,
        })
    }

    /// Waits for a gate. What is ahead of the frame goes on meanwhile.
    async fn wait_at(&mut self, mut gate: Gate) -> io::Result<()> {
        loop {
            tokio::select! {
                biased;
                () = &mut gate => return Ok(()),
                served = self.outlet.serve(), if !self.outlet.is_empty() => served?,
            }
        }
    }

    /// Finds the whole frames of what was read.
    fn cut_into_frames(&mut self, now_ns: u64, frames: &mut Frames) {
        let mut pending = self.shared.pending();
        while !self.shared.is_raw() {
            match self.intake.next_frame() {
                Next::Frame(mark) => match self.understand(&mark, now_ns, &mut pending) {
                    Ok(passage) => frames.push((mark.range, passage)),
                    Err(codec::NotOneFrame) => {
                        self.intake.rewind(mark.range.start);
                        self.turn_raw(now_ns, "a reply that the codec does not read");
                    }
                },
                Next::More => return,
                Next::Unparseable(reason) => self.turn_raw(now_ns, reason),
            }
        }
        let rest = self.intake.take_raw();
        frames.extend(rest.map(|mark| self.raw(mark)));
    }

    fn understand(
        &self,
        mark: &Mark,
        now_ns: u64,
        pending: &mut Pending,
    ) -> Result<Passage, codec::NotOneFrame> {
        let frame = &self.intake.bytes()[mark.range.clone()];
        let unasked = || Passage::unasked(now_ns, self.shared.stamp(), mark.shape);
        let reply = match mark.shape {
            Shape::Command | Shape::Inline => {
                return Ok(Passage {
                    at_ns: now_ns,
                    asked: Asked {
                        request: command::read(frame, mark.shape, self.shared.keys()),
                        stamp: self.shared.stamp(),
                    },
                    shape: mark.shape,
                });
            }
            Shape::Blank | Shape::Raw => return Ok(unasked()),
            Shape::Plain => Reply::Answer,
            Shape::Error => Reply::Error,
            Shape::Composite { resp3 } => codec::read(frame, resp3)?,
        };
        Ok(match pending.answered_by(reply) {
            Some(asked) => Passage {
                at_ns: now_ns,
                asked,
                shape: mark.shape,
            },
            None => unasked(),
        })
    }

    fn turn_raw(&self, now_ns: u64, reason: &'static str) {
        self.shared.turn_raw(self.direction, now_ns, reason);
    }

    fn raw(&self, mark: Mark) -> (Range<usize>, Passage) {
        let now_ns = self.shared.clock().now_ns();
        let passage = Passage::unasked(now_ns, self.shared.stamp(), mark.shape);
        (mark.range, passage)
    }
}

impl Drop for Pump<'_> {
    /// A frame that still stands at a gate when the connection ends never goes on.
    fn drop(&mut self) {
        let bytes = self.intake.bytes();
        for (range, passage) in self.frames.iter().skip(self.dealt) {
            let frame = bytes.get(range.clone()).unwrap_or_default();
            self.shared
                .note(self.direction, passage, frame, None, Outcome::Cut);
        }
    }
}

/// What reading came to.
enum Filled {
    Some,
    End { reset: bool },
}

async fn read(reader: &mut ReadHalf<'_>, intake: &mut Intake) -> Filled {
    match reader.read(intake.room()).await {
        Ok(0) => Filled::End { reset: false },
        Ok(count) => {
            intake.filled(count);
            Filled::Some
        }
        Err(_) => Filled::End { reset: true },
    }
}
