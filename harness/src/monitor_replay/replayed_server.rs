//! One server of a node, replayed.
//!
//! A script and a transaction happen at once, so what they change is looked at once: when they are
//! over. A server does not say when a script is over; the next thing that it says about another command
//! shows it. A key that a command finds expired is told before that command, so such a notification
//! waits until it is clear whether it belongs to the script.

use std::collections::{HashMap, HashSet};

use crate::history::KeyCommand;
use crate::key_watch::declared_keys;
use crate::model::{ClientId, CommandKind, Effect, Now, Reply, Server, ServerVersion, is_queued};

use super::monitor_stream::{Loss, MonitorLine, Source};
use super::stored_key::{StoredKey, StoredValue};

/// A worker's command.
#[derive(Debug, Clone)]
pub struct ByWorker {
    /// Whose, and in which attempt.
    pub command: KeyCommand,
    /// Its connection, and its number among those of the connection; `None`: that is not known.
    pub request: Option<(u64, u64)>,
}

/// Something that happens at once: a script with its inner commands, or a transaction.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// Whose; `None`: no worker's.
    pub(super) by: Option<ByWorker>,
    pub(super) at_ns: u64,
    /// Of a transaction: its client's address.
    transaction: Option<String>,
    /// Of a script: the keys that its command has declared.
    pub(super) declared: Option<Vec<Vec<u8>>>,
}

/// Where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It belongs to nothing else.
    Alone,
    /// A script, or the first command of a transaction.
    Begins,
    /// In the unit that has begun.
    Inside,
    /// The end of the transaction that has begun.
    Ends,
}

/// A notification.
#[derive(Debug, Clone)]
pub(super) struct Notice {
    pub(super) loss: Loss,
    pub(super) database: usize,
    pub(super) key: Vec<u8>,
    pub(super) at_ns: u64,
}

/// The keys that a script's command has declared.
fn declared(line: &MonitorLine) -> Option<Vec<Vec<u8>>> {
    let name = line.name();
    let declared = declared_keys(&name, line.words.iter().map(Vec::as_slice))?;
    Some(declared.map(<[u8]>::to_vec).collect())
}

/// One server.
pub(super) struct ReplayedServer {
    pub(super) model: Server,
    /// The model's client for each client of the server, and its database.
    clients: HashMap<String, (ClientId, usize)>,
    /// The addresses of the clients that have begun a transaction.
    transactions: HashSet<String>,
    /// What has begun and may not be over.
    pub(super) open: Option<Unit>,
    /// What was told since the last command of the open unit.
    pub(super) notices: Vec<Notice>,
    /// What the server's wall clock showed last.
    pub(super) wall_us: i64,
    /// Its commands come from its master, which alone decides about expired keys.
    pub(super) is_replica: bool,
}

impl ReplayedServer {
    pub(super) fn new(version: ServerVersion, is_replica: bool) -> Self {
        ReplayedServer {
            model: Server::new(version),
            clients: HashMap::new(),
            transactions: HashSet::new(),
            open: None,
            notices: Vec::new(),
            wall_us: 0,
            is_replica,
        }
    }

    pub(super) fn now(&self) -> Now {
        Now {
            wall_us: self.wall_us,
        }
    }

    /// Where a command with this name stands.
    pub(super) fn place(&self, line: &MonitorLine, name: &str) -> Place {
        let Source::Client(address) = &line.source else {
            return Place::Inside;
        };
        // An EXEC ends what was queued.
        let stands_alone = name != "EXEC" && !is_queued(name);
        if !self.transactions.contains(address) || stands_alone {
            let is_script = CommandKind::of(name, "").is_some_and(CommandKind::is_script);
            return match is_script {
                true => Place::Begins,
                false => Place::Alone,
            };
        }
        let open = self.open.as_ref();
        let goes_on = open.is_some_and(|unit| unit.transaction.as_ref() == Some(address));
        match (name, goes_on) {
            ("EXEC", true) => Place::Ends,
            // It was empty, or was refused.
            ("EXEC", false) => Place::Alone,
            (_, true) => Place::Inside,
            (_, false) => Place::Begins,
        }
    }

    /// Executes a command as a client of its own for each of the server's, because some of them wait.
    ///
    /// The clock stands still in a script and in a transaction, as it does on the server: each line shows
    /// when it was told, and a server that is interrupted tells the next one later.
    pub(super) fn execute(&mut self, line: &MonitorLine, name: &str, place: Place) {
        let goes_on = matches!(place, Place::Inside | Place::Ends) && self.open.is_some();
        if !goes_on {
            self.wall_us = line.wall_us;
        }
        self.record_transaction(line, name);
        if !CommandKind::of(name, "").is_none_or(CommandKind::is_replayed) {
            return;
        }
        if self.is_replica {
            let effect = Effect {
                database: line.database,
                args: line.words.clone(),
            };
            self.model.apply(&effect, self.now());
            return;
        }
        let address = match &line.source {
            Source::Client(address) => address.as_str(),
            Source::Script => "script",
        };
        let now = self.now();
        self.model.time_out(now);
        let client = self.client(address, line.database);
        let words: Vec<&[u8]> = line.words.iter().map(Vec::as_slice).collect();
        let reply = self.model.execute(client, &words, now);
        if reply == Reply::Blocked && place != Place::Alone {
            // Nothing waits in a script or a transaction.
            self.clients.remove(address);
            self.model.disconnect(client);
        }
        self.model.take_messages();
    }

    /// The unit that this command begins.
    pub(super) fn begin(&mut self, line: &MonitorLine, by: Option<ByWorker>, at_ns: u64) {
        let transaction = match &line.source {
            Source::Client(address) if self.transactions.contains(address) => Some(address.clone()),
            _ => None,
        };
        self.open = Some(Unit {
            by,
            at_ns,
            declared: match transaction {
                Some(_) => None,
                None => declared(line),
            },
            transaction,
        });
    }

    fn record_transaction(&mut self, line: &MonitorLine, name: &str) {
        let Source::Client(address) = &line.source else {
            return;
        };
        match name {
            "MULTI" => {
                self.transactions.insert(address.clone());
            }
            "EXEC" | "DISCARD" | "RESET" | "QUIT" => {
                self.transactions.remove(address);
            }
            _ => {}
        }
    }

    /// Removes a key that has expired or was evicted.
    pub(super) fn remove(&mut self, notice: &Notice) {
        match notice.loss {
            Loss::Expired => self.model.expire_key(notice.database, &notice.key),
            Loss::Evicted => self.model.evict(notice.database, &notice.key),
        };
    }

    /// A client has gone, or a new one has its address: it waits for nothing, and its transaction is over.
    pub(super) fn forget(&mut self, address: &str) {
        self.transactions.remove(address);
        self.stop_waiting(address);
    }

    /// A client has gone. What it sent before that may still be told, so its transaction is kept.
    pub(super) fn stop_waiting(&mut self, address: &str) {
        if let Some((client, _)) = self.clients.remove(address) {
            self.model.disconnect(client);
        }
    }

    fn client(&mut self, address: &str, database: usize) -> ClientId {
        let now = self.now();
        let model = &mut self.model;
        let (client, selected) = match self.clients.get_mut(address) {
            Some(known) => known,
            None => {
                let new = (model.connect(), 0);
                self.clients.entry(address.to_owned()).or_insert(new)
            }
        };
        if *selected != database {
            let number = database.to_string();
            model.execute(*client, &[b"SELECT", number.as_bytes()], now);
            *selected = database;
        }
        *client
    }

    /// Puts keys into it.
    pub(super) fn load(&mut self, keys: &[StoredKey]) {
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
