//! Watches the keys of one node: what each holds, and why it changed. Nodes of the simulation have
//! it, and the replay of what real servers tell.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::custody::{KeyRecord, lock_keys, takes_lock};
use crate::history::{KeyChange, KeyName};
use crate::model::{HeldValue, Server, Touched, TouchedKeys};

/// A key that is known, and what it held when it was last looked at.
struct Known {
    database: usize,
    bytes: Vec<u8>,
    name: KeyName,
    held: Option<HeldValue>,
    /// The worker whose command changed it last.
    by: Option<usize>,
}

/// The keys of one node.
pub(crate) struct KeyWatch {
    locks: Rc<[String]>,
    known: Vec<Known>,
    records: Vec<KeyRecord>,
    /// The keys of one look; empty between two looks.
    touched: TouchedKeys,
}

/// When a look is taken: on the clock of the records, and on the node's wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookTime {
    pub(crate) at_ns: u64,
    pub(crate) wall_ms: i64,
}

impl KeyWatch {
    /// For a node whose locks have these names.
    pub(crate) fn new(locks: Rc<[String]>) -> Self {
        KeyWatch {
            locks,
            known: Vec::new(),
            records: Vec::new(),
            touched: TouchedKeys::default(),
        }
    }

    /// Looks at the keys that the server has touched since the last look.
    pub(crate) fn look(
        &mut self,
        server: &mut Server,
        time: LookTime,
        why: impl Fn() -> KeyChange,
    ) {
        let mut touched = std::mem::take(&mut self.touched);
        server.take_touched(&mut touched);
        for key in expired_first(&touched) {
            let index = self.index(key.database, key.key);
            if key.expired {
                self.expired(index, time);
            } else {
                self.compare(index, server, time, &why);
            }
        }
        self.touched = touched;
    }

    /// Looks at all known keys: the server, or its data, was replaced.
    pub(crate) fn look_at_all(&mut self, server: &mut Server, time: LookTime, why: &KeyChange) {
        server.take_touched(&mut self.touched);
        self.touched.clear();
        for index in 0..self.known.len() {
            self.compare(index, server, time, &|| why.clone());
        }
    }

    /// The names of the keys that hold this lock now: its own, and those that it has written under
    /// other names.
    pub(crate) fn keys_of(&self, lock: &str) -> Vec<String> {
        let number = self.locks.iter().position(|known| known == lock);
        let keys = number.map(|number| lock_keys(&self.records, &self.locks, number));
        let written = |known: &Known| keys.as_ref().is_some_and(|keys| keys.contains(&known.name));
        let holds = |known: &&Known| {
            known.database == 0
                && known.held.is_some()
                && (known.bytes == lock.as_bytes() || written(known))
        };
        let keys = self.known.iter().filter(holds);
        keys.map(|known| String::from_utf8_lossy(&known.bytes).into_owned())
            .collect()
    }

    /// How many changes there were so far.
    pub(crate) fn changes(&self) -> usize {
        self.records.len()
    }

    /// True if one of these changes gave a lock a new owner.
    pub(crate) fn took(&self, changes: Range<usize>) -> bool {
        takes_lock(&self.records, changes, &self.locks)
    }

    /// The names of all keys in the first database that were seen.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let first = self.known.iter().filter(|known| known.database == 0);
        first.map(|known| known.bytes.clone())
    }

    /// Takes the records out, in the order in which they happened.
    ///
    /// Faults strike at whole milliseconds, and a command that the node has executed after one may
    /// have arrived a little earlier. Then the fault's records get the command's time: time never
    /// runs backwards on a node.
    pub(crate) fn take(&mut self) -> Vec<KeyRecord> {
        let mut records = std::mem::take(&mut self.records);
        let mut next_ns = u64::MAX;
        for record in records.iter_mut().rev() {
            record.at_ns = record.at_ns.min(next_ns);
            next_ns = record.at_ns;
        }
        records
    }

    fn index(&mut self, database: usize, bytes: &[u8]) -> usize {
        let same = |known: &Known| known.database == database && known.bytes == bytes;
        self.known.iter().position(same).unwrap_or_else(|| {
            let name = self.name(database, bytes);
            self.known.push(Known {
                database,
                bytes: bytes.to_vec(),
                name,
                held: None,
                by: None,
            });
            self.known.len() - 1
        })
    }

    fn name(&self, database: usize, bytes: &[u8]) -> KeyName {
        let lock = self.locks.iter().position(|lock| lock.as_bytes() == bytes);
        match lock.and_then(|lock| u32::try_from(lock).ok()) {
            Some(lock) if database == 0 => KeyName::Lock(lock),
            _ => KeyName::Other(other_name(database, bytes)),
        }
    }

    fn expired(&mut self, index: usize, time: LookTime) {
        let known = &mut self.known[index];
        if known.held.take().is_some() {
            self.records.push(KeyRecord {
                at_ns: time.at_ns,
                key: known.name.clone(),
                value: None,
                ttl_ms: None,
                why: KeyChange::Expired,
            });
        }
    }

    /// Writes a change down, if there is one.
    fn compare(
        &mut self,
        index: usize,
        server: &Server,
        time: LookTime,
        why: &impl Fn() -> KeyChange,
    ) {
        let known = &mut self.known[index];
        let held = server.held_value(known.database, &known.bytes);
        let change = why();
        let by = match &change {
            KeyChange::Command(command) => Some(command.worker),
            _ => None,
        };
        // Two clients may set the same expiry within one millisecond.
        let is_another_clients = || {
            by.is_some()
                && by != known.by
                && held.as_ref().is_some_and(|it| it.expires_ms.is_some())
        };
        if held == known.held && !is_another_clients() {
            return;
        }
        known.by = by;
        let expires_ms = held.as_ref().and_then(|held| held.expires_ms);
        self.records.push(KeyRecord {
            at_ns: time.at_ns,
            key: known.name.clone(),
            value: held.as_ref().map(|held| Arc::clone(&held.text)),
            ttl_ms: expires_ms.map(|at_ms| at_ms - time.wall_ms),
            why: change,
        });
        known.held = held;
    }
}

