//! Values that stay on the servers although their lock says, or should say, that they are gone.

use crate::history::KeyName;
use crate::key_history::KeyUpdate;
use crate::timeline::{AcquireFailure, Attempt, Step};

/// What a lock said while its client's value was still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) enum ReportedState {
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

impl ReportedState {
    /// What is said by a step of an attempt about its value; `None`: nothing, or what is not certain.
    pub(in crate::check) fn by(step: Step) -> Option<ReportedState> {
        match step {
            Step::Answered { failed: true, .. } => None,
            Step::Answered { released, .. } => Some(match released {
                Some(true) => ReportedState::Free,
                Some(false) => ReportedState::NotItsOwn,
                None => ReportedState::Nothing,
            }),
            Step::Denied(AcquireFailure::Refused) => Some(ReportedState::Refused),
            Step::Denied(AcquireFailure::Failed { definite: true }) => {
                Some(ReportedState::NothingHappened)
            }
            _ => None,
        }
    }

    /// True if it was said of a release, and not of an attempt to take the lock.
    pub(in crate::check) fn is_of_release(self) -> bool {
        !matches!(
            self,
            ReportedState::Refused | ReportedState::NothingHappened
        )
    }

    /// What its client was told, as the rest of a sentence.
    pub(in crate::check) fn describe(self) -> &'static str {
        match self {
            ReportedState::Free => "was told that the lock is free",
            ReportedState::NotItsOwn => "was told that the lock was no longer its own",
            ReportedState::Nothing => "was told nothing of its release",
            ReportedState::Refused => "was told that another client has the lock",
            ReportedState::NothingHappened => "was told that certainly nothing had happened",
        }
    }
}

/// A value that its lock did not speak of truly.
#[derive(Debug, Clone)]
pub(in crate::check) struct LeftValue {
    /// When that was said.
    pub(in crate::check) at_ns: u64,
    pub(in crate::check) said: ReportedState,
    pub(in crate::check) worker: usize,
    pub(in crate::check) op: u64,
    /// The lock.
    pub(in crate::check) lock: u32,
    /// When its attempt wrote the last one, if that is known.
    pub(in crate::check) written_ns: Option<u64>,
    /// What ends before this time was on its way to its end.
    passing_until_ns: u64,
    /// Where the values were.
    pub(in crate::check) kept: Vec<(usize, KeyName)>,
}

impl LeftValue {
    /// What stays of an attempt, of which that was said.
    pub(in crate::check) fn new(
        at_ns: u64,
        attempt: &Attempt,
        said: ReportedState,
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
    pub(in crate::check) fn ended(
        &mut self,
        at_ns: u64,
        update: &KeyUpdate<'_>,
        released: Option<u64>,
    ) {
        // One that was written since then is another value.
        let before = (update.before.as_ref()).filter(|before| before.written_ns <= self.at_ns);
        let author = before.and_then(|before| before.author);
        let is_own = author.is_some_and(|author| author.is_of(self.worker, self.op));
        let is_passing = at_ns < self.passing_until_ns;
        let by_itself = update.command().is_some_and(|by| by.worker == self.worker);
        let is_it = match self.said {
            // What others do to it takes nothing back of that. A removal that was on its way may come in its client's
            // next attempt.
            ReportedState::Free => {
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
    pub(in crate::check) fn nodes(&self, lock_keys: Option<&[KeyName]>) -> usize {
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
pub(in crate::check) fn passing_until_ns(at_ns: u64, attempt: &Attempt) -> u64 {
    at_ns.saturating_add(attempt.ttl_ns / 10)
}
