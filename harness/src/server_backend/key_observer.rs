//! Listens to what the servers execute, and replays it for the key history of their keys.
//!
//! Each server is told on a connection of its own, which no fault touches, to report what it executes
//! (MONITOR) and which keys expire (keyspace notifications). A second connection sends marks: when
//! a mark comes back in the report, everything before it has been read.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::stored_keys::{self, ANSWER, KeyInspection, Stored};
use crate::clock::Clock;
use crate::external_servers::SharedServers;
use crate::history::Event;
use crate::key_history::KeyRecord;
use crate::monitor_replay::{MonitorReplay, MonitorStream, ServerMessage, ServerReport};
use crate::proxy::{CommandEffect, Proxy};
use crate::servers::ServerAddress;

/// A server that is about to be killed is asked for so long to tell everything first.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What a mark begins with.
const MARK: &str = "picklock-mark-";

/// The keys of one node.
pub(super) struct ObservedNode {
    node: usize,
    replay: RefCell<MonitorReplay>,
    servers: Vec<ObservedServer>,
    /// How the run is told from others at the same servers; `None`: there are no others.
    shared: Option<Rc<SharedServers>>,
    /// What the words of its marks begin with.
    mark: String,
    proxy: Proxy,
    clock: Clock,
}

/// One of a node's servers.
struct ObservedServer {
    address: Cell<ServerAddress>,
    /// The highest mark that has come back.
    marked: Rc<Marks>,
    /// The connection that sends marks; `None` while the server is down.
    marker: tokio::sync::Mutex<Option<OwnedWriteHalf>>,
    /// The task that reads the report.
    reader: RefCell<Option<JoinHandle<()>>>,
    /// Why the report is not complete, if it is not.
    gap: RefCell<Option<String>>,
    /// How many keys it had evicted at first, where it is not ours and says so.
    evicted: Cell<Option<u64>>,
}

#[derive(Default)]
struct Marks {
    sent: Cell<u64>,
    seen: Cell<u64>,
    changed: Notify,
}

impl ObservedNode {
    /// Begins to listen to the servers of a node, of which the first is its master; its replay is empty.
    /// `shared`: how the run is told from others at the same servers. `Err`: a server does not answer, or refuses.
    pub(super) async fn begin(
        node: usize,
        servers: Vec<ServerAddress>,
        shared: Option<Rc<SharedServers>>,
        replay: MonitorReplay,
        proxy: Proxy,
        clock: Clock,
    ) -> io::Result<Rc<Self>> {
        let count = servers.len();
        let token = shared.as_ref().map_or("", |shared| &shared.token);
        let mark = format!("{MARK}{token}");
        let observed = |address| ObservedServer {
            address: Cell::new(address),
            marked: Rc::default(),
            marker: tokio::sync::Mutex::default(),
            reader: RefCell::default(),
            gap: RefCell::default(),
            evicted: Cell::default(),
        };
        let node = Rc::new(ObservedNode {
            node,
            replay: RefCell::new(replay),
            shared,
            mark,
            servers: servers.into_iter().map(observed).collect(),
            proxy,
            clock,
        });
        for server in 0..count {
            node.listen(server).await?;
            let observed = &node.servers[server];
            if node.replay.borrow().is_by_clock() {
                let evicted = stored_keys::evicted(observed.address.get()).await;
                observed.evicted.set(evicted);
            }
        }
        Ok(node)
    }

    /// A server has started again, perhaps at another address, and no client can reach it yet.
    /// `Err`: it does not answer, or refuses.
    pub(super) async fn restarted(
        self: &Rc<Self>,
        server: usize,
        address: ServerAddress,
    ) -> io::Result<()> {
        self.ended(server).await;
        self.servers[server].address.set(address);
        self.listen(server).await?;
        let Stored { keys, wall_us } = stored_keys::read(address, &[]).await?;
        let at_ns = self.clock.now_ns();
        let mut replay = self.replay.borrow_mut();
        replay.record_restarted(server, &keys, wall_us, at_ns);
        Ok(())
    }

    /// The node's master is about to be killed, and is sent nothing more. A server answers a client before
    /// it tells us of the command, and one that dies in between leaves the command untold.
    pub(super) async fn master_dies(self: &Rc<Self>) {
        let master = self.replay.borrow().master();
        let told = async {
            // Of what a server reads in one turn, the mark may come first.
            self.catch_up(master).await;
            self.catch_up(master).await;
        };
        let _ = timeout(LAST_WORDS, told).await;
    }

