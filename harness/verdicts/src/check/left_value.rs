//! Values that stay on the servers although their lock says, or should say, that they are gone.

use crate::custody::KeyUpdate;
use crate::history::KeyName;
use crate::timeline::{Attempt, Denial, Step};

/// What a lock said while its client's value was still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The lock is free.
    Free,
    /// The lock was no longer its client's.
    NotItsOwn,
    /// Nothing about its release.
    Nothing,
    /// Another client has the lock.
    Refused,
    /// An error, before which certainly nothing had happened.
    NothingHappened,
}

impl Said {
    /// What is said by a step of an attempt about its value; `None`: nothing, or what is not certain.
    pub(super) fn by(step: Step) -> Option<Said> {
        match step {
            Step::Answered { failed: true, .. } => None,
            Step::Answered { released, .. } => Some(match released {
                Some(true) => Said::Free,
                Some(false) => Said::NotItsOwn,
                None => Said::Nothing,
            }),
            Step::Denied(Denial::Refused) => Some(Said::Refused),
            Step::Denied(Denial::Failed { definite: true }) => Some(Said::NothingHappened),
            _ => None,
        }
    }

    /// True if it was said of a release, and not of an attempt to take the lock.
    pub(super) fn is_of_release(self) -> bool {
        !matches!(self, Said::Refused | Said::NothingHappened)
    }

    /// What its client was told, as the rest of a sentence.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Said::Free => "was told that the lock is free",
            Said::NotItsOwn => "was told that the lock was no longer its own",
            Said::Nothing => "was told nothing of its release",
            Said::Refused => "was told that another client has the lock",
            Said::NothingHappened => "was told that certainly nothing had happened",
        }
    }
}

/// A value that its lock did not speak of truly.
#[derive(Debug, Clone)]
pub(super) struct LeftValue {
    /// When that was said.
    pub(super) at_ns: u64,
    pub(super) said: Said,
    pub(super) worker: usize,
    pub(super) op: u64,
    /// The lock.
    pub(super) lock: u32,
    /// When its attempt wrote the last one, if that is known.
    pub(super) written_ns: Option<u64>,
    /// What ends before this time was on its way to its end.
    passing_until_ns: u64,
    /// Where the values were.
    pub(super) kept: Vec<(usize, KeyName)>,
}

impl LeftValue {
    /// What stays of an attempt, of which that was said.
    pub(super) fn of(
        at_ns: u64,
        attempt: &Attempt,
        said: Said,
        kept: Vec<(usize, KeyName)>,
        written_ns: Option<u64>,
    ) -> Self {
        LeftValue {
            at_ns,
            said,
            worker: attempt.worker,
            op: attempt.op,
            lock: attempt.key,
            written_ns,
            passing_until_ns: passing_until_ns(at_ns, attempt),
            kept,
        }
    }

    /// A value has ended. One of these is forgotten if its own client took it away after all, or if it was about
    /// to end anyway. `released`: the attempt that has released it, if one did.
    pub(super) fn ended(&mut self, at_ns: u64, update: &KeyUpdate<'_>, released: Option<u64>) {
        // One that was written since then is another value.
        let before = (update.before.as_ref()).filter(|before| before.written_ns <= self.at_ns);
        let author = before.and_then(|before| before.author);
        let is_own = author.is_some_and(|author| author.is_of(self.worker, self.op));
        let is_passing = at_ns < self.passing_until_ns;
        let by_itself = update.command().is_some_and(|by| by.worker == self.worker);
        let is_it = match self.said {
            // What others do to it takes nothing back of that. A removal that was on its way may come in its client's
            // next attempt.
            Said::Free => {
                let is_late = is_own && is_passing && by_itself && update.now.is_none();
                released == Some(self.op) || is_late
            }
            _ => is_own && (is_passing || by_itself),
        };
        if is_it {
            self.kept
                .retain(|(node, key)| (*node, key) != (update.node, update.key));
        }
    }

    /// On how many nodes values stayed, in the keys that are certainly the lock's. `None`: all of them are.
    pub(super) fn nodes(&self, lock_keys: Option<&[KeyName]>) -> usize {
        let own = KeyName::Lock(self.lock);
        let of_lock =
            |key: &KeyName| *key == own || lock_keys.is_none_or(|keys| keys.contains(key));
        let kept = self.kept.iter().filter(|(_, key)| of_lock(key));
        let mut nodes: Vec<usize> = kept.map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len()
    }
}

/// What ends within a tenth of a lease was about to end: on its way to be removed, or nearly over.
pub(super) fn passing_until_ns(at_ns: u64, attempt: &Attempt) -> u64 {
    at_ns.saturating_add(attempt.ttl_ns / 10)
}
