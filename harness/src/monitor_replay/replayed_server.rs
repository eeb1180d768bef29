//! The replay of one server of a node.
//!
//! Scripts and transactions are atomic, so their changes are inspected together at their end. A server does not report
//! the end of a script. The replay infers it when the next line belongs to another command. If a command finds a key
//! expired, the server reports the expiry before that command, so such a notification waits until it is clear whether
//! it belongs to the script.

use std::collections::{HashMap, HashSet};

use crate::history::KeyCommand;
use crate::key_watch::declared_keys;
use crate::model::{ClientId, CommandKind, Effect, Now, Reply, Server, ServerVersion, is_queued};

use super::monitor_stream::{Loss, MonitorLine, Source};
use super::stored_key::{StoredKey, StoredValue};

/// A worker's command.
#[derive(Debug, Clone)]
pub struct ByWorker {
    /// The command, with its worker and its attempt.
    pub command: KeyCommand,
    /// The command's connection, and its number among the requests of that connection, or `None` if these are unknown.
    pub request: Option<(u64, u64)>,
}

/// An atomic unit: a script with its inner commands, or a transaction.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// The worker's command that began the unit, or `None` if another client began it.
    pub(super) by: Option<ByWorker>,
    pub(super) at_ns: u64,
    /// For a transaction, the address of its client.
    transaction: Option<String>,
    /// For a script, the keys that its command declared.
    pub(super) declared: Option<Vec<Vec<u8>>>,
    /// The words of the command that began the unit.
    pub(super) words: Vec<Vec<u8>>,
}

/// The position of a command relative to an atomic unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitPosition {
    /// The command does not belong to a unit.
    Outside,
    /// The command begins a unit: it runs a script, or is the first command of a transaction.
    Begins,
    /// The command is inside the active unit.
    Inside,
    /// The command ends the active transaction.
    Ends,
}

/// A keyspace notification.
#[derive(Debug, Clone)]
pub(super) struct Notice {
    pub(super) loss: Loss,
    pub(super) database: usize,
    pub(super) key: Vec<u8>,
    pub(super) at_ns: u64,
}

/// Returns the keys that a script's command declared.
fn keys_declared_by(line: &MonitorLine) -> Option<Vec<Vec<u8>>> {
    let name = line.name();
    let declared = declared_keys(&name, line.words.iter().map(Vec::as_slice))?;
    Some(declared.map(<[u8]>::to_vec).collect())
}

/// The replay of one server.
pub(super) struct ReplayedServer {
    pub(super) model: Server,
    /// For each client of the server, the model's client and its selected database.
    clients: HashMap<String, (ClientId, usize)>,
    /// The addresses of clients that are in a transaction.
    transactions: HashSet<String>,
    /// The script or transaction whose end has not been detected yet, or `None` if there is none.
    pub(super) active_unit: Option<Unit>,
    /// The notifications since the last command of the active unit.
    pub(super) notices: Vec<Notice>,
    /// The server's wall clock at its last command.
    pub(super) wall_us: i64,
    /// Whether the server is a replica. The expiry of a replica's keys is decided by its master.
    pub(super) is_replica: bool,
}

impl ReplayedServer {
    pub(super) fn new(version: ServerVersion, is_replica: bool) -> Self {
        ReplayedServer {
            model: Server::new(version),
            clients: HashMap::new(),
            transactions: HashSet::new(),
            active_unit: None,
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

    /// Returns the position of a command with this name.
    pub(super) fn position(&self, line: &MonitorLine, name: &str) -> UnitPosition {
        let Source::Client(address) = &line.source else {
            return UnitPosition::Inside;
        };
        // `EXEC` comes after the queued commands.
        let is_outside = name != "EXEC" && !is_queued(name);
        if !self.transactions.contains(address) || is_outside {
            let is_script = CommandKind::for_command(name, "").is_some_and(CommandKind::is_script);
            return if is_script {
                UnitPosition::Begins
            } else {
                UnitPosition::Outside
            };
        }
        let unit = self.active_unit.as_ref();
        let continues = unit.is_some_and(|unit| unit.transaction.as_ref() == Some(address));
        match (name, continues) {
            ("EXEC", true) => UnitPosition::Ends,
            // The transaction was empty, or was refused.
            ("EXEC", false) => UnitPosition::Outside,
            (_, true) => UnitPosition::Inside,
            (_, false) => UnitPosition::Begins,
        }
    }

    /// Executes a command on the model. Each client of the server has its own client in the model, because clients may
    /// wait in blocking commands.
    ///
    /// As on the server, the clock does not advance within a script or a transaction. The lines of one script may have
    /// increasing times if the server was interrupted.
    pub(super) fn execute(&mut self, line: &MonitorLine, name: &str, position: UnitPosition) {
        let continues = matches!(position, UnitPosition::Inside | UnitPosition::Ends)
            && self.active_unit.is_some();
        if !continues {
            self.wall_us = line.wall_us;
        }
        self.record_transaction(line, name);
        if !CommandKind::for_command(name, "").is_none_or(CommandKind::is_replayed) {
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
        if reply == Reply::Blocked && position != UnitPosition::Outside {
            // A command in a script or a transaction does not wait.
            self.clients.remove(address);
            self.model.disconnect(client);
        }
        self.model.take_messages();
    }

    /// Begins a unit with this command.
    pub(super) fn begin(&mut self, line: &MonitorLine, by: Option<ByWorker>, at_ns: u64) {
        let transaction = match &line.source {
            Source::Client(address) if self.transactions.contains(address) => Some(address.clone()),
            _ => None,
        };
        self.active_unit = Some(Unit {
            by,
            at_ns,
            declared: match transaction {
                Some(_) => None,
                None => keys_declared_by(line),
            },
            transaction,
            words: line.words.clone(),
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

    /// Removes a client that has disconnected, or whose address now belongs to a new client. The old client no longer
    /// waits, and its transaction is over.
    pub(super) fn forget(&mut self, address: &str) {
        self.transactions.remove(address);
        self.stop_waiting(address);
    }

    /// Stops the waiting of a client that has disconnected. Its transaction is kept, because commands that it had sent
    /// may still be reported.
    pub(super) fn stop_waiting(&mut self, address: &str) {
        if let Some((client, _)) = self.clients.remove(address) {
            self.model.disconnect(client);
        }
    }

    fn client(&mut self, address: &str, database: usize) -> ClientId {
        let now = self.now();
        let model = &mut self.model;
        let (client, selected) = match self.clients.get_mut(address) {
            Some(client) => client,
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

    /// Loads keys into the model.
    pub(super) fn load(&mut self, keys: &[StoredKey]) {
        let client = self.model.connect();
        let now = self.now();
        for key in keys {
            let mut words: Vec<&[u8]> = Vec::new();
            match &key.value {
                StoredValue::String(value) => words.extend([b"SET", key.name.as_slice(), value]),
                StoredValue::BuiltBy(command, arguments) => {
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