    /// The node's master is gone: what it has said before is read to the end. A promotion that came first
    /// would take what is still unread for that of a server that is no master.
    pub(super) async fn master_died(self: &Rc<Self>) {
        let master = self.replay.borrow().master();
        self.ended(master).await;
    }

    /// A server has been promoted, and no client has reached it since.
    pub(super) async fn promoted(self: &Rc<Self>, server: usize) {
        self.catch_up(server).await;
        let at_ns = self.clock.now_ns();
        self.replay.borrow_mut().promote(server, at_ns);
    }

    /// Waits until everything that the node's servers have executed by now is replayed. A server
    /// that is frozen or gone is not waited for long.
    pub(super) async fn settle(self: &Rc<Self>) {
        for server in 0..self.servers.len() {
            self.catch_up(server).await;
        }
    }

    /// What a command of this connection did, given by its number; without one, nothing. The proxy knows
    /// the names of all keys then that were written before. `None`: it is not known.
    pub(super) async fn effect_of(
        self: &Rc<Self>,
        conn: u64,
        number: Option<u64>,
    ) -> Option<CommandEffect> {
        self.settle().await;
        let mut replay = self.replay.borrow_mut();
        let observed = &self.servers[replay.master()];
        let ended = (observed.reader.borrow().as_ref()).is_none_or(JoinHandle::is_finished);
        let knows = !ended && observed.gap.borrow().is_none();
        let effect = knows.then(|| match number {
            Some(number) => replay.effect_of(conn, number),
            None => CommandEffect::default(),
        });
        self.name_keys(&mut replay);
        effect
    }

    /// An attempt to take this lock begins.
    pub(super) fn begin_attempt(&self, op: u64, lock: u32) {
        self.replay.borrow_mut().begin_attempt(op, lock);
    }

    /// Tells the proxy which keys hold locks under names of another kind, if there are new ones.
    fn name_keys(&self, replay: &mut MonitorReplay) {
        if let Some(derived) = replay.new_derived_keys() {
            self.proxy.derive_keys(self.node, &derived);
        }
    }

    /// Compares the replay with what the node's master has. True: it has answered, and they are the same.
    pub(super) async fn compare(self: &Rc<Self>) -> bool {
        self.settle().await;
        for server in 0..self.servers.len() {
            self.must_not_have_broken_off(server).await;
        }
        self.must_not_have_evicted().await;
        // A replay that has a gap is not compared: what it lacks may be too long to be read.
        let has_gap = |server: &ObservedServer| server.gap.borrow().is_some();
        if self.servers.iter().any(has_gap) {
            return false;
        }
        let master = self.replay.borrow().master();
        let address = self.servers[master].address.get();
        // Of strangers' keys there may be any number.
        let own: Vec<Vec<u8>> = match self.shared {
            Some(_) => self.replay.borrow().watch().names().collect(),
            None => Vec::new(),
        };
        if self.shared.is_some() && own.is_empty() {
            return true;
        }
        let Stored { keys, wall_us } = match stored_keys::look(address, &own).await {
            KeyInspection::Keys(stored) => stored,
            KeyInspection::Gone | KeyInspection::Frozen | KeyInspection::Failed(_) => return false,
        };
        // What was executed before the look.
        self.settle().await;
        let differing = self.replay.borrow_mut().difference(&keys, wall_us);
        if let Some(difference) = &differing {
            self.gap(master, difference);
        }
        differing.is_none()
    }

    /// A server that is not ours may not tell of evictions.
    async fn must_not_have_evicted(&self) {
        if !self.replay.borrow().is_by_clock() {
            return;
        }
        let server = self.replay.borrow().master();
        let observed = &self.servers[server];
        let now = stored_keys::evicted(observed.address.get()).await;
        if now.is_none() || now != observed.evicted.get() {
            let reason = "it is not known whether the server has evicted keys (`INFO stats`), and it tells nothing of them";
            self.gap(server, reason);
        }
    }

