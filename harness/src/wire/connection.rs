//! One connection of a worker to a node: two pumps, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use picklock_scenarios::Direction;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::LinkId;
use super::command::Keys;
use super::entry::Outcome;
use super::fabric::Fabric;
use super::link::Place;
use super::log::{Record, WireLog};
use super::passage::{Passage, words};
use super::pending::Pending;
use super::pump::Pump;
use super::ruling::FaultView;
use super::scan::Shape;
use super::stamp::{Stamp, StampCell};
use super::watch::Watcher;
use crate::clock::Clock;

/// What both directions of a connection know.
pub(super) struct Shared<'a> {
    fabric: &'a Fabric,
    pub link: LinkId,
    server: usize,
    pub conn: u64,
    stamp: Arc<StampCell>,
    pending: Mutex<Pending>,
    /// Set when bytes came that are not RESP.
    raw: AtomicBool,
    raw_notice: Notify,
}

/// Carries one connection from its first byte to its last.
pub(super) async fn carry(fabric: &Fabric, place: Place, conn: u64, client: TcpStream) {
    let Place { link, server } = place;
    let shared = Shared {
        fabric,
        link,
        server,
        conn,
        stamp: fabric.stamp(link.worker),
        pending: Mutex::default(),
        raw: AtomicBool::new(false),
        raw_notice: Notify::new(),
    };
    let cut = fabric.cut_notice(conn);
    let upstream = tokio::select! {
        biased;
        () = cut.notified() => None,
        upstream = shared.reach() => upstream,
    };
    let Some(upstream) = upstream else {
        reset(client);
        return;
    };
    let (mut client, mut upstream) = (client, upstream);
    let whole = tokio::select! {
        biased;
        () = cut.notified() => false,
        both = shared.both_ways(&mut client, &mut upstream) => both.is_ok(),
    };
    if !whole {
        reset(client);
        reset(upstream);
    }
}

/// Closes a connection so that its peer sees it reset.
fn reset(stream: TcpStream) {
    // Where even this fails the socket is closed in the ordinary way, which ends it as well.
    let _ = stream.set_zero_linger();
}

impl Shared<'_> {
    /// Connects to the node, once nothing keeps the two apart. `None`: it does not answer.
    async fn reach(&self) -> Option<TcpStream> {
        // A handshake needs both directions, and so does the news that nobody is there.
        self.no_partition(None, true).await;
        let upstream = self.fabric.upstream(Place {
            link: self.link,
            server: self.server,
        });
        let error = match connect(upstream).await {
            Ok(stream) => return Some(stream),
            Err(error) => error,
        };
        let passage = Passage::unasked(self.clock().now_ns(), self.stamp(), Shape::Blank);
        let text = match upstream {
            Some(upstream) => format!("{upstream}: {error}"),
            None => error.to_string(),
        };
        let outcome = Outcome::Unreachable;
        self.note(Direction::Request, &passage, text.as_bytes(), None, outcome);
        self.no_partition(None, false).await;
        None
    }

    /// Waits until nothing keeps worker and node apart in this direction (`None`: in both).
    /// `strikes`: a partition that is met here has struck.
    async fn no_partition(&self, direction: Option<Direction>, strikes: bool) {
        let mut faults = self.faults(direction);
        let mut first = strikes;
        while faults.is_partitioned(first) {
            first = false;
            faults.changed().await;
        }
    }

    async fn both_ways(&self, client: &mut TcpStream, upstream: &mut TcpStream) -> io::Result<()> {
        let (client_reader, client_writer) = client.split();
        let (upstream_reader, upstream_writer) = upstream.split();
        let requests = Pump::new(self, Direction::Request, client_reader, upstream_writer);
        let replies = Pump::new(self, Direction::Reply, upstream_reader, client_writer);
        tokio::try_join!(
            self.tell(Direction::Reply, requests),
            self.tell(Direction::Request, replies),
        )?;
        Ok(())
    }

    /// Runs a pump. When it breaks because its receiver is gone, the sender hears of it only once
    /// nothing keeps the news, which travels in direction `back`, from it.
    async fn tell(&self, back: Direction, pump: Pump<'_>) -> io::Result<()> {
        let Err(error) = pump.run().await else {
            return Ok(());
        };
        self.no_partition(Some(back), false).await;
        Err(error)
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.fabric.clock
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.fabric.keys
    }

    pub(super) fn log(&self) -> &WireLog {
        &self.fabric.log
    }

    pub(super) fn watcher(&self) -> &dyn Watcher {
        &*self.fabric.watcher
    }

    pub(super) fn stamp(&self) -> Stamp {
        self.stamp.get()
    }

    pub(super) fn faults(&self, direction: Option<Direction>) -> FaultView {
        self.fabric.fault_view(self.link, self.conn, direction)
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, Pending> {
        // Every method leaves it whole.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the connection carries bytes that nobody understands.
    pub(super) fn is_raw(&self) -> bool {
        self.raw.load(Ordering::Acquire)
    }

    /// Ready when the connection has turned into a byte pipe.
    pub(super) async fn turned_raw(&self) {
        self.raw_notice.notified().await;
    }

    /// From here on the connection is a byte pipe.
    pub(super) fn turn_raw(&self, direction: Direction, now_ns: u64, reason: &'static str) {
        if !self.raw.swap(true, Ordering::AcqRel) {
            let passage = Passage::unasked(now_ns, self.stamp(), Shape::Blank);
            let outcome = Outcome::Unparseable;
            self.note(direction, &passage, reason.as_bytes(), None, outcome);
            // A permit stays for the direction that is not waiting just now.
            self.raw_notice.notify_one();
        }
    }

    /// A request is about to go: its answer can come at any time from now on.
    pub(super) fn ask(&self, pending: &mut Pending, passage: &Passage) {
        if !passage.is_raw() && !pending.ask(passage.asked) {
            let reason = "more than requests and replies";
            self.turn_raw(Direction::Request, passage.at_ns, reason);
        }
    }

    /// A frame is about to go.
    pub(super) fn depart(&self, direction: Direction, passage: &Passage) {
        if direction == Direction::Request {
            self.ask(&mut self.pending(), passage);
        }
    }

    pub(super) fn record(
        &self,
        direction: Direction,
        passage: &Passage,
        size: usize,
        sent_ns: Option<u64>,
        outcome: Outcome,
    ) -> Record {
        Record {
            at_ns: passage.at_ns,
            sent_ns,
            link: self.link,
            conn: self.conn,
            direction,
            asked: passage.asked,
            size,
            outcome,
        }
    }

    /// Writes one line into the log.
    pub(super) fn note(
        &self,
        direction: Direction,
        passage: &Passage,
        frame: &[u8],
        sent_ns: Option<u64>,
        outcome: Outcome,
    ) {
        if passage.is_raw() {
            return;
        }
        let record = self.record(direction, passage, frame.len(), sent_ns, outcome);
        let mut log = self.log().append();
        log.push(&record, words(frame, passage.shape));
    }
}

async fn connect(upstream: Option<SocketAddr>) -> io::Result<TcpStream> {
    let upstream = upstream.ok_or(io::ErrorKind::NotFound)?;
    let stream = TcpStream::connect(upstream).await?;
    // A command must not wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    Ok(stream)
}
