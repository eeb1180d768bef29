//! The public interface of the modelled server.

use std::collections::BTreeSet;

use super::effect::Effect;
use super::key_watch::{HeldValue, TouchedKeys};
use super::keyspace::Keyspace;
use super::lua::Scripts;
use super::report::Report;
use super::session::{ClientId, Session};
use super::state::State;
use super::{Now, Reply, ServerVersion, dispatch};

/// A model of one Redis server: single-threaded like the original, without sockets, files or a clock. The same calls
/// always return the same replies.
pub struct Server {
    /// Boxed because the state is moved into the Lua state while a script runs.
    pub(super) state: Box<State>,
    pub(super) scripts: Scripts,
}

impl Server {
    /// Creates an empty server.
    pub fn new(version: ServerVersion) -> Server {
        let mut state = Box::<State>::default();
        state.version = version;
        let scripts = Scripts::new(version);
        Server { state, scripts }
    }

    /// Opens a connection in database 0 that uses RESP2.
    pub fn connect(&mut self) -> ClientId {
        self.state.last_client += 1;
        let client = ClientId(self.state.last_client);
        self.state.sessions.insert(client, Session::default());
        client
    }

    /// Ends a connection, together with its watches, subscriptions, waits and queued commands.
    pub fn disconnect(&mut self, client: ClientId) {
        self.state.unwatch(client);
        self.state.waiters.retain(|waiter| waiter.client != client);
        self.state.sessions.remove(&client);
        self.state.messages.retain(|(other, _)| *other != client);
    }

    /// Executes one command, given as name and arguments, at the time `now` of the node's wall clock.
    ///
    /// The reply uses the protocol that the client has chosen: RESP3 after `HELLO 3`, otherwise RESP2.
    pub fn execute(&mut self, client: ClientId, args: &[&[u8]], now: Now) -> Reply {
        let reply = dispatch::process(self, client, args, now);
        match reply {
            Reply::Int(_) | Reply::Bulk(_) | Reply::Nil | Reply::Simple(_) | Reply::Error(_) => {
                reply
            }
            other if self.speaks_resp3(client) => other,
            other => other.for_resp2(),
        }
    }

    /// Returns `true` if the client has chosen RESP3.
    pub fn speaks_resp3(&self, client: ClientId) -> bool {
        let session = self.state.sessions.get(&client);
        session.is_some_and(|session| session.resp3)
    }

    /// Returns `true` if [`Server::take_messages`] would return messages.
    pub fn has_messages(&self) -> bool {
        !self.state.messages.is_empty()
    }

    /// Returns the pending out-of-band messages for connections: publications, and late replies to blocking commands.
    /// Each message is returned once, in order.
    pub fn take_messages(&mut self) -> Vec<(ClientId, Reply)> {
        let messages = std::mem::take(&mut self.state.messages).into_iter();
        let fitting = messages.map(|(client, reply)| {
            if self.speaks_resp3(client) {
                (client, reply)
            } else {
                (client, reply.for_resp2())
            }
        });
        fitting.collect()
    }

    /// Returns the time at which the next blocking command times out, on the wall clock. At this time, the caller must
    /// call [`Server::time_out`].
    pub fn next_timeout(&self) -> Option<Now> {
        let waiters = self.state.waiters.iter();
        waiters.filter_map(|waiter| waiter.until).min()
    }

    /// Ends the expired blocking commands. Their replies become messages.
    pub fn time_out(&mut self, now: Now) {
        super::blocking::time_out(&mut self.state, now);
    }

    /// Returns `true` for a modelled command that servers of this version do not have. Ignores the case of its name.
    pub fn lacks(&self, command: &str) -> bool {
        dispatch::lacks(&self.state, command)
    }

    /// Returns the requested commands and features that are not modelled. If the set is not empty, the run is
    /// inconclusive.
    pub fn unknown_commands(&self) -> &BTreeSet<String> {
        &self.state.unknown
    }

    /// Switches the recording of [`Effect`]s for [`Server::take_effects`] on or off. Off by default.
    pub fn record_effects(&mut self, record: bool) {
        self.state.record_effects = record;
    }