    /// The changes of the node's keys, and why they are not complete, if they are not.
    pub(super) fn take(&self) -> (Vec<KeyRecord>, Option<String>) {
        let mut gaps = self.servers.iter().map(|it| it.gap.borrow().clone());
        let mut replay = self.replay.borrow_mut();
        let gap = gaps.find_map(|gap| gap).or_else(|| replay.gap());
        (replay.take(), gap)
    }

    /// The keys that scripts changed and had not declared.
    pub(super) fn take_undeclared(&self) -> Vec<Event> {
        self.replay.borrow_mut().take_undeclared(self.node)
    }

    /// The names of the keys that hold this lock.
    pub(super) fn keys_of(&self, lock: &str) -> Vec<String> {
        self.replay.borrow().watch().keys_of(lock)
    }

    /// The names of changed keys that do not contain this.
    pub(super) fn names_without(&self, prefix: &str) -> Vec<String> {
        let replay = self.replay.borrow();
        let names = replay.watch().names().map(String::from_utf8);
        let names = names.filter_map(Result::ok);
        names.filter(|name| !name.contains(prefix)).collect()
    }

    /// A server that answers, and whose report has ended, has closed the connection: Sentinels make the
    /// servers do that in a failover. What it has executed since is not known.
    async fn must_not_have_broken_off(&self, server: usize) {
        let observed = &self.servers[server];
        let ended = (observed.reader.borrow().as_ref()).is_none_or(JoinHandle::is_finished);
        if !ended {
            return;
        }
        let asked = [self.mark.clone().into_bytes()];
        match stored_keys::look(observed.address.get(), &asked).await {
            KeyInspection::Gone => self.must_have_told_all(server),
            KeyInspection::Keys(_) | KeyInspection::Frozen => {
                self.gap(server, "a server has ended its report")
            }
            KeyInspection::Failed(why) => {
                let reason = format!("a server has ended its report, and its keys: {why}");
                self.gap(server, &reason);
            }
        }
    }

    async fn listen(self: &Rc<Self>, server: usize) -> io::Result<()> {
        let observed = &self.servers[server];
        let address = observed.address.get();
        let is_notified = !self.replay.borrow().is_by_clock();
        let reporting = told_to_report(address, self.shared.is_none(), is_notified);
        let (reader, writer) = reporting.await?;
        let marks = &observed.marked;
        marks.seen.set(marks.sent.get());
        let node = Rc::clone(self);
        let reading = tokio::task::spawn_local(async move {
            // The server hears nothing more, but a closed half would end the connection.
            let _writer = writer;
            node.read(server, reader).await;
        });
        *observed.reader.borrow_mut() = Some(reading);
        let (mut answers, writer) = connected(address).await?.into_split();
        // The answers are of no interest, and must be read all the same.
        tokio::task::spawn_local(async move {
            let _ = tokio::io::copy(&mut answers, &mut tokio::io::sink()).await;
        });
        *observed.marker.lock().await = Some(writer);
        Ok(())
    }

    /// The server is gone: what it has said before is read to the end.
    async fn ended(self: &Rc<Self>, server: usize) {
        let observed = &self.servers[server];
        observed.marker.lock().await.take();
        let reader = observed.reader.borrow_mut().take();
        if let Some(reader) = reader
            && timeout(ANSWER, reader).await.is_err()
        {
            self.gap(server, "the report of a server that is gone does not end");
        }
        self.must_have_told_all(server);
    }

    /// A server has died. The proxy has seen its replies, so it knows what the server has not told.
    fn must_have_told_all(&self, server: usize) {
        let sent = self.proxy.sent_requests();
        let is_untold = sent.is_some_and(|sent| sent.has_unreported(self.node));
        if server == self.replay.borrow().master() && is_untold {
            let reason = "a server died before it had told all that it had executed";
            self.gap(server, reason);
        }
    }

    /// Sends a mark, and waits until it comes back.
    async fn catch_up(self: &Rc<Self>, server: usize) {
        let observed = &self.servers[server];
        let marks = Rc::clone(&observed.marked);
        let mark = marks.sent.get() + 1;
        marks.sent.set(mark);
        let sent = async {
            let mut marker = observed.marker.lock().await;
            let Some(marker) = marker.as_mut() else {
                return false;
            };
            let mut echo = redis::cmd("ECHO");
            echo.arg(format!("{}{mark}", self.mark));
            marker.write_all(&echo.get_packed_command()).await.is_ok()
        };
        if !sent.await {
            return;
        }
        let seen = async {
            loop {
                let changed = marks.changed.notified();
                if marks.seen.get() >= mark {
                    return;
                }
                changed.await;
            }
        };
        // A server that is frozen now executes nothing.
        let _ = timeout(ANSWER, seen).await;
    }

