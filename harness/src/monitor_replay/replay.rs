//! Replays the commands that a node's servers report on the model of Redis, so that the key watch sees every change of
//! a key.
//!
//! MONITOR reports no replies and no expiries. An expiry is replayed as the server reports it or, if it does not, by
//! the time of the server's next command. The replay records a gap if it cannot be sure what a command did, and the
//! run then has no complete key history.

use std::rc::Rc;

#[cfg(feature = "servers")]
use crate::history::Event;
use crate::history::KeyChange;
use crate::key_history::KeyRecord;
use crate::key_watch::{InspectionTime, KeyWatch};
use crate::model::{CommandKind, HeldValue, Now, ServerVersion};
use crate::proxy::CommandEffect;

use super::monitor_stream::{Loss, MonitorLine};
use super::replayed_server::{ByWorker, Notice, ReplayedServer, UnitPosition};
use super::stored_key::StoredKey;
use super::unknown_commands::UnknownCommands;
use super::written_changes::WrittenChanges;

/// Tolerance for expiries: the replay uses the time of the server's last command, while the server sets an expiry by
/// the clock of its event loop, which may be older.
const EXPIRY_SLACK_MS: u64 = 50;

/// Time before and after a key's expiry within which it is uncertain whether a command still found the key, if the
/// server does not report expiries.
const DOUBT_MS: u64 = 3;

/// The servers of one node, which are its master and the servers that may replace it. They are replayed on the model of
/// Redis from their reports.
pub struct MonitorReplay {
    version: ServerVersion,
    servers: Vec<ReplayedServer>,
    master: usize,
    watch: KeyWatch,
    /// The changes that each command of the workers made.
    written: WrittenChanges,
    /// The commands that the model does not support.
    unknown: UnknownCommands,
    /// Whether keys expire by the clock, because the servers do not report which keys expire.
    by_clock: bool,
    /// The first key for which it is uncertain whether a command was executed before the key's expiry, or `None` if
    /// there is none.
    doubtful: Option<String>,
}

impl MonitorReplay {
    /// Creates the replay of a node with this number of servers of this version, whose locks have these names.
    pub fn new(version: ServerVersion, servers: usize, locks: Rc<[String]>) -> Self {
        let mut servers: Vec<ReplayedServer> = (0..servers)
            .map(|server| ReplayedServer::new(version, server > 0))
            .collect();
        if let Some(master) = servers.first_mut() {
            master.model.watch_keys(true);
        }
        MonitorReplay {
            version,
            servers,
            master: 0,
            watch: KeyWatch::new(locks),
            written: WrittenChanges::default(),
            unknown: UnknownCommands::default(),
            by_clock: false,
            doubtful: None,
        }
    }

    /// Makes keys expire by the clock of the servers, because the servers do not report expiries.
    pub fn expire_by_clock(&mut self) {
        self.by_clock = true;
    }

    /// Records that a server has executed a command at `at_ns` on the run's clock. `by` is the worker's command, or
    /// `None` if another client sent it.
    pub fn record_executed(
        &mut self,
        server: usize,
        line: &MonitorLine,
        at_ns: u64,
        by: Option<ByWorker>,
    ) {
        let Some(replayed) = self.servers.get_mut(server) else {
            return;
        };
        let name = line.name();
        let position = replayed.position(line, &name);
        if self.by_clock {
            self.check_expiry_doubt(server, line);
        }
        let replayed = &mut self.servers[server];
        match position {
            UnitPosition::Outside | UnitPosition::Begins => {
                self.finish(server);
                if self.by_clock {
                    self.expire_by(server, line, at_ns);
                }
            }
            // Keys that the unit found expired belong to the unit.
            UnitPosition::Inside | UnitPosition::Ends => {
                for notice in std::mem::take(&mut replayed.notices) {
                    replayed.remove(&notice);
                }
            }
        }
        // A promoted server counts as the node's master once clients write to it. Clients may read from a replica.
        if by.is_some() && server != self.master && may_be_for_masters(&name) {
            self.promote(server, at_ns);
        }
        let replayed = &mut self.servers[server];
        if position == UnitPosition::Begins {
            replayed.begin(line, by.clone(), at_ns);
        }
        let unknown_before = replayed.model.unknown_commands().len();
        replayed.execute(line, &name, position);
        // A reported command was executed, even if the model's version of the server lacks it.
        let is_unknown =
            replayed.model.unknown_commands().len() > unknown_before || replayed.model.lacks(&name);
        if may_write(&name) {
            self.unknown.record(&name, line, is_unknown);
        }
        match position {
            UnitPosition::Outside => {
                let (before, words) = (self.watch.changes(), line.words.iter().map(Vec::as_slice));
                if let Some(by) = &by {
                    let reader = (by.command.worker, &*name);
                    self.watch.record_read(reader, words.clone());
                }
                self.record_command(server, at_ns, by.as_ref(), &name);
                self.watch.mark_unread(before, words);
            }
            UnitPosition::Begins | UnitPosition::Inside => {}
            UnitPosition::Ends => {
                if let Some(unit) = &mut replayed.active_unit {
                    (unit.by, unit.at_ns) = (by, at_ns);
                }
                self.finish(server);
            }
        }
    }

