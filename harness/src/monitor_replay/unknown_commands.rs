//! Commands that the model of Redis does not support.
//!
//! Their effect on the keys is unknown, but they change only keys that they name. So they matter only if they name a
//! key of a lock, or if the lock's keys are not known otherwise.

use std::collections::{BTreeMap, BTreeSet};

use crate::key_watch::KeyWatch;

use super::monitor_stream::MonitorLine;

/// Commands that change keys without naming them.
const NAMELESS: [&str; 2] = ["DEBUG", "SWAPDB"];

/// Maximum number of arguments that are kept. If there are more, the commands are assumed to concern any key.
const MAX_ARGUMENTS: usize = 10_000;

/// The unsupported commands that a server has executed.
#[derive(Debug, Default)]
pub(super) struct UnknownCommands {
    /// The names of these commands. A command that was used with an unsupported option counts as unsupported from then
    /// on.
    names: BTreeSet<String>,
    /// The arguments of these commands, each with the first command that had it.
    arguments: BTreeMap<Vec<u8>, String>,
    /// The first command that may concern any key.
    on_any_key: Option<String>,
}

impl UnknownCommands {
    /// Records a command that may write. `is_unknown` states that the model has just failed to execute it.
    pub(super) fn record(&mut self, name: &str, line: &MonitorLine, is_unknown: bool) {
        if is_unknown && !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
        if self.names.is_empty() || !self.names.contains(name) {
            return;
        }
        if NAMELESS.contains(&name) || self.arguments.len() > MAX_ARGUMENTS {
            self.on_any_key.get_or_insert_with(|| name.to_owned());
            return;
        }
        for argument in line.words.iter().skip(1) {
            let known = self.arguments.entry(argument.clone());
            known.or_insert_with(|| name.to_owned());
        }
    }

    /// Returns an unsupported command that may have changed a lock's key, or `None` if there is none.
    pub(super) fn command_on_locks(&self, watch: &KeyWatch) -> Option<&str> {
        if self.on_any_key.is_some() {
            return self.on_any_key.as_deref();
        }
        let mut arguments = self.arguments.iter();
        let named = arguments.find(|(word, _)| watch.may_hold_lock(word));
        let unseen = || {
            self.arguments
                .values()
                .next()
                .filter(|_| !watch.has_lock_value())
        };
        let command = named.map(|(_, command)| command).or_else(unseen);
        command.map(String::as_str)
    }
}
