//! Reads the commands that the servers execute, and replays them to build the key history of their keys.
//!
//! Each server reports the commands that it executes (`MONITOR`) and the keys that expire (keyspace notifications) on a
//! separate connection, which no fault affects. A second connection sends marks: once a mark appears in the report,
//! everything before it has been read.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::marks::Marks;
use super::report_connection::{connected, open_report};
use super::stored_keys::{self, ANSWER, KeyInspection, Stored};
use crate::backend::MissingKeyHistory;
use crate::clock::Clock;
use crate::external_servers::SharedServers;
use crate::history::Event;
use crate::key_history::KeyRecord;
use crate::monitor_replay::{MonitorReplay, ServerReport};
use crate::proxy::{CommandEffect, Proxy};
use crate::servers::ServerAddress;

/// How long to wait for a server's outstanding MONITOR output before killing the server.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Number of marks that an external server may leave unreported at the end of a run before its report counts as
/// incomplete. The observer waits for each of these marks for [`ANSWER`].
const MAX_MARKS: usize = 3;

/// Reason for a gap: the report does not contain a mark.
const NO_MARK: &str = "a mark (ECHO) did not come back in the MONITOR output";

/// Reason for a gap: the report does not contain a mark although it continues without a pause.
const NO_PAUSE: &str = "a mark (ECHO) did not come back within 2 s although the MONITOR output kept coming, so it is not read any further";

/// If an external server reports at least this number of bytes after a mark was sent and before the mark comes back,
/// its report counts as one without a pause.
const MAX_UNMARKED: u64 = CHUNK as u64;

/// Maximum number of bytes of a report to read at once.
const CHUNK: usize = 1 << 16;

/// Reason for a gap: the report does not contain a command.
const NO_COMMAND: &str =
    "the server has answered a command on a lock's key, and its MONITOR output lacks the command";

/// Beginning of every mark.
const MARK: &str = "picklock-mark-";

/// Observer of one node's keys.
pub(super) struct ObservedNode {
    node: usize,
    replay: RefCell<MonitorReplay>,
    servers: Vec<ObservedServer>,
    /// Data that distinguishes the run from others on the same servers, or `None` if the servers belong to this run.
    shared: Option<Rc<SharedServers>>,
    /// Beginning of this run's marks.
    mark: String,
    proxy: Proxy,
    clock: Clock,
}

/// Observation of one of a node's servers.
struct ObservedServer {
    address: Cell<ServerAddress>,
    /// The marks sent to this server.
    marked: Rc<Marks>,
    /// The connection that sends marks, or `None` while the server is down.
    marker: tokio::sync::Mutex<Option<OwnedWriteHalf>>,
    /// The task that reads the report.
    reader: RefCell<Option<JoinHandle<()>>>,
    /// Number of bytes of the report that were read.
    received: Cell<u64>,
    /// Whether the observer has stopped reading the report, because it does not pause.
    is_given_up: Cell<bool>,
    /// Reason why the report is incomplete, or `None` if it is complete.
    gap: RefCell<Option<MissingKeyHistory>>,
    /// Number of keys that an external server had evicted at the start of the run, or `None` if it does not report
    /// that.
    evicted: Cell<Option<u64>>,
}

