//! Values that a command of another client removed, replaced or prolonged.

use picklock_scenarios::Phase;

use crate::history::{KeyCommand, KeyName};
use crate::key_history::{KeyUpdate, may_be_lock_value};

use crate::check::finding::Taking;

/// A lock value that an attempt had written, and that another client's command changed.
#[derive(Debug, Clone)]
pub(in crate::check) struct TakenValue {
    pub(in crate::check) key: KeyName,
    /// The number of the key on its node.
    pub(in crate::check) place: usize,
    /// The command that changed it.
    pub(in crate::check) by: KeyCommand,
    /// The worker that had written the value, and its attempt.
    pub(in crate::check) owner: (usize, u64),
    /// When the value was written.
    pub(in crate::check) written_ns: u64,
    /// When the command changed it.
    pub(in crate::check) at_ns: u64,
    /// The effect of the command.
    pub(in crate::check) how: Taking,
}

impl TakenValue {
    /// Returns the value that a change of a key took from another client's acquisition, or `None` if it took none. A
    /// takeover of the lock by writing does not count, because it is a question of leases.
    pub(in crate::check) fn from_update(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let is_foreign = author.worker != command.worker && author.phase == Phase::Acquire;
        if !is_foreign || !may_be_lock_value(update.key, before.expiry.is_some()) {
            return None;
        }
        let how = match update.now {
            None => Taking::Removed,
            Some(now) if update.prolongs() && !is_of_several(now.value) => Taking::Prolonged,
            Some(_) if command.phase == Phase::Acquire || !update.ends_value() => return None,
            Some(now) if shares_element(before.value, now.value) => return None,
            Some(_) => Taking::Replaced,
        };
        Some(TakenValue::new(at_ns, update, (command, author), how))
    }

    /// Returns the value that a client's command removed although an acquisition of the same client had written it, or
    /// `None` if it removed none.
    pub(in crate::check) fn removed_own(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command().filter(|_| update.now.is_none())?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let is_own = author.worker == command.worker && author.phase == Phase::Acquire;
        let is_lock = may_be_lock_value(update.key, before.expiry.is_some());
        let how = Taking::Removed;
        (is_own && is_lock).then(|| TakenValue::new(at_ns, update, (command, author), how))
    }

    fn new(
        at_ns: u64,
        update: &KeyUpdate<'_>,
        (command, author): (&KeyCommand, &KeyCommand),
        how: Taking,
    ) -> Self {
        TakenValue {
            key: update.key.clone(),
            place: update.place,
            by: command.clone(),
            owner: (author.worker, author.op),
            written_ns: (update.before.as_ref()).map_or(at_ns, |before| before.written_ns),
            at_ns,
            how,
        }
    }

    /// Returns `true` if the command belongs to an attempt that was still acquiring the lock.
    pub(in crate::check) fn is_of_acquisition(&self) -> bool {
        self.by.phase == Phase::Acquire
    }
}

/// Returns `true` if both values are collections with a common element. Such a collection belongs to several clients
/// (waiters or readers), and it is unknown whose element went away.
pub(in crate::check) fn shares_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (elements(before), elements(now)) else {
        return false;
    };
    let now: Vec<&str> = now.collect();
    before.into_iter().any(|element| now.contains(&element))
}

/// Returns `true` if the later collection has an element that the earlier one does not have.
pub(in crate::check) fn adds_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(mut now)) = (elements(before), elements(now)) else {
        return false;
    };
    let before: Vec<&str> = before.collect();
    now.any(|element| !before.contains(&element))
}

/// Returns `true` for a collection of more than one element, which may belong to several clients. Each of them may keep
/// it alive.
pub(in crate::check) fn is_of_several(value: &str) -> bool {
    elements(value).is_some_and(|elements| elements.count() > 1)
}

/// Returns the names of a collection's elements, or `None` if the value is a string (possibly JSON).
fn elements(value: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    (!inside.starts_with('"')).then(|| {
        let elements = inside.split(", ");
        elements.map(|element| element.split_once(": ").map_or(element, |(name, _)| name))
    })
}