    /// Returns `true` if keys expire by the clock.
    pub fn is_by_clock(&self) -> bool {
        self.by_clock
    }

    /// Removes the keys that have certainly expired by the time of a line.
    fn expire_by(&mut self, server: usize, line: &MonitorLine, at_ns: u64) {
        let replayed = &mut self.servers[server];
        let certain_ms = i64::try_from(DOUBT_MS).unwrap_or_default();
        let wall_us = line.wall_us - certain_ms * 1000;
        replayed.model.expire_cycle(Now { wall_us });
        self.record_changes(server, at_ns, || KeyChange::Expired);
    }

    /// Checks whether a command names a key close to its expiry. Such a command may have been executed before or
    /// after the expiry, because the server's clock and the time of the line differ slightly.
    fn check_expiry_doubt(&mut self, server: usize, line: &MonitorLine) {
        let model = &self.servers[server].model;
        let is_doubtful = |name: &Vec<u8>| {
            let is_named = line.words.iter().any(|word| word == name);
            let held = is_named.then(|| model.held_value(0, name));
            let expires_ms = held.flatten().and_then(|held| held.expires_ms);
            expires_ms.is_some_and(|at_ms| at_ms.abs_diff(line.wall_us / 1000) <= DOUBT_MS)
        };
        let doubtful = self.watch.names().find(is_doubtful);
        if self.doubtful.is_none() {
            self.doubtful = doubtful.map(|name| String::from_utf8_lossy(&name).into_owned());
        }
    }

    /// Records that a server has removed a key that had expired, or has evicted a key.
    pub(super) fn record_loss(&mut self, server: usize, notice: Notice) {
        match self.servers.get_mut(server) {
            Some(replayed) if replayed.active_unit.is_some() => replayed.notices.push(notice),
            Some(_) => self.remove(server, &notice),
            None => {}
        }
    }

    fn remove(&mut self, server: usize, notice: &Notice) {
        self.servers[server].remove(notice);
        self.record_changes(server, notice.at_ns, || match notice.loss {
            Loss::Expired => KeyChange::Expired,
            Loss::Evicted => KeyChange::Evicted,
        });
    }

    /// Ends the active script or transaction of a server, and records its changes.
    fn finish(&mut self, server: usize) {
        let replayed = &mut self.servers[server];
        let Some(unit) = replayed.active_unit.take() else {
            return;
        };
        let notices = std::mem::take(&mut replayed.notices);
        let before = self.watch.changes();
        self.record_command(server, unit.at_ns, unit.by.as_ref(), "");
        let words = unit.words.iter().map(Vec::as_slice);
        self.watch.mark_unread(before, words);
        if let Some(declared) = &unit.declared {
            let declared = declared.iter().map(Vec::as_slice);
            self.watch.record_undeclared(before, declared);
        }
        for notice in notices {
            self.remove(server, &notice);
        }
    }

    /// Ends the active units of all servers.
    pub fn settle(&mut self) {
        for server in 0..self.servers.len() {
            self.finish(server);
        }
    }