    fn gap(&self, server: usize, reason: &str) {
        let mut gap = self.servers[server].gap.borrow_mut();
        gap.get_or_insert_with(|| reason.to_owned());
    }

    async fn read(self: Rc<Self>, server: usize, mut reader: OwnedReadHalf) {
        let mut report = ServerReport::for_server(server);
        if let Some(shared) = &self.shared {
            report.skip_other_users(shared.prefix.clone());
        }
        let mut chunk = vec![0; 1 << 16];
        // They are kept since before the first connection.
        while let Some(sent) = self.proxy.sent_requests() {
            let count = reader.read(&mut chunk).await.unwrap_or(0);
            if count == 0 {
                break;
            }
            let marks = &self.servers[server].marked;
            let replay = &mut self.replay.borrow_mut();
            let (chunk, at_ns) = (&chunk[..count], self.clock.now_ns());
            let echoed = |word: &[u8]| marks.echoed(word, &self.mark);
            let told = report.read(chunk, at_ns, replay, sent, echoed);
            self.name_keys(replay);
            if let Err(line) = told {
                self.gap(server, &format!("a line of MONITOR that is none: {line}"));
                break;
            }
        }
        // Nobody has to wait for what will not be read.
        self.servers[server].marked.seen.set(u64::MAX);
        self.servers[server].marked.changed.notify_waiters();
    }
}

impl Marks {
    /// A word has come back in the report, of which those of marks begin like this.
    fn echoed(&self, word: &[u8], beginning: &str) {
        let mark = std::str::from_utf8(word).ok();
        let mark = mark.and_then(|word| word.strip_prefix(beginning)?.parse().ok());
        if let Some(mark) = mark {
            self.seen.set(self.seen.get().max(mark));
            self.changed.notify_waiters();
        }
    }
}

/// A connection to a server that answers.
async fn connected(address: ServerAddress) -> io::Result<TcpStream> {
    let connected = timeout(ANSWER, address.connect()).await;
    connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// RESP3, because a connection may report and be notified only there.
const HELLO: &str = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";

/// From now on the server notifies of keys that it removes by itself.
const NOTIFY: &str =
    "*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$22\r\nnotify-keyspace-events\r\n$3\r\nExe\r\n";

/// The notifications come here.
const SUBSCRIBE: &str =
    "*3\r\n$10\r\nPSUBSCRIBE\r\n$22\r\n__keyevent@*__:expired\r\n$22\r\n__keyevent@*__:evicted\r\n";

/// The commands come here.
const MONITOR: &str = "*1\r\n$7\r\nMONITOR\r\n";

/// A connection on which the server reports from now on. `is_ours`: its settings may be changed. `is_notified`: it
/// tells which keys it removes by itself.
async fn told_to_report(
    address: ServerAddress,
    is_ours: bool,
    is_notified: bool,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let (mut reader, mut writer) = connected(address).await?.into_split();
    let notify = if is_ours { NOTIFY } else { "" };
    let subscribe = if is_notified { SUBSCRIBE } else { "" };
    let commands = [HELLO, notify, subscribe, MONITOR].concat();
    writer.write_all(commands.as_bytes()).await?;
    let mut stream = MonitorStream::default();
    let mut answers = Vec::new();
    let set_up = async {
        // CONFIG SET and MONITOR are answered in lines; the others in frames.
        while answers.len() < 1 + usize::from(is_ours) {
            // One byte at a time: what follows belongs to the report.
            let mut byte = [0];
            reader.read_exact(&mut byte).await?;
            stream.feed(&byte);
            while let Some(told) = stream.next_message().map_err(io::Error::other)? {
                answers.push(told);
            }
        }
        Ok::<(), io::Error>(())
    };
    timeout(ANSWER, set_up)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let ok = ServerMessage::Answer("OK".into());
    match answers.iter().all(|told| *told == ok) {
        true => Ok((reader, writer)),
        false => Err(io::Error::other(format!(
            "the server at {address} does not report what it executes: {answers:?}"
        ))),
    }
}
