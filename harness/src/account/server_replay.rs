//! The servers of one node, replayed on the model of Redis from what they tell.

use std::collections::HashMap;
use std::rc::Rc;

use crate::history::{KeyChange, KeyCommand};
use crate::model::{ClientId, HeldValue, Now, Server, ServerVersion};

use super::key_watch::{KeyRecord, KeyWatch, LookTime};
use super::monitor_stream::{MonitorLine, Source};

/// Commands that change no key by themselves: what they run comes in lines of their own, or they
/// belong to a connection that the replay does not have.
const NOT_REPLAYED: &[&str] = &[
    "ASKING",
    "AUTH",
    "CLIENT",
    "CONFIG",
    "DISCARD",
    "ECHO",
    "EVAL",
    "EVALSHA",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXEC",
    "FCALL",
    "FCALL_RO",
    "HELLO",
    "INFO",
    "MONITOR",
    "MULTI",
    "PING",
    "PSUBSCRIBE",
    "PUBLISH",
    "QUIT",
    "RESET",
    "ROLE",
    "SCRIPT",
    "SELECT",
    "SUBSCRIBE",
    "UNWATCH",
    "WAIT",
    "WATCH",
];

/// The replay's clock is that of the server's last command; an expiry is set by the clock of the
/// server's event loop, which may be older.
const EXPIRY_SLACK_MS: u64 = 50;

/// A key as a server has it after a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Its name, in the first database.
    pub name: Vec<u8>,
    /// What it holds.
    pub value: StoredValue,
    /// How much longer it lives, in milliseconds; negative: for ever.
    pub ttl_ms: i64,
}

/// The value of a stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredValue {
    /// A string.
    String(Vec<u8>),
    /// Anything else: the command that makes it, and its arguments after the key.
    Made(&'static str, Vec<Vec<u8>>),
}

/// One server.
struct Replayed {
    model: Server,
    /// The model's client for each client of the server.
    clients: HashMap<String, (ClientId, usize)>,
    /// Whose script runs.
    script: Option<KeyCommand>,
    /// What the server's wall clock showed last.
    wall_us: i64,
}

/// The servers of one node: its master and those that may replace it.
pub struct NodeReplay {
    servers: Vec<Replayed>,
    master: usize,
    watch: KeyWatch,
}

impl NodeReplay {
    /// A node with so many servers, whose locks have these names.
    pub fn new(servers: usize, locks: Rc<[String]>) -> Self {
        let mut servers: Vec<Replayed> = (0..servers).map(|_| Replayed::new()).collect();
        if let Some(master) = servers.first_mut() {
            master.model.watch_keys(true);
        }
        NodeReplay {
            servers,
            master: 0,
            watch: KeyWatch::new(locks),
        }
    }

    /// A server has executed a command at `at_ns` on the run's clock. `by`: which worker's, if it was
    /// a worker's.
    pub fn executed(
        &mut self,
        server: usize,
        line: &MonitorLine,
        at_ns: u64,
        by: Option<KeyCommand>,
    ) {
        let Some(replayed) = self.servers.get_mut(server) else {
            return;
        };
        replayed.wall_us = line.wall_us;
        let name = name_of(line);
        let by = match line.source {
            Source::Client(_) => {
                replayed.script.clone_from(&by);
                by
            }
            Source::Script => replayed.script.clone(),
        };
        // Clients of the promoted server are what makes it the node's master.
        if by.is_some() && server != self.master {
            self.promote(server, at_ns);
        }
        if NOT_REPLAYED.contains(&name.as_str()) {
            return;
        }
        self.servers[server].execute(line);
        self.note(server, at_ns, || match (&by, name.as_str()) {
            (Some(by), _) => KeyChange::Command(by.clone()),
            (None, "DEL" | "UNLINK") => KeyChange::Evicted,
            (None, "FLUSHALL" | "FLUSHDB") => KeyChange::Flushed,
            _ => KeyChange::Found,
        });
    }