    /// Returns the changes since the last call, oldest first.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.state.effects)
    }

    /// Switches the report of executed commands and expired keys for [`Server::take_report`] on or off. Off by default.
    pub fn report(&mut self, report: bool) {
        self.state.report = report.then(Report::default);
    }

    /// Returns the report since the last call, as a real server sends it on a RESP3 connection with MONITOR and the
    /// notifications of expired and evicted keys.
    pub fn take_report(&mut self) -> Vec<u8> {
        let report = self.state.report.as_mut();
        report.map_or_else(Vec::new, |report| std::mem::take(&mut report.bytes))
    }

    /// Switches the recording of touched keys for [`Server::take_touched`] on or off. Off by default.
    pub fn watch_keys(&mut self, watch: bool) {
        self.state.touched = watch.then(TouchedKeys::default);
    }

    /// Returns `true` if [`Server::take_touched`] would return keys.
    pub fn has_touched(&self) -> bool {
        let touched = self.state.touched.as_ref();
        touched.is_some_and(|touched| !touched.is_empty())
    }

    /// Replaces the contents of `touched` with the keys that were written, expired or removed since the last call, in
    /// order. A key can occur more than once, and its value need not have changed.
    pub fn take_touched(&mut self, touched: &mut TouchedKeys) {
        touched.clear();
        if let Some(noted) = &mut self.state.touched {
            // Swap the two lists, so that no list is allocated for each command.
            std::mem::swap(noted, touched);
        }
    }

    /// Returns the value of a key, expired or not, or `None` if the key does not exist.
    pub fn held_value(&self, database: usize, key: &[u8]) -> Option<HeldValue> {
        let entry = self.state.keyspace.databases.get(database)?.get(key)?;
        Some(HeldValue::from_entry(entry))
    }

    /// Applies a change of another server, as a replica does, or as a server does when it loads its append-only file.
    ///
    /// Returns the reply, which is an error only if the effect does not come from a model.
    pub fn apply(&mut self, effect: &Effect, now: Now) -> Reply {
        let args: Vec<&[u8]> = effect.args.iter().map(Vec::as_slice).collect();
        let out_of_memory = std::mem::take(&mut self.state.out_of_memory);
        self.state.applying = true;
        let master = self.connect();
        if let Some(session) = self.state.sessions.get_mut(&master) {
            session.database = effect.database;
        }
        let reply = dispatch::process(self, master, &args, now);
        self.disconnect(master);
        self.state.applying = false;
        self.state.out_of_memory = out_of_memory;
        reply
    }

    /// Returns a copy of all keys, like the contents of an RDB file. Scripts and connections are not included.
    pub fn snapshot(&self) -> Keyspace {
        self.state.keyspace.clone()
    }

    /// Replaces all keys. Scripts and connections are unaffected.
    pub fn restore(&mut self, keyspace: Keyspace) {
        self.empty();
        self.state.keyspace = keyspace;
        for (database, key) in self.state.watchers.keys().cloned().collect::<Vec<_>>() {
            if self.state.keyspace.databases[database].contains_key(&key) {
                self.state.touch(database, &key);
            }
        }
    }

    /// Removes all keys, as the nemesis does with FLUSHALL.
    pub fn flush(&mut self) {
        self.empty();
        self.state.effect(0, &[b"FLUSHALL"]);
    }

    fn empty(&mut self) {
        for database in 0..self.state.keyspace.databases.len() {
            self.state.empty(database);
        }
    }

    /// Removes all cached scripts, so that EVALSHA returns NOSCRIPT again.
    pub fn flush_scripts(&mut self) {
        self.scripts.flush();
    }

    /// Removes a key as an eviction does. Returns `true` if the key existed.
    pub fn evict(&mut self, database: usize, key: &[u8]) -> bool {
        let keys = self.state.keyspace.databases.get_mut(database);
        if keys.and_then(|keys| keys.remove(key)).is_none() {
            return false;
        }
        self.state.touch(database, key);
        if let Some(report) = &mut self.state.report {
            report.notified("evicted", database, key);
        }
        self.state.effect(database, &[b"DEL", key]);
        true
    }

    /// Removes a key as if it had expired, whatever its expiry is. Returns `true` if the key existed.
    pub fn expire_key(&mut self, database: usize, key: &[u8]) -> bool {
        self.state.expire_now(database, key)
    }

    /// Removes every expired key, like the background cycle of a real server. Clients can notice the removal only if
    /// the wall clock is set back later.
    pub fn expire_cycle(&mut self, now: Now) {
        for database in 0..self.state.keyspace.databases.len() {
            let over: Vec<Vec<u8>> = self.state.keyspace.databases[database]
                .iter()
                .filter(|(_, entry)| entry.is_expired(now.ms()))
                .map(|(key, _)| key.clone())
                .collect();
            for key in over {
                self.state.expire(database, &key, now);
            }
        }
    }

    /// Switches the out-of-memory state on or off. In this state, commands that may need more memory are refused.
    pub fn set_out_of_memory(&mut self, out_of_memory: bool) {
        self.state.out_of_memory = out_of_memory;
    }

    /// Sets the number of linked replicas, and the number of changes that all of them have received. Changes are
    /// counted from the first change that [`Server::take_effects`] returned. The reply to every `WAIT` that is now
    /// satisfied becomes a message. A backend with replicas must call this function whenever one of the two numbers
    /// changes.
    pub fn set_acknowledged(&mut self, replicas: u32, changes: u64) {
        self.state.replicas = i64::from(replicas);
        self.state.acknowledged = changes;
        super::blocking::acknowledge(&mut self.state);
    }

    /// Returns `true` if a client waits for replicas.
    pub fn waits_for_replicas(&self) -> bool {
        super::blocking::waits_for_replicas(&self.state)
    }
}
