use std::rc::Rc;

#[cfg(feature = "servers")]
use crate::history::Event;
use crate::history::KeyChange;
use crate::key_history::KeyRecord;
use crate::key_watch::{KeyWatch, LookTime};
use crate::model::{CommandKind, HeldValue, Now, ServerVersion};
use crate::proxy::CommandEffect;

use super::monitor_stream::{Loss, MonitorLine};
use super::replayed_server::{ByWorker, Notice, Place, ReplayedServer};
use super::stored_key::StoredKey;
use super::written_changes::WrittenChanges;

/// The replay's clock is that of the server's last command; an expiry is set by the clock of the
/// server's event loop, which may be older.
const EXPIRY_SLACK_MS: u64 = 50;

/// So close to its expiry it is not certain whether a command still found a key, where the server does not tell.
const DOUBT_MS: u64 = 3;

/// The servers of one node, its master and those that may replace it, replayed on the model of Redis from what they tell.
pub struct MonitorReplay {
    version: ServerVersion,
    servers: Vec<ReplayedServer>,
    master: usize,
    watch: KeyWatch,
    /// Which command of the workers made which changes.
    written: WrittenChanges,
    /// The first command that the model does not know: what it did to the keys is not known either.
    unknown: Option<String>,
    /// The servers do not tell which keys expire: the clock decides.
    by_clock: bool,
    /// The first key of which the clock could not tell whether a command came before its expiry.
    doubtful: Option<String>,
}

impl MonitorReplay {
    /// A node with so many servers of this version, whose locks have these names.
    pub fn new(version: ServerVersion, servers: usize, locks: Rc<[String]>) -> Self {
        let servers = (0..servers).map(|server| ReplayedServer::new(version, server > 0));
        let mut servers: Vec<ReplayedServer> = servers.collect();
        if let Some(master) = servers.first_mut() {
            master.model.watch_keys(true);
        }
        MonitorReplay {
            version,
            servers,
            master: 0,
            watch: KeyWatch::new(locks),
            written: WrittenChanges::default(),
            unknown: None,
            by_clock: false,
            doubtful: None,
        }
    }

    /// From now on keys expire when the clock of the servers says so, because they do not tell it.
    pub fn expire_by_clock(&mut self) {
        self.by_clock = true;
    }

    /// A server has executed a command at `at_ns` on the run's clock. `by`: which worker's, if it was
    /// a worker's.
    pub fn executed(
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
        let place = replayed.place(line, &name);
        if self.by_clock {
            self.doubt(server, line);
        }
        let replayed = &mut self.servers[server];
        match place {
            Place::Alone | Place::Begins => {
                self.finish(server);
                if self.by_clock {
                    self.run_out(server, line, at_ns);
                }
            }
            // What was found expired belongs to the unit.
            Place::Inside | Place::Ends => {
                for notice in std::mem::take(&mut replayed.notices) {
                    replayed.remove(&notice);
                }
            }
        }
        // Clients that write to the promoted server are what makes it the node's master. A replica can be read.
        if by.is_some() && server != self.master && may_be_for_masters(&name) {
            self.promote(server, at_ns);
        }
        let replayed = &mut self.servers[server];
        if place == Place::Begins {
            replayed.begin(line, by.clone(), at_ns);
        }
        replayed.execute(line, &name, place);
        if self.unknown.is_none() {
            let mut unknown = replayed.model.unknown_commands().iter();
            // What is told was executed, whatever the model knows of servers between its versions.
            let lacking = Some(&name).filter(|name| replayed.model.lacks(name));
            let unknown = unknown.find(|name| may_write(name));
            self.unknown = unknown.or(lacking).cloned();
        }
        match place {
            Place::Alone => self.record_of(server, at_ns, by.as_ref(), &name),
            Place::Begins | Place::Inside => {}
            Place::Ends => {
                if let Some(unit) = &mut replayed.open {
                    (unit.by, unit.at_ns) = (by, at_ns);
                }
                self.finish(server);
            }
        }
    }

    /// True if keys expire when the clock says so.
    pub fn is_by_clock(&self) -> bool {
        self.by_clock
    }

    /// Removes what has certainly expired by the time of a line.
    fn run_out(&mut self, server: usize, line: &MonitorLine, at_ns: u64) {
        let replayed = &mut self.servers[server];
        let certain_ms = i64::try_from(DOUBT_MS).unwrap_or_default();
        let wall_us = line.wall_us - certain_ms * 1000;
        replayed.model.expire_cycle(Now { wall_us });
        self.note(server, at_ns, || KeyChange::Expired);
    }

