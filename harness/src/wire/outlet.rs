//! The writing end of one direction: what waits to go on, and the going.

use std::collections::VecDeque;
use std::io;

use picklock_scenarios::Direction;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::WriteHalf;

use super::connection::Shared;
use super::entry::Outcome;
use super::fault::ImposedId;
use super::passage::Passage;
use super::ruling::FaultView;

/// More bytes than this do not wait: nothing more is read, and TCP slows the sender down.
const FULL: usize = 1 << 20;

/// What waits.
enum Load {
    /// A frame, or bytes that are none.
    Passage(Passage),
    /// What a write could not take at once; the frames that it is part of have begun to go.
    Rest,
    /// The end of the stream.
    End,
    /// The stream broke.
    Reset,
}

struct Parcel {
    load: Load,
    bytes: Vec<u8>,
    /// So many bytes have gone.
    gone: usize,
    /// When it may go at the earliest.
    due_ns: u64,
    /// Not while one of these is in force.
    holds: Vec<ImposedId>,
    outcome: Outcome,
    /// It has been counted among what a partition stops.
    stopped: bool,
}

impl Parcel {
    fn new(load: Load, bytes: Vec<u8>) -> Self {
        Parcel {
            load,
            bytes,
            gone: 0,
            due_ns: 0,
            holds: Vec::new(),
            outcome: Outcome::Forwarded,
            stopped: false,
        }
    }
}

/// The writing end of one direction.
pub(super) struct Outlet<'a> {
    shared: &'a Shared<'a>,
    direction: Direction,
    writer: WriteHalf<'a>,
    pub(super) faults: FaultView,
    queue: VecDeque<Parcel>,
    waiting: usize,
    /// No frame overtakes another: none is due before this.
    latest_due_ns: u64,
}

impl<'a> Outlet<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, direction: Direction, writer: WriteHalf<'a>) -> Self {
        Outlet {
            shared,
            direction,
            writer,
            faults: shared.faults(Some(direction)),
            queue: VecDeque::new(),
            waiting: 0,
            latest_due_ns: 0,
        }
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// True when more may be read. Not while the receiver does not take what it was sent.
    pub(super) fn has_room(&self) -> bool {
        let going = |front: &Parcel| matches!(front.load, Load::Rest);
        self.waiting < FULL && !self.queue.front().is_some_and(going)
    }

    /// Writes at once what the socket takes, and keeps the rest. Only when nothing waits.
    pub(super) fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        let count = match self.writer.try_write(bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if count < bytes.len() {
            self.enqueue(Parcel::new(Load::Rest, bytes[count..].to_vec()));
        }
        Ok(())
    }

    /// Asks the faults about the next frame, and lets it wait for its turn or swallows it.
    pub(super) fn admit(&mut self, passage: Passage, bytes: &[u8]) {
        let ruling = self.faults.rule(passage.is_message());
        if ruling.drop {
            self.shared
                .note(self.direction, &passage, bytes, None, Outcome::Dropped);
            return;
        }
        let mut parcel = Parcel::new(Load::Passage(passage), bytes.to_vec());
        if !ruling.delay.is_zero() {
            parcel.outcome = Outcome::Delayed;
            let delay_ns = u64::try_from(ruling.delay.as_nanos()).unwrap_or(u64::MAX);
            parcel.due_ns = passage.at_ns.saturating_add(delay_ns);
        }
        if !ruling.holds.is_empty() {
            parcel.outcome = Outcome::Held;
            parcel.holds = ruling.holds;
        }
        self.latest_due_ns = self.latest_due_ns.max(parcel.due_ns);
        parcel.due_ns = self.latest_due_ns;
        self.enqueue(parcel);
    }

    /// The stream has ended, in order or not; what waits goes first.
    pub(super) fn end(&mut self, reset: bool) {
        let load = if reset { Load::Reset } else { Load::End };
        self.enqueue(Parcel::new(load, Vec::new()));
    }

    fn enqueue(&mut self, parcel: Parcel) {
        self.waiting += parcel.bytes.len();
        self.queue.push_back(parcel);
    }

    /// Lets go what may go, until nothing waits. May be dropped at any point and called again.
    pub(super) async fn serve(&mut self) -> io::Result<()> {
        while !self.queue.is_empty() {
            if self.front_may_go().await {
                self.send_front().await?;
            }
        }
        Ok(())
    }

    /// True when the first parcel may go. Else waits until that can have changed.
    async fn front_may_go(&mut self) -> bool {
        let Some(front) = self.queue.front_mut() else {
            return false;
        };
        if self.faults.is_partitioned(!front.stopped) {
            front.stopped = true;
            front.outcome = Outcome::Held;
            self.faults.changed().await;
            return false;
        }
        front.stopped = false;
        if self.faults.holds(&front.holds) {
            self.faults.changed().await;
            return false;
        }
        let early = front.due_ns.saturating_sub(self.shared.clock().now_ns());
        if early > 0 {
            let due = self.shared.clock().instant(front.due_ns);
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = self.faults.changed() => {}
            }
            return false;
        }
        true
    }

    /// Writes of the first parcel what the socket takes.
    async fn send_front(&mut self) -> io::Result<()> {
        let Some(front) = self.queue.front_mut() else {
            return Ok(());
        };
        match &front.load {
            Load::Passage(passage) if front.gone == 0 => {
                let passage = *passage;
                // From here on it counts as gone: an answer can come at any time.
                let now_ns = self.shared.clock().now_ns();
                self.shared.depart(self.direction, &passage);
                let (bytes, outcome) = (&front.bytes, front.outcome);
                self.shared
                    .note(self.direction, &passage, bytes, Some(now_ns), outcome);
                front.load = Load::Rest;
            }
            Load::Passage(_) | Load::Rest => {}
            Load::End => {
                self.queue.pop_front();
                return self.writer.shutdown().await;
            }
            Load::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
        }
        match self.writer.try_write(&front.bytes[front.gone..]) {
            Ok(count) => front.gone += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::select! {
                    writable = self.writer.writable() => writable?,
                    () = self.faults.changed() => {}
                }
            }
            Err(error) => return Err(error),
        }
        if front.gone == front.bytes.len() {
            self.waiting -= front.bytes.len();
            self.queue.pop_front();
        }
        Ok(())
    }
}

impl Drop for Outlet<'_> {
    /// What has not gone when the connection ends never will: the log says so.
    fn drop(&mut self) {
        for parcel in &self.queue {
            if let Load::Passage(passage) = &parcel.load {
                let bytes = &parcel.bytes;
                self.shared
                    .note(self.direction, passage, bytes, None, Outcome::Cut);
            }
        }
    }
}
