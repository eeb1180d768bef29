//! Values that a command of another client took away.

use picklock_scenarios::Phase;

use crate::custody::{KeyUpdate, may_be_a_claim};
use crate::history::{KeyCommand, KeyName};

/// A value of a lock that an attempt had written, and another client's command took away.
#[derive(Debug, Clone)]
pub(super) struct TakenValue {
    pub(super) key: KeyName,
    /// The number of the key on its node.
    pub(super) place: usize,
    /// Whose command took it away.
    pub(super) by: KeyCommand,
    /// Whose command had written it: the worker, and its attempt.
    pub(super) owner: (usize, u64),
    /// When it was written, and when it was taken away.
    pub(super) written_ns: u64,
    pub(super) at_ns: u64,
    /// Another value was put in its place.
    pub(super) extended: bool,
}

impl TakenValue {
    /// What a change of a key took away. `None`: nothing, or something that no other client's
    /// acquisition had written, or the change was made to take the lock over: that is a question of
    /// leases.
    pub(super) fn of(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let author = before.author.as_ref()?;
        let is_lock = may_be_a_claim(update.key, before.expiry.is_some());
        let takes_away = match command.phase {
            Phase::Acquire => update.now.is_none(),
            Phase::Idle | Phase::Extend | Phase::Release => true,
        };
        let foreign = author.worker != command.worker && author.phase == Phase::Acquire;
        let whole = update
            .now
            .is_none_or(|now| !shares_element(&before.value, &now.value));
        (is_lock && takes_away && foreign && whole && update.ends_value()).then(|| TakenValue {
            key: update.key.clone(),
            place: update.place,
            by: command.clone(),
            owner: (author.worker, author.op),
            written_ns: before.written_ns,
            at_ns,
            extended: update.now.is_some(),
        })
    }
}

/// True if both values are collections, and have an element in common: then they are of several
/// clients (those who wait, those who read), and nobody knows whose element went away.
fn shares_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (elements(before), elements(now)) else {
        return false;
    };
    let now: Vec<&str> = now.collect();
    before.into_iter().any(|element| now.contains(&element))
}

/// The names of a collection's elements. `None`: it is a string, perhaps one in JSON.
fn elements(value: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    (!inside.starts_with('"')).then(|| {
        let elements = inside.split(", ");
        elements.map(|element| element.split_once(": ").map_or(element, |(name, _)| name))
    })
}