    /// A server has removed a key that had expired.
    pub fn expired(&mut self, server: usize, database: usize, key: &[u8], at_ns: u64) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.model.expire_key(database, key);
            self.note(server, at_ns, || KeyChange::Expired);
        }
    }

    /// A server has evicted a key.
    pub fn evicted(&mut self, server: usize, database: usize, key: &[u8], at_ns: u64) {
        if let Some(replayed) = self.servers.get_mut(server) {
            replayed.model.evict(database, key);
            self.note(server, at_ns, || KeyChange::Evicted);
        }
    }

    /// A server has started, and has these keys. `wall_us`: what its wall clock shows.
    pub fn restarted(&mut self, server: usize, keys: &[StoredKey], wall_us: i64, at_ns: u64) {
        let Some(replayed) = self.servers.get_mut(server) else {
            return;
        };
        *replayed = Replayed::new();
        replayed.model.watch_keys(server == self.master);
        replayed.wall_us = wall_us;
        replayed.load(keys);
        if server == self.master {
            self.note_replacement(at_ns, &KeyChange::Restarted);
        }
    }

    /// A server is the node's master from now on.
    pub fn promote(&mut self, server: usize, at_ns: u64) {
        if server < self.servers.len() && server != self.master {
            self.servers[self.master].model.watch_keys(false);
            self.master = server;
            self.servers[server].model.watch_keys(true);
            self.note_replacement(at_ns, &KeyChange::FailedOver);
        }
    }

    /// What the account says of a key of the master, and what the master itself has, if the two differ
    /// at this time of its wall clock.
    pub fn difference(&mut self, stored: &[StoredKey], wall_us: i64) -> Option<String> {
        let mut real = Replayed::new();
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
        let shown = |held: Option<HeldValue>| held.map_or("nothing".into(), |held| held.text);
        Some(format!(
            "{}: the account has {}, the server has {}",
            String::from_utf8_lossy(&name),
            shown(told),
            shown(there)
        ))
    }

    /// Which of the servers is the master.
    pub fn master(&self) -> usize {
        self.master
    }

    /// The changes so far, in the order in which they happened.
    pub(crate) fn take(&mut self) -> Vec<KeyRecord> {
        self.watch.take()
    }

    /// What the account knows of the keys.
    pub(crate) fn watch(&self) -> &KeyWatch {
        &self.watch
    }

    fn note(&mut self, server: usize, at_ns: u64, why: impl Fn() -> KeyChange) {
        if server == self.master {
            let time = self.look_time(at_ns);
            let model = &mut self.servers[server].model;
            self.watch.look(model, time, why);
        }
    }

    fn note_replacement(&mut self, at_ns: u64, why: &KeyChange) {
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

fn name_of(line: &MonitorLine) -> String {
    let name = line.words.first().map(Vec::as_slice).unwrap_or_default();
    String::from_utf8_lossy(name).to_ascii_uppercase()
}

impl Replayed {
    fn new() -> Self {
        Replayed {
            model: Server::new(ServerVersion::default()),
            clients: HashMap::new(),
            script: None,
            wall_us: 0,
        }
    }

    fn now(&self) -> Now {
        Now {
            wall_us: self.wall_us,
        }
    }

    /// Executes a command as a client of its own for each of the server's, because some of them wait.
    fn execute(&mut self, line: &MonitorLine) {
        let address = match &line.source {
            Source::Client(address) => address.as_str(),
            Source::Script => "script",
        };
        let now = self.now();
        self.model.time_out(now);
        let model = &mut self.model;
        let (client, database) = match self.clients.get_mut(address) {
            Some(known) => known,
            None => {
                let new = (model.connect(), 0);
                self.clients.entry(address.to_owned()).or_insert(new)
            }
        };
        if *database != line.database {
            let number = line.database.to_string();
            model.execute(*client, &[b"SELECT", number.as_bytes()], now);
            *database = line.database;
        }
        let words: Vec<&[u8]> = line.words.iter().map(Vec::as_slice).collect();
        model.execute(*client, &words, now);
        model.take_messages();
    }

    fn load(&mut self, keys: &[StoredKey]) {
        let client = self.model.connect();
        let now = self.now();
        for key in keys {
            let mut words: Vec<&[u8]> = Vec::new();
            match &key.value {
                StoredValue::String(value) => words.extend([b"SET", key.name.as_slice(), value]),
                StoredValue::Made(command, arguments) => {
                    words.extend([command.as_bytes(), &key.name]);
                    words.extend(arguments.iter().map(Vec::as_slice));
                }
            }
            self.model.execute(client, &words, now);
            if key.ttl_ms >= 0 {
                let ttl = key.ttl_ms.to_string();
                let words: [&[u8]; 3] = [b"PEXPIRE", &key.name, ttl.as_bytes()];
                self.model.execute(client, &words, now);
            }
        }
        self.model.disconnect(client);
    }
}