impl ObservedNode {
    /// Starts to observe the servers of a node. The first server is the node's master; `replay` must be empty.
    ///
    /// # Errors
    /// Returns an error if a server does not answer, or refuses.
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
            received: Cell::default(),
            is_given_up: Cell::default(),
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
            if node.shared.is_some() && !node.catch_up(server).await {
                node.record_unreported(server, NO_MARK);
            }
        }
        Ok(node)
    }

    /// Resumes the observation after a restart. The server may have another address. No client may be able to reach it
    /// yet.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or refuses.
    pub(super) async fn restarted(
        self: &Rc<Self>,
        server: usize,
        address: ServerAddress,
    ) -> io::Result<()> {
        self.finish_report(server).await;
        self.servers[server].address.set(address);
        self.listen(server).await?;
        let Stored { keys, wall_us } = stored_keys::read(address, &[]).await?;
        let at_ns = self.clock.now_ns();
        let mut replay = self.replay.borrow_mut();
        replay.record_restarted(server, &keys, wall_us, at_ns);
        Ok(())
    }

    /// Reads the outstanding report of the node's master before it is killed. The master must not receive further
    /// requests. This is necessary because a server answers a client before it reports the command: if it died in
    /// between, the command would be missing from the report.
    pub(super) async fn drain_master(self: &Rc<Self>) {
        let master = self.replay.borrow().master();
        let drained = async {
            // A server may execute the mark before other commands that it read in the same turn. So a second mark is
            // needed.
            self.catch_up(master).await;
            self.catch_up(master).await;
        };
        let _ = timeout(LAST_WORDS, drained).await;
    }

    /// Reads the report of the node's dead master to its end. This must precede a promotion; otherwise the replay would
    /// attribute the unread part to a server that is not the master.
    pub(super) async fn finish_master_report(self: &Rc<Self>) {
        let master = self.replay.borrow().master();
        self.finish_report(master).await;
    }

    /// Records that a server has been promoted. Must be called before a client can reach the new master.
    pub(super) async fn promoted(self: &Rc<Self>, server: usize) {
        self.catch_up(server).await;
        let at_ns = self.clock.now_ns();
        self.replay.borrow_mut().promote(server, at_ns);
    }

    /// Waits until the replay contains all commands that the node's servers have executed so far. For a server that is
    /// frozen or gone, the wait times out.
    pub(super) async fn settle(self: &Rc<Self>) {
        for server in 0..self.servers.len() {
            self.catch_up(server).await;
        }
    }

    /// Returns the effect of a command, given by its number on this connection, or no effect if `number` is `None`.
    /// Returns `None` if the effect is unknown. Before it returns, passes the names of all keys that were written so
    /// far to the proxy.
    pub(super) async fn effect_of(
        self: &Rc<Self>,
        conn: u64,
        number: Option<u64>,
    ) -> Option<CommandEffect> {
        self.settle().await;
        let mut replay = self.replay.borrow_mut();
        let observed = &self.servers[replay.master()];
        let ended = (observed.reader.borrow().as_ref()).is_none_or(JoinHandle::is_finished);
        let is_known = !ended && observed.gap.borrow().is_none();
        let effect = is_known.then(|| match number {
            Some(number) => replay.effect_of(conn, number),
            None => CommandEffect::default(),
        });
        self.name_keys(&mut replay);
        effect
    }

    /// Records the start of an attempt to take this lock.
    pub(super) fn begin_attempt(&self, op: u64, lock: u32) {
        self.replay.borrow_mut().begin_attempt(op, lock);
    }

    /// Passes new keys that hold locks under derived names to the proxy.
    fn name_keys(&self, replay: &mut MonitorReplay) {
        if let Some(derived) = replay.new_derived_keys() {
            self.proxy.derive_keys(self.node, &derived);
        }
    }

    /// Compares the replay with the keys of the node's master. Returns `true` if the master has answered and they
    /// match.
    pub(super) async fn compare(self: &Rc<Self>) -> bool {
        self.settle().await;
        for server in 0..self.servers.len() {
            self.check_report_is_open(server).await;
        }
        if self.shared.is_some() {
            self.check_report_keeps_up().await;
        }
        self.check_evictions().await;
        // A replay with a gap is not compared, because the unread part of the report may be too long to read.
        let has_gap = |server: &ObservedServer| server.gap.borrow().is_some();
        if self.servers.iter().any(has_gap) {
            return false;
        }
        let master = self.replay.borrow().master();
        let address = self.servers[master].address.get();
        // Other users may own any number of keys, so only the run's keys are read.
        let own: Vec<Vec<u8>> = match self.shared {
            Some(_) => self.replay.borrow().watch().names().collect(),
            None => Vec::new(),
        };
        if self.shared.is_some() && own.is_empty() {
            return true;
        }
        let Stored { keys, wall_us } = match stored_keys::inspect(address, &own).await {
            KeyInspection::Keys(stored) => stored,
            KeyInspection::Gone | KeyInspection::Frozen | KeyInspection::Failed(_) => return false,
        };
        // Replay everything that was executed before the keys were read.
        self.settle().await;
        let difference = self.replay.borrow_mut().difference(&keys, wall_us);
        // Something changed a key that the replay did not follow.
        if let Some(difference) = &difference {
            self.record_unreported(master, difference);
        }
        difference.is_none()
    }

    /// Records a gap if an external server does not report all commands that it has executed: no mark comes back, or a
    /// command that was answered before a mark was sent is missing. A program between the server and Picklock may drop
    /// a part of the report.
    async fn check_report_keeps_up(self: &Rc<Self>) {
        for server in 0..self.servers.len() {
            let asked_ns = self.clock.now_ns();
            let mut keeps_up = false;
            for _ in 0..MAX_MARKS {
                keeps_up = keeps_up || self.catch_up(server).await;
            }
            let sent = self.proxy.sent_requests();
            if !keeps_up {
                self.record_unreported(server, NO_MARK);
            } else if sent.is_some_and(|sent| sent.has_unreported(self.node, asked_ns)) {
                self.record_unreported(server, NO_COMMAND);
            }
        }
    }

    /// Records a gap if an external server may have evicted keys, because such a server may not report evictions.
    async fn check_evictions(&self) {
        if !self.replay.borrow().is_by_clock() {
            return;
        }
        let server = self.replay.borrow().master();
        let observed = &self.servers[server];
        let now = stored_keys::evicted(observed.address.get()).await;
        if now.is_none() || now != observed.evicted.get() {
            let reason = "the server may have evicted keys (see `INFO stats`), and it does not report evictions";
            self.record_gap(server, reason);
        }
    }

    /// Takes the changes of the node's keys, and the reason if they are incomplete.
    pub(super) fn take(&self) -> (Vec<KeyRecord>, Option<MissingKeyHistory>) {
        let mut gaps = self
            .servers
            .iter()
            .map(|server| server.gap.borrow().clone());
        let mut replay = self.replay.borrow_mut();
        // A command that the model does not support explains a difference.
        let unfollowed = replay.gap().map(MissingKeyHistory::gap);
        let gap = unfollowed.or_else(|| gaps.find_map(|gap| gap));
        (replay.take(), gap)
    }

    /// Takes the keys that scripts changed without declaring them.
    pub(super) fn take_undeclared(&self) -> Vec<Event> {
        self.replay.borrow_mut().take_undeclared(self.node)
    }

    /// Returns the names of the keys that hold this lock.
    pub(super) fn keys_of(&self, lock: &str) -> Vec<String> {
        self.replay.borrow().watch().keys_of(lock)
    }

    /// Returns the names of changed keys that do not contain `prefix`.
    pub(super) fn names_without(&self, prefix: &str) -> Vec<String> {
        let replay = self.replay.borrow();
        let names = replay.watch().names().map(String::from_utf8);
        let names = names.filter_map(Result::ok);
        names.filter(|name| !name.contains(prefix)).collect()
    }

    /// Records a gap if a running server has closed the connection of its report, which happens in a failover by
    /// Sentinels. The commands that it has executed since then are unknown.
    async fn check_report_is_open(&self, server: usize) {
        let observed = &self.servers[server];
        let ended = (observed.reader.borrow().as_ref()).is_none_or(JoinHandle::is_finished);
        if !ended {
            return;
        }
        let keys = [self.mark.clone().into_bytes()];
        match stored_keys::inspect(observed.address.get(), &keys).await {
            KeyInspection::Gone => self.check_report_is_complete(server),
            KeyInspection::Keys(_) | KeyInspection::Frozen => {
                self.record_gap(server, "a server closed its MONITOR connection")
            }
            KeyInspection::Failed(reason) => {
                let reason = format!(
                    "a server closed its MONITOR connection, and its keys cannot be read: {reason}"
                );
                self.record_gap(server, &reason);
            }
        }
    }

    async fn listen(self: &Rc<Self>, server: usize) -> io::Result<()> {
        let observed = &self.servers[server];
        let address = observed.address.get();
        let is_notified = !self.replay.borrow().is_by_clock();
        let (reader, writer) = open_report(address, self.shared.is_none(), is_notified).await?;
        let marks = &observed.marked;
        marks.seen.set(marks.sent.get());
        let node = Rc::clone(self);
        let reading = tokio::task::spawn_local(async move {
            // No more data is sent, but closing this half would end the connection.
            let _writer = writer;
            node.read(server, reader).await;
        });
        *observed.reader.borrow_mut() = Some(reading);
        let (mut answers, writer) = connected(address).await?.into_split();
        // The replies are ignored, but they must be read.
        tokio::task::spawn_local(async move {
            let _ = tokio::io::copy(&mut answers, &mut tokio::io::sink()).await;
        });
        *observed.marker.lock().await = Some(writer);
        Ok(())
    }

    /// Reads the report of a dead server to its end.
    async fn finish_report(self: &Rc<Self>, server: usize) {
        let observed = &self.servers[server];
        observed.marker.lock().await.take();
        let reader = observed.reader.borrow_mut().take();
        if let Some(reader) = reader
            && timeout(ANSWER, reader).await.is_err()
        {
            self.record_gap(server, "the MONITOR output of a dead server did not end");
        }
        self.check_report_is_complete(server);
    }

    /// Records a gap if a dead server has not reported all commands. The proxy has recorded the server's replies, which
    /// shows the commands that are missing.
    fn check_report_is_complete(&self, server: usize) {
        let sent = self.proxy.sent_requests();
        let is_incomplete = sent.is_some_and(|sent| sent.has_unreported(self.node, u64::MAX));
        if server == self.replay.borrow().master() && is_incomplete {
            let reason = "a server died before it had reported all commands that it had executed";
            self.record_gap(server, reason);
        }
    }

    /// Sends a mark, and waits until it appears in the report. Returns `false` if it does not appear. If the report
    /// already has a gap, returns `true` without sending a mark.
    async fn catch_up(self: &Rc<Self>, server: usize) -> bool {
        let observed = &self.servers[server];
        if observed.gap.borrow().is_some() {
            return true;
        }
        let marks = Rc::clone(&observed.marked);
        let received_before = observed.received.get();
        let mark = marks.sent.get() + 1;
        marks.sent.set(mark);
        let send_mark = async {
            let mut marker = observed.marker.lock().await;
            let Some(marker) = marker.as_mut() else {
                return false;
            };
            let mut echo = redis::cmd("ECHO");
            echo.arg(format!("{}{mark}", self.mark));
            marker.write_all(&echo.get_packed_command()).await.is_ok()
        };
        if !send_mark.await {
            return true;
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
        // A server that is frozen now does not execute the mark, so the wait has a limit.
        let is_seen = timeout(ANSWER, seen).await.is_ok();
        let unmarked = observed.received.get() - received_before;
        if !is_seen && self.shared.is_some() && unmarked >= MAX_UNMARKED {
            observed.is_given_up.set(true);
            self.record_unreported(server, NO_PAUSE);
        }
        is_seen
    }

    fn record_gap(&self, server: usize, reason: &str) {
        let mut gap = self.servers[server].gap.borrow_mut();
        gap.get_or_insert_with(|| reason.to_owned().into());
    }

    /// Records a gap because the server does not report all commands that it has executed, although it accepts
    /// `MONITOR`.
    fn record_unreported(&self, server: usize, reason: &str) {
        let mut gap = self.servers[server].gap.borrow_mut();
        gap.get_or_insert_with(|| MissingKeyHistory::gap(reason.to_owned()));
    }

    async fn read(self: Rc<Self>, server: usize, mut reader: OwnedReadHalf) {
        let mut report = ServerReport::for_server(server);
        if let Some(shared) = &self.shared {
            report.skip_other_users(shared.prefix.clone());
        }
        let mut chunk = vec![0; CHUNK];
        let observed = &self.servers[server];
        // The proxy records requests from the beginning, so this ends only when the proxy is closed.
        while let Some(sent) = self.proxy.sent_requests() {
            // Without this, a report that does not pause would keep timers from expiring.
            tokio::task::yield_now().await;
            let count = reader.read(&mut chunk).await.unwrap_or(0);
            if count == 0 || observed.is_given_up.get() {
                break;
            }
            observed
                .received
                .set(observed.received.get() + count as u64);
            let marks = &observed.marked;
            let replay = &mut self.replay.borrow_mut();
            let (chunk, at_ns) = (&chunk[..count], self.clock.now_ns());
            let echoed = |word: &[u8]| marks.echoed(word, &self.mark);
            let result = report.read(chunk, at_ns, replay, sent, echoed);
            self.name_keys(replay);
            if let Err(line) = result {
                self.record_gap(
                    server,
                    &format!("invalid line in the MONITOR output: {line}"),
                );
                break;
            }
        }
        // Wake all tasks that wait for marks, because no more of the report will be read.
        observed.marked.seen.set(u64::MAX);
        observed.marked.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