    /// A command that comes close to the end of a key that it names may have come before or after it: the server's
    /// clock and the time of the line are not quite the same.
    fn doubt(&mut self, server: usize, line: &MonitorLine) {
        let model = &self.servers[server].model;
        let is_doubtful = |name: &Vec<u8>| {
            let is_named = line.words.iter().any(|word| word == name);
            let held = is_named.then(|| model.held_value(0, name));
            let expires_ms = held.flatten().and_then(|held| held.expires_ms);
            expires_ms.is_some_and(|at_ms| at_ms.abs_diff(line.wall_us / 1000) <= DOUBT_MS)
        };
        let doubtful = self.watch.names().find(is_doubtful);
        let doubtful = doubtful.map(|name| String::from_utf8_lossy(&name).into_owned());
        self.doubtful = self.doubtful.take().or(doubtful);
    }

    /// A server has removed a key that had expired, or has evicted one.
    pub(super) fn lost(&mut self, server: usize, notice: Notice) {
        match self.servers.get_mut(server) {
            Some(replayed) if replayed.open.is_some() => replayed.notices.push(notice),
            Some(_) => self.lose(server, &notice),
            None => {}
        }
    }

    fn lose(&mut self, server: usize, notice: &Notice) {
        self.servers[server].remove(notice);
        self.note(server, notice.at_ns, || match notice.loss {
            Loss::Expired => KeyChange::Expired,
            Loss::Evicted => KeyChange::Evicted,
        });
    }

    /// The script or the transaction that a server has begun is over: nothing more belongs to it.
    fn finish(&mut self, server: usize) {
        let replayed = &mut self.servers[server];
        let Some(unit) = replayed.open.take() else {
            return;
        };
        let notices = std::mem::take(&mut replayed.notices);
        let before = self.watch.changes();
        self.record_of(server, unit.at_ns, unit.by.as_ref(), "");
        if let Some(declared) = &unit.declared {
            let declared = declared.iter().map(Vec::as_slice);
            self.watch.record_undeclared(before, declared);
        }
        for notice in notices {
            self.lose(server, &notice);
        }
    }

    /// Everything that the servers have told so far is over.
    pub fn settle(&mut self) {
        for server in 0..self.servers.len() {
            self.finish(server);
        }
    }

