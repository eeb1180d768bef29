//! The wire as its users hold it: links, connections, faults and the log.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use picklock_scenarios::{Direction, Phase};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use super::LinkId;
use super::command::Keys;
use super::connection::carry;
use super::fault::{ImposedId, LinkFault};
use super::link::Place;
use super::log::WireLog;
use super::ruling::{FaultView, Faults};
use super::stamp::{Stamp, StampCell};
use super::watch::Watcher;
use crate::clock::Clock;
use crate::entropy;

/// So long a refused accept waits before the next: the machine may be out of descriptors.
const BREATHER: Duration = Duration::from_millis(10);

/// What stands between all workers and all nodes of a run. Copies are handles on the same wire.
///
/// It must be [closed](Wire::close) before its runtime ends for the log to be complete.
#[derive(Clone)]
pub struct Wire {
    fabric: Arc<Fabric>,
}

/// Everything that links and connections share.
pub(super) struct Fabric {
    pub clock: Clock,
    pub keys: Keys,
    pub watcher: Arc<dyn Watcher>,
    pub log: WireLog,
    seed: u64,
    faults: Arc<Faults>,
    switchboard: Mutex<Switchboard>,
    /// True once the wire is closed.
    closed: watch::Sender<bool>,
    /// Told whenever a listener or connection ends.
    ended: Notify,
}

#[derive(Default)]
struct Switchboard {
    upstreams: HashMap<Place, SocketAddr>,
    stamps: HashMap<usize, Arc<StampCell>>,
    live: BTreeMap<u64, Live>,
    /// Everything else that must have ended before the wire is closed.
    counted: usize,
    next_conn: u64,
}

struct Live {
    link: LinkId,
    cut: Arc<Notify>,
}

