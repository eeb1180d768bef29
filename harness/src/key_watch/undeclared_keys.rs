//! The keys that a script changes, and those that its command declares.

use std::sync::Arc;

use crate::history::{Event, EventKind, KeyName};

/// A key that a script changed although the command that ran the script had not declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndeclaredKey {
    at_ns: u64,
    command: Arc<str>,
    key: KeyName,
}

impl UndeclaredKey {
    /// Creates the record of a change by a command that ran a script.
    pub(crate) fn new(at_ns: u64, command: Arc<str>, key: KeyName) -> Self {
        UndeclaredKey {
            at_ns,
            command,
            key,
        }
    }

    /// Returns `true` if this command changed this key.
    pub(crate) fn is_of(&self, command: &Arc<str>, key: &KeyName) -> bool {
        (&self.command, &self.key) == (command, key)
    }

    #[cfg(test)]
    pub(crate) fn key(&self) -> &KeyName {
        &self.key
    }

    /// Converts it into an event of a history.
    pub(crate) fn into_event(self, node: usize, at_ns: u64) -> Event {
        Event {
            at_ns,
            what: EventKind::UndeclaredKey {
                node,
                command: self.command.to_string(),
                key: self.key,
            },
        }
    }

    /// Returns when the key was changed, on the clock of the records.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns
    }
}

/// Returns the keys that a command such as `EVAL script 1 key ...` declares, or `None` if the command does not run a
/// script.
pub(crate) fn declared_keys<'a>(
    command: &str,
    mut words: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<impl Iterator<Item = &'a [u8]> + Clone> {
    if !command.starts_with("EVAL") && command != "FCALL" {
        return None;
    }
    let count: usize = std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()?;
    Some(words.take(count))
}