    /// A client with this address is new: what an earlier one had begun is over.
    pub fn connected(&mut self, server: usize, address: &str) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.forget(address);
        }
    }

    /// The client at this address has closed its connection: it waits for nothing any more.
    pub fn closed(&mut self, server: usize, address: &str) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.stop_waiting(address);
        }
    }

    /// A server has started, and has these keys. `wall_us`: what its wall clock shows.
    pub fn restarted(&mut self, server: usize, keys: &[StoredKey], wall_us: i64, at_ns: u64) {
        self.settle();
        let is_master = server == self.master;
        let Some(replayed) = self.servers.get_mut(server) else {
            return;
        };
        // What ran out while the server was down was not lost by its start.
        replayed.wall_us = wall_us;
        replayed.model.expire_cycle(replayed.now());
        self.note(server, at_ns, || KeyChange::Expired);
        let mut started = ReplayedServer::new(self.version, !is_master);
        started.model.watch_keys(is_master);
        started.wall_us = wall_us;
        started.load(keys);
        self.servers[server] = started;
        if is_master {
            self.record_replacement(at_ns, &KeyChange::Restarted);
        }
    }

    /// A server is the node's master from now on.
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

    /// What the replay has of a key of the master, and what the master itself has, if the two differ
    /// at this time of its wall clock.
    pub fn difference(&mut self, stored: &[StoredKey], wall_us: i64) -> Option<String> {
        self.settle();
        let mut real = ReplayedServer::new(self.version, false);
        real.wall_us = wall_us;
        real.load(stored);
        let master = &mut self.servers[self.master];
        master.wall_us = wall_us;
        master.model.expire_cycle(master.now());
        let names = stored.iter().map(|key| key.name.clone());
        let mut names: Vec<Vec<u8>> = names.chain(self.watch.names()).collect();
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
            let told = master.model.held_value(0, &name);
            let there = real.model.held_value(0, &name);
            // A key that is about to expire may be gone on one side only.
            let expiring = [&told, &there].into_iter().flatten().any(|held| {
                let left = held.expires_ms.map(|at_ms| at_ms - wall_us / 1000);
                left.is_some_and(|left| left <= EXPIRY_SLACK_MS as i64)
            });
            (!expiring && !same(&told, &there)).then_some((name, told, there))
        });
        let (name, told, there) = differing?;
        let shown =
            |held: Option<HeldValue>| held.map_or("nothing".into(), |held| held.text.to_string());
        Some(format!(
            "{}: the account has {}, the server has {}",
            String::from_utf8_lossy(&name),
            shown(told),
            shown(there)
        ))
    }

    /// Why the account has a gap although the servers have told what they tell: a command that the model of
    /// Redis does not know, or an expiry that they do not tell.
    pub fn gap(&self) -> Option<String> {
        let unknown = self.unknown.as_ref();
        let unknown = unknown.map(|name| format!("the model of Redis does not know {name}"));
        unknown.or_else(|| {
            let key = self.doubtful.as_ref()?;
            Some(format!(
                "a command named {key} within {DOUBT_MS} ms of its expiry, and the server does not tell which came \
                 first: its keyspace notifications are off (`notify-keyspace-events Exe`)"
            ))
        })
    }

    /// The keys that scripts changed and had not declared, as events of this node.
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

    /// Which of the servers is the master.
    pub fn master(&self) -> usize {
        self.master
    }

    /// The changes so far, in the order in which they happened.
    pub fn take(&mut self) -> Vec<KeyRecord> {
        self.settle();
        self.watch.take()
    }

    /// An attempt to take this lock begins.
    pub fn begin_attempt(&mut self, op: u64, lock: u32) {
        self.watch.begin_attempt(op, lock);
    }

    /// What the command with this number on this connection did to locks. Those before it that were not
    /// asked about count as well: one of them may have taken a lock.
    pub fn effect_of(&mut self, conn: u64, number: u64) -> CommandEffect {
        self.settle();
        let written = self.written.take(conn, number);
        let mut all = written.iter();
        let its = written.iter().find(|(of, _)| *of == number);
        CommandEffect {
            took: all.any(|(_, changes)| self.watch.took(changes.clone())),
            lock: its.and_then(|(_, changes)| self.watch.lock_changed(changes.clone())),
        }
    }

    /// The keys that hold locks under names of another kind, if that may have changed since it was asked:
    /// the lock, and the name.
    pub fn new_derived_keys(&mut self) -> Option<Vec<(u32, Vec<u8>)>> {
        self.watch.new_derived_keys()
    }

    /// What is known of the keys.
    #[cfg(feature = "servers")]
    pub(crate) fn watch(&self) -> &KeyWatch {
        &self.watch
    }

    /// Notes the changes of a command, and whose they are.
    fn record_of(&mut self, server: usize, at_ns: u64, by: Option<&ByWorker>, name: &str) {
        let before = self.watch.changes();
        self.note(server, at_ns, || why(by, name));
        let request = by.and_then(|by| by.request);
        self.written.note(request, before..self.watch.changes());
    }

    fn note(&mut self, server: usize, at_ns: u64, why: impl Fn() -> KeyChange) {
        if server == self.master {
            let time = self.look_time(at_ns);
            let model = &mut self.servers[server].model;
            self.watch.look(model, time, why);
        }
    }

    fn record_replacement(&mut self, at_ns: u64, why: &KeyChange) {
        let time = self.look_time(at_ns);
        let model = &mut self.servers[self.master].model;
        self.watch.look_at_all(model, time, why);
    }

    fn look_time(&self, at_ns: u64) -> LookTime {
        LookTime {
            at_ns,
            wall_ms: self.servers[self.master].now().ms(),
        }
    }
}

/// True for a command that may change keys, also where it is not known; `name`: it, or it and its
/// subcommand.
fn may_write(name: &str) -> bool {
    let (command, subcommand) = name.split_once(' ').unwrap_or((name, ""));
    CommandKind::of(command, subcommand).is_none_or(CommandKind::writes)
}

/// False for a command that a replica answers, too.
fn may_be_for_masters(name: &str) -> bool {
    let (command, subcommand) = name.split_once(' ').unwrap_or((name, ""));
    let is_for_masters = |kind: CommandKind| kind.writes() || kind.takes();
    CommandKind::of(command, subcommand).is_none_or(is_for_masters)
}

/// Why a command changes keys.
fn why(by: Option<&ByWorker>, name: &str) -> KeyChange {
    match (by, CommandKind::of(name, "")) {
        (Some(by), _) => KeyChange::Command(by.command.clone()),
        (None, Some(CommandKind::Removes)) => KeyChange::Evicted,
        (None, Some(CommandKind::Flushes)) => KeyChange::Flushed,
        _ => KeyChange::Found,
    }
}