impl Wire {
    /// A wire without links. `keys`: the names of the locks' keys, which commands are searched
    /// for; everything calls them by position. `seed`: what jitter is drawn from.
    pub fn new(clock: Clock, keys: Vec<String>, seed: u64, watcher: Arc<dyn Watcher>) -> Self {
        let log = WireLog::new(&keys);
        Wire {
            fabric: Arc::new(Fabric {
                clock,
                keys: Keys::new(&keys),
                watcher,
                log,
                seed,
                faults: Arc::new(Faults::new()),
                switchboard: Mutex::default(),
                closed: watch::Sender::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Opens a link, and returns the loopback address on which its worker finds the node. Must be
    /// called in a tokio runtime, which then carries the link.
    ///
    /// # Errors
    /// When `upstream` is not a loopback address, the link is open already, the wire is closed,
    /// or no port can be had.
    pub async fn open(&self, link: LinkId, upstream: SocketAddr) -> io::Result<SocketAddr> {
        self.open_server(link, 0, upstream).await
    }

    /// The same for a server of the node that is not its first: with Sentinels every one of them
    /// can be its master. Everything that strikes the node's links strikes this one, too.
    ///
    /// # Errors
    /// As [`Wire::open`].
    pub async fn open_server(
        &self,
        link: LinkId,
        server: usize,
        upstream: SocketAddr,
    ) -> io::Result<SocketAddr> {
        only_loopback(upstream)?;
        let place = Place { link, server };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        {
            let mut board = self.fabric.board();
            if board.upstreams.contains_key(&place) {
                let message = format!("{link} is open already");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            if *self.fabric.closed.borrow() {
                return Err(io::Error::other("the wire is closed"));
            }
            board.upstreams.insert(place, upstream);
        }
        let fabric = Arc::clone(&self.fabric);
        tokio::spawn(listen(self.count()?, listener, move |client| {
            begin(&fabric, place, client);
        }));
        Ok(address)
    }

    /// Keeps the wire from being closed for as long as the count lives.
    pub(super) fn count(&self) -> io::Result<Counted> {
        let mut board = self.fabric.board();
        if *self.fabric.closed.borrow() {
            return Err(io::Error::other("the wire is closed"));
        }
        board.counted += 1;
        Ok(Counted(Arc::clone(&self.fabric)))
    }

    /// A node's first server came back, perhaps elsewhere: its links lead there from now on, and if
    /// they led to another place before, the node's connections are reset. Workers keep their
    /// addresses.
    ///
    /// # Errors
    /// When `upstream` is not a loopback address.
    pub fn redirect(&self, node: usize, upstream: SocketAddr) -> io::Result<()> {
        only_loopback(upstream)?;
        let mut moved = false;
        {
            let mut board = self.fabric.board();
            let links = board.upstreams.iter_mut();
            for (_, address) in
                links.filter(|(place, _)| place.link.node == node && place.server == 0)
            {
                moved |= *address != upstream;
                *address = upstream;
            }
        }
        // Where nothing moved, a connection may lead to the new server already.
        if moved {
            self.cut(None, Some(&[node]));
        }
        Ok(())
    }

    /// Tells what the driver asked a worker for: stamped on all that the worker sends from now
    /// on, and on the answers to it. Call it before the worker hears of it.
    pub fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.fabric.stamp(worker).set(Stamp { op, phase });
    }

    /// Imposes a fault. Frames that have gone or are waiting already are not struck; a partition
    /// stops those that wait, too.
    pub fn impose(&self, fault: LinkFault) -> ImposedId {
        self.fabric.faults.impose(fault)
    }

    /// Lifts a fault. What it kept back goes on, in order. Delays that were dealt out stay.
    pub fn lift(&self, id: ImposedId) {
        self.fabric.faults.lift(id);
    }

    /// How many frames a fault has struck so far, whether it is in force or not; for a partition,
    /// how often it stopped something. Zero: it never struck.
    pub fn struck(&self, id: ImposedId) -> u64 {
        self.fabric.faults.struck(id)
    }

    /// Resets the connections of these workers to these nodes (`None`: of all), on both sides.
    /// Returns how many there were.
    pub fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let lists = |list: Option<&[usize]>, number| list.is_none_or(|list| list.contains(&number));
        let board = self.fabric.board();
        let live = board.live.values();
        live.filter(|live| lists(workers, live.link.worker) && lists(nodes, live.link.node))
            .map(|live| live.cut.notify_one())
            .count()
    }

    /// The command log.
    pub fn log(&self) -> &WireLog {
        &self.fabric.log
    }

    /// Closes all listeners, resets all connections, and returns when they are gone: after that
    /// the log is complete.
    pub async fn close(&self) {
        self.fabric.closed.send_replace(true);
        loop {
            let ended = self.fabric.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            {
                let board = self.fabric.board();
                board.live.values().for_each(|live| live.cut.notify_one());
                if board.counted == 0 && board.live.is_empty() {
                    return;
                }
            }
            ended.await;
        }
    }
}

impl Fabric {
    fn board(&self) -> MutexGuard<'_, Switchboard> {
        // No statement leaves it half changed, so a panic elsewhere does not spoil it.
        let board = self.switchboard.lock();
        board.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stamp(&self, worker: usize) -> Arc<StampCell> {
        Arc::clone(self.board().stamps.entry(worker).or_default())
    }

    pub(super) fn upstream(&self, place: Place) -> Option<SocketAddr> {
        self.board().upstreams.get(&place).copied()
    }

    pub(super) fn cut_notice(&self, conn: u64) -> Arc<Notify> {
        let board = self.board();
        board
            .live
            .get(&conn)
            .map_or_else(Arc::default, |live| Arc::clone(&live.cut))
    }

    pub(super) fn fault_view(
        &self,
        link: LinkId,
        conn: u64,
        direction: Option<Direction>,
    ) -> FaultView {
        let way = match direction {
            Some(Direction::Request) => "wire jitter of requests",
            _ => "wire jitter of replies",
        };
        let seed = entropy::derive(self.seed, way, conn);
        self.faults.view(link, conn, direction, seed)
    }

    fn connected(&self, link: LinkId) -> u64 {
        let mut board = self.board();
        let conn = board.next_conn;
        board.next_conn += 1;
        let cut = Arc::default();
        board.live.insert(conn, Live { link, cut });
        conn
    }
}

/// Something that must have ended before the wire is closed.
pub(super) struct Counted(Arc<Fabric>);

impl Counted {
    /// Ready when the wire is to be closed.
    pub(super) async fn closed(&self) {
        let mut closed = self.0.closed.subscribe();
        // The sender lives as long as the fabric does.
        let _ = closed.wait_for(|closed| *closed).await;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.board().counted -= 1;
        self.0.ended.notify_waiters();
    }
}

/// Takes the connections of one link until the wire is closed.
pub(super) async fn listen(counted: Counted, listener: TcpListener, begin: impl Fn(TcpStream)) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = counted.closed() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((client, _)) => {
                // Without it small replies would wait for acknowledgements; it fails only on
                // dead sockets.
                let _ = client.set_nodelay(true);
                begin(client);
            }
            Err(_) => tokio::time::sleep(BREATHER).await,
        }
    }
    // The port is free before the wire counts as closed.
    drop(listener);
}

fn begin(fabric: &Arc<Fabric>, place: Place, client: TcpStream) {
    let guard = Connected {
        conn: fabric.connected(place.link),
        fabric: Arc::clone(fabric),
    };
    tokio::spawn(async move {
        carry(&guard.fabric, place, guard.conn, client).await;
    });
}

/// Takes a connection off the switchboard when it has ended, however it ended.
struct Connected {
    fabric: Arc<Fabric>,
    conn: u64,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.fabric.board().live.remove(&self.conn);
        self.fabric.ended.notify_waiters();
    }
}

/// Nothing of a run may leave this machine.
pub(super) fn only_loopback(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{address} is not a loopback address; the wire only leads to this machine"),
    ))
}
