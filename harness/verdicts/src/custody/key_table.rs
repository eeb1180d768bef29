//! What each key of each node holds now, and whose command wrote it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::history::{Event, KeyChange, KeyCommand, KeyName, What};

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The value.
    pub value: Arc<str>,
    /// The command that wrote the value; `None`: it was found, or came from a disk, and nobody is
    /// known to have written it.
    pub author: Option<KeyCommand>,
    /// When the value was written, nanoseconds since the run began.
    pub written_ns: u64,
    /// When its expiry was last set.
    pub expiry_set_ns: u64,
    /// How long it lives from then on, by the node's clock; `None`: for ever.
    pub ttl_ms: Option<i64>,
}

/// One change of one key.
#[derive(Debug)]
pub struct KeyUpdate<'a> {
    /// On which node.
    pub node: usize,
    /// Of which key.
    pub key: &'a KeyName,
    /// Why.
    pub why: &'a KeyChange,
    /// What it held before.
    pub before: Option<Holding>,
    /// What it holds now.
    pub now: Option<&'a Holding>,
}

impl KeyUpdate<'_> {
    /// True if the value is another one, or gone: not only its expiry has changed.
    pub fn ends_value(&self) -> bool {
        match (&self.before, self.now) {
            (Some(before), Some(now)) => before.written_ns != now.written_ns,
            (before, _) => before.is_some(),
        }
    }
}

/// What each key of each node holds.
#[derive(Debug, Clone, Default)]
pub struct KeyTable {
    keys: HashMap<(usize, KeyName), Holding>,
}

impl KeyTable {
    /// Reads one event, and calls `see` if it changes a key.
    ///
    /// A value that a worker's command replaces is a new one, unless it belongs to the same attempt:
    /// a hold count that goes up, or a time that is refreshed, is still that attempt's.
    pub fn event(&mut self, event: &Event, see: impl FnOnce(KeyUpdate<'_>)) {
        let What::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } = &event.what
        else {
            return;
        };
        let place = (*node, key.clone());
        let before = self.keys.remove(&place);
        let now = value.as_ref().map(|value| {
            let author = author(why, before.as_ref(), value);
            let stays = before.as_ref().is_some_and(|before| {
                before.author == author || same_attempt(before.author.as_ref(), author.as_ref())
            });
            let written_ns = match &before {
                Some(before) if stays => before.written_ns,
                _ => event.at_ns,
            };
            Holding {
                value: Arc::clone(value),
                author,
                written_ns,
                expiry_set_ns: event.at_ns,
                ttl_ms: *ttl_ms,
            }
        });
        let holding = now.map(|now| &*self.keys.entry(place).insert_entry(now).into_mut());
        see(KeyUpdate {
            node: *node,
            key,
            why,
            before,
            now: holding,
        });
    }

    /// True if some key holds what this attempt has written.
    pub fn is_author(&self, worker: usize, op: u64) -> bool {
        let mut authors = self.keys.values().filter_map(|held| held.author.as_ref());
        authors.any(|author| (author.worker, author.op) == (worker, op))
    }

    /// What all keys hold: node, name, and value.
    pub fn holdings(&self) -> impl Iterator<Item = (usize, &KeyName, &Holding)> {
        let keys = self.keys.iter();
        keys.map(|((node, key), holding)| (*node, key, holding))
    }
}

/// Who wrote the value that a key holds now.
fn author(why: &KeyChange, before: Option<&Holding>, value: &Arc<str>) -> Option<KeyCommand> {
    let known = before.filter(|before| before.value == *value && !writes_again(why));
    match (why, known) {
        // Only the expiry has changed.
        (_, Some(known)) => known.author.clone(),
        (KeyChange::Command(command), None) => Some(command.clone()),
        _ => None,
    }
}

/// True for a command that writes a value even if it is the one that is there.
fn writes_again(why: &KeyChange) -> bool {
    match why {
        KeyChange::Command(command) => {
            matches!(&*command.command, "SET" | "GETSET" | "SETEX" | "PSETEX")
        }
        _ => false,
    }
}

fn same_attempt(one: Option<&KeyCommand>, other: Option<&KeyCommand>) -> bool {
    match (one, other) {
        // A renewal that writes the value again after the acquisition is told apart elsewhere.
        (Some(one), Some(other)) => one.worker == other.worker && one.op == other.op,
        _ => false,
    }
}
