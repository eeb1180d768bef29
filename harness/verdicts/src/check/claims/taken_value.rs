//! Values that a command of another client took away, or kept alive.

use picklock_scenarios::Phase;

use crate::history::{KeyCommand, KeyName};
use crate::key_history::{KeyUpdate, may_be_lock_value};

use crate::check::finding::Taking;

/// A value of a lock that an attempt had written, and that another client's command changed.
#[derive(Debug, Clone)]
pub(in crate::check) struct TakenValue {
    pub(in crate::check) key: KeyName,
    /// The number of the key on its node.
    pub(in crate::check) place: usize,
    /// Whose command it was.
    pub(in crate::check) by: KeyCommand,
    /// Whose command had written the value: the worker, and its attempt.
    pub(in crate::check) owner: (usize, u64),
    /// When it was written, and when that command came.
    pub(in crate::check) written_ns: u64,
    pub(in crate::check) at_ns: u64,
    /// What the command did to it.
    pub(in crate::check) how: Taking,
}

impl TakenValue {
    /// What a change of a key took away, or kept alive. `None`: nothing, or something that no other client's
    /// acquisition had written, or the lock was taken over by writing: that is a question of leases.
    pub(in crate::check) fn from_update(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let foreign = author.worker != command.worker && author.phase == Phase::Acquire;
        if !foreign || !may_be_lock_value(update.key, before.expiry.is_some()) {
            return None;
        }
        let how = match update.now {
            None => Taking::Removed,
            Some(now) if update.prolongs() && !is_of_several(now.value) => Taking::Prolonged,
            Some(_) if command.phase == Phase::Acquire || !update.ends_value() => return None,
            Some(now) if shares_element(before.value, now.value) => return None,
            Some(_) => Taking::Replaced,
        };
        Some(TakenValue {
            key: update.key.clone(),
            place: update.place,
            by: command.clone(),
            owner: (author.worker, author.op),
            written_ns: before.written_ns,
            at_ns,
            how,
        })
    }

    /// True if the attempt that did that was still asking for the lock.
    pub(in crate::check) fn is_of_acquisition(&self) -> bool {
        self.by.phase == Phase::Acquire
    }
}

/// True if both values are collections, and have an element in common: then they are of several
/// clients (those who wait, those who read), and nobody knows whose element went away.
pub(in crate::check) fn shares_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (elements(before), elements(now)) else {
        return false;
    };
    let now: Vec<&str> = now.collect();
    before.into_iter().any(|element| now.contains(&element))
}

/// True if the later collection has an element that the earlier one has not.
pub(in crate::check) fn adds_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(mut now)) = (elements(before), elements(now)) else {
        return false;
    };
    let before: Vec<&str> = before.collect();
    now.any(|element| !before.contains(&element))
}

/// True for a collection of more than one element: perhaps of several clients, each of which may keep it alive.
pub(in crate::check) fn is_of_several(value: &str) -> bool {
    elements(value).is_some_and(|elements| elements.count() > 1)
}

/// The names of a collection's elements. `None`: it is a string, perhaps one in JSON.
fn elements(value: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    (!inside.starts_with('"')).then(|| {
        let elements = inside.split(", ");
        elements.map(|element| element.split_once(": ").map_or(element, |(name, _)| name))
    })
}