/// The keys of one look, in order, but what had expired comes first: it was gone before the command that
/// found it so, and servers tell it first. What the same command wrote and then found expired stays
/// where it is.
fn expired_first(touched: &TouchedKeys) -> impl Iterator<Item = Touched<'_>> {
    let had_expired = |number: usize, key: &Touched<'_>| {
        let same = |other: &Touched<'_>| (other.database, other.key) == (key.database, key.key);
        key.expired && !touched.iter().take(number).any(|other| same(&other))
    };
    let of = move |first: bool| {
        let numbered = touched.iter().enumerate();
        numbered
            .filter_map(move |(number, key)| (had_expired(number, &key) == first).then_some(key))
    };
    of(true).chain(of(false))
}

/// The name of a key that is no lock's: of another database than the first with its number.
fn other_name(database: usize, bytes: &[u8]) -> Arc<str> {
    let name = String::from_utf8_lossy(bytes);
    match database {
        0 => Arc::from(name),
        _ => Arc::from(format!("{name} (database {database})")),
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::Phase;

    use super::*;
    use crate::custody::ended_values;
    use crate::history::KeyCommand;
    use crate::model::{CommandKind, Now, ServerVersion};

    /// What `last` changed, 50 ms after the first commands.
    fn changes(first: &[&[&str]], last: &[&str]) -> Vec<String> {
        let mut server = Server::new(ServerVersion::default());
        server.watch_keys(true);
        let mut watch = KeyWatch::new(Rc::from([]));
        let client = server.connect();
        let mut run = |command: &[&str], wall_ms: i64| {
            let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
            server.execute(client, &words, Now::from_ms(wall_ms));
            let time = LookTime { at_ns: 0, wall_ms };
            watch.look(&mut server, time, || KeyChange::Evicted);
        };
        first.iter().for_each(|command| run(command, 1_000));
        run(last, 1_050);
        let told = |record: &KeyRecord| format!("{:?} {:?}", record.key, record.why);
        watch.take()[first.len()..].iter().map(told).collect()
    }

    #[test]
    fn what_had_expired_was_gone_before_the_command_that_found_it_so() {
        assert_eq!(
            changes(
                &[&["SET", "a", "1"], &["SET", "b", "1", "PX", "10"]],
                &["DEL", "a", "b"]
            ),
            [r#"Other("b") Expired"#, r#"Other("a") Evicted"#]
        );
    }

    #[test]
    fn what_a_command_gives_an_expiry_in_the_past_was_removed_by_it() {
        assert_eq!(
            changes(&[&["SET", "a", "1"]], &["PEXPIREAT", "a", "1"]),
            [r#"Other("a") Evicted"#]
        );
    }

    /// The custody is read from a history, and so it has the names of these commands itself.
    #[test]
    fn command_that_replaces_a_value_by_the_same_one_ends_it_in_the_custody() {
        let names = [
            "SET", "GETSET", "MSET", "SETEX", "PSETEX", "SETNX", "APPEND", "EVALSHA", "PEXPIRE",
            "PERSIST", "GETEX", "HSET", "EXEC",
        ];
        for name in names {
            let written = |worker: usize, command: &str| {
                let record = KeyRecord {
                    at_ns: 0,
                    key: KeyName::Lock(0),
                    value: Some("a".into()),
                    ttl_ms: None,
                    why: KeyChange::Command(KeyCommand {
                        worker,
                        op: 1,
                        phase: Phase::Acquire,
                        command: command.into(),
                    }),
                };
                record.into_event(0, 0)
            };
            let ended = ended_values(&[written(0, "SET"), written(1, name)]) == 1;
            let replaces = CommandKind::of(name, "") == Some(CommandKind::Replaces);
            assert_eq!(ended, replaces, "{name}");
        }
    }
}