    /// Records a new client with this address, which ends the transaction of an earlier client.
    pub fn record_connected(&mut self, server: usize, address: &str) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.forget(address);
        }
    }

    /// Records that the client at this address has closed its connection, so that it no longer waits in a blocking
    /// command.
    pub fn record_closed(&mut self, server: usize, address: &str) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.stop_waiting(address);
        }
    }

    /// Records that a server has started with these keys, at `wall_us` of its wall clock.
    pub fn record_restarted(
        &mut self,
        server: usize,
        keys: &[StoredKey],
        wall_us: i64,
        at_ns: u64,
    ) {
        self.settle();
        let is_master = server == self.master;
        let Some(replayed) = self.servers.get_mut(server) else {
            return;
        };
        // Keys that expired while the server was down must not count as lost in the restart.
        replayed.wall_us = wall_us;
        replayed.model.expire_cycle(replayed.now());
        self.record_changes(server, at_ns, || KeyChange::Expired);
        let mut started = ReplayedServer::new(self.version, !is_master);
        started.model.watch_keys(is_master);
        started.wall_us = wall_us;
        started.load(keys);
        self.servers[server] = started;
        if is_master {
            self.record_replacement(at_ns, &KeyChange::Restarted);
        }
    }

    /// Makes a server the node's master from now on.
    pub fn promote(&mut self, server: usize, at_ns: u64) {
        if server < self.servers.len() && server != self.master {
            self.settle();
            self.servers[self.master].model.watch_keys(false);
            self.master = server;
            self.servers[server].is_replica = false;
            self.servers[server].model.watch_keys(true);
            self.record_replacement(at_ns, &KeyChange::FailedOver);
        }
    }

    /// Compares the replay with the keys that the master has at this time of its wall clock. Returns a description of
    /// the first difference.
    pub fn difference(&mut self, stored: &[StoredKey], wall_us: i64) -> Option<String> {
        self.settle();
        let mut real = ReplayedServer::new(self.version, false);
        real.wall_us = wall_us;
        real.load(stored);
        let master = &mut self.servers[self.master];
        master.wall_us = wall_us;
        master.model.expire_cycle(master.now());
        let mut names: Vec<Vec<u8>> = stored.iter().map(|key| key.name.clone()).collect();
        names.extend(self.watch.names());
        names.sort();
        names.dedup();
        let same = |one: &Option<HeldValue>, other: &Option<HeldValue>| match (one, other) {
            (Some(one), Some(other)) => {
                let expiries = one.expires_ms.zip(other.expires_ms);
                one.text == other.text
                    && one.expires_ms.is_some() == other.expires_ms.is_some()
                    && expiries.is_none_or(|(one, other)| one.abs_diff(other) <= EXPIRY_SLACK_MS)
            }
            (one, other) => one.is_none() && other.is_none(),
        };
        let differing = names.into_iter().find_map(|name| {
            let replayed = master.model.held_value(0, &name);
            let actual = real.model.held_value(0, &name);
            // A key that is about to expire may be gone on one side only.
            let expiring = [&replayed, &actual].into_iter().flatten().any(|held| {
                let left = held.expires_ms.map(|at_ms| at_ms - wall_us / 1000);
                left.is_some_and(|left| left <= EXPIRY_SLACK_MS as i64)
            });
            (!expiring && !same(&replayed, &actual)).then_some((name, replayed, actual))
        });
        let (name, replayed, actual) = differing?;
        let shown =
            |held: Option<HeldValue>| held.map_or("nothing".into(), |held| held.text.to_string());
        Some(format!(
            "{}: the replay has {}, the server has {}",
            String::from_utf8_lossy(&name),
            shown(replayed),
            shown(actual)
        ))
    }

    /// Returns the reason if the key history has a gap although the servers have sent their reports: the model of Redis
    /// does not support a command on a lock's key, or it is uncertain when a key expired.
    pub fn gap(&self) -> Option<String> {
        if let Some(name) = self.unknown.command_on_locks(&self.watch) {
            return Some(format!("the model of Redis does not support {name}"));
        }
        let key = self.doubtful.as_ref()?;
        Some(format!(
            "a command named {key} within {DOUBT_MS} ms of its expiry, and the server does not report which came first, \
             because its keyspace notifications are off (`notify-keyspace-events Exe`)"
        ))
    }

    /// Returns the keys that scripts changed without a declaration, as events of this node.
    #[cfg(feature = "servers")]
    pub(crate) fn take_undeclared(&mut self, node: usize) -> Vec<Event> {
        let undeclared = self.watch.take_undeclared().into_iter();
        undeclared
            .map(|key| {
                let at_ns = key.at_ns();
                key.into_event(node, at_ns)
            })
            .collect()
    }

    /// Returns the number of the server that is the master.
    pub fn master(&self) -> usize {
        self.master
    }

    /// Removes and returns the changes so far, in the order in which they happened.
    pub fn take(&mut self) -> Vec<KeyRecord> {
        self.settle();
        self.watch.take()
    }

    /// Records the beginning of an attempt to take this lock.
    pub fn begin_attempt(&mut self, op: u64, lock: u32) {
        self.watch.begin_attempt(op, lock);
    }

    /// Returns the effect on locks of the command with this number on this connection. The effects of earlier commands
    /// that were not queried are included, because one of them may have taken a lock.
    pub fn effect_of(&mut self, conn: u64, number: u64) -> CommandEffect {
        self.settle();
        let written = self.written.take(conn, number);
        let mut all = written.iter();
        let own = written.iter().find(|(other, _)| *other == number);
        CommandEffect {
            took_lock: all.any(|(_, changes)| self.watch.took_lock(changes.clone())),
            lock: own.and_then(|(_, changes)| self.watch.lock_changed(changes.clone())),
        }
    }

    /// Returns the keys that hold locks under derived names, if they may have changed since the last call. Each
    /// entry is a lock and the key's name.
    pub fn new_derived_keys(&mut self) -> Option<Vec<(u32, Vec<u8>)>> {
        self.watch.new_derived_keys()
    }

    /// Returns the state of the keys.
    #[cfg(feature = "servers")]
    pub(crate) fn watch(&self) -> &KeyWatch {
        &self.watch
    }

    /// Records the changes of a command, and the request that made them.
    fn record_command(&mut self, server: usize, at_ns: u64, by: Option<&ByWorker>, name: &str) {
        let before = self.watch.changes();
        self.record_changes(server, at_ns, || cause_of_change(by, name));
        let request = by.and_then(|by| by.request);
        self.written.record(request, before..self.watch.changes());
    }

    fn record_changes(&mut self, server: usize, at_ns: u64, why: impl Fn() -> KeyChange) {
        if server == self.master {
            let time = self.inspection_time(at_ns);
            let model = &mut self.servers[server].model;
            self.watch.inspect(model, time, why);
        }
    }

    fn record_replacement(&mut self, at_ns: u64, why: &KeyChange) {
        let time = self.inspection_time(at_ns);
        let model = &mut self.servers[self.master].model;
        self.watch.inspect_all(model, time, why);
    }

    fn inspection_time(&self, at_ns: u64) -> InspectionTime {
        InspectionTime {
            at_ns,
            wall_ms: self.servers[self.master].now().ms(),
        }
    }
}

/// Returns `true` if a command may change keys, or is unknown. `name` is the command, or the command and its
/// subcommand.
fn may_write(name: &str) -> bool {
    let (command, subcommand) = name.split_once(' ').unwrap_or((name, ""));
    CommandKind::for_command(command, subcommand).is_none_or(CommandKind::writes)
}

/// Returns `false` for a command that replicas answer as well.
fn may_be_for_masters(name: &str) -> bool {
    let (command, subcommand) = name.split_once(' ').unwrap_or((name, ""));
    let is_for_masters = |kind: CommandKind| kind.writes() || kind.takes();
    CommandKind::for_command(command, subcommand).is_none_or(is_for_masters)
}

/// Returns the cause of the changes of a command.
fn cause_of_change(by: Option<&ByWorker>, name: &str) -> KeyChange {
    match (by, CommandKind::for_command(name, "")) {
        (Some(by), _) => KeyChange::Command(by.command.clone()),
        (None, Some(CommandKind::Removes)) => KeyChange::Evicted,
        (None, Some(CommandKind::Flushes)) => KeyChange::Flushed,
        _ => KeyChange::Found,
    }
}
