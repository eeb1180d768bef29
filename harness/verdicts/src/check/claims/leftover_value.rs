//! Values that stay on the servers although their lock reports that they are gone, or should report it.

use std::collections::BTreeSet;

use crate::history::KeyName;
use crate::key_history::KeyUpdate;
use crate::timeline::{AcquireFailure, Attempt, Step};

use crate::check::stalls::reply_delays::StallSpan;
use crate::check::stalls::thresholds::ENDING_ANYWAY;

/// A report of a lock about its client's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) enum ReportedState {
    /// The lock is free.
    Free,
    /// The client no longer owned the lock.
    NotItsOwn,
    /// The release returned without a result.
    Nothing,
    /// The clean-up after a failed section had ended. Whatever the lock reports, its client's value must not stay.
    SectionOver,
    /// Another client has the lock.
    Refused,
    /// The attempt failed with a definite error.
    NothingHappened,
}

impl ReportedState {
    /// Returns the report that a step of an attempt makes, or `None` if it makes none or is ambiguous.
    /// `section_failed` states whether the section of its hold failed.
    pub(in crate::check) fn from_step(step: Step, section_failed: bool) -> Option<ReportedState> {
        match step {
            Step::Answered {
                released: Some(true),
                ..
            } => Some(ReportedState::Free),
            Step::Answered { .. } if section_failed => Some(ReportedState::SectionOver),
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

    /// Returns `true` if the report is about a release, and not about an attempt to take the lock.
    pub(in crate::check) fn is_of_release(self) -> bool {
        !matches!(
            self,
            ReportedState::Refused | ReportedState::NothingHappened
        )
    }

    /// Returns the report as the predicate of a sentence about the worker.
    pub(in crate::check) fn describe(self) -> &'static str {
        match self {
            ReportedState::Free => "reported that it had released the lock",
            ReportedState::NotItsOwn => "reported that the lock was no longer its own",
            ReportedState::Nothing => "reported nothing about its release",
            ReportedState::SectionOver => "had ended a section that failed",
            ReportedState::Refused => "reported that another client has the lock",
            ReportedState::NothingHappened => "reported that its attempt had no effect",
        }
    }
}

/// The values of an attempt that a report contradicts.
#[derive(Debug, Clone)]
pub(in crate::check) struct LeftoverValue {
    /// When the report was made.
    pub(in crate::check) at_ns: u64,
    pub(in crate::check) reported: ReportedState,
    pub(in crate::check) worker: usize,
    pub(in crate::check) op: u64,
    pub(in crate::check) lock: u32,
    /// When the attempt last set an expiry, or `None` if none of its values expires.
    pub(in crate::check) written_ns: Option<u64>,
    /// A value that ends before this time was kept because of the declared minimum hold; 0 if the lock declares none.
    pub(in crate::check) held_on_until_ns: u64,
    /// Whether another attempt of the client may have written the values.
    pub(in crate::check) of_other_attempts: bool,
    /// The stall that may be the reason why a clean-up ended in an error.
    pub(in crate::check) stall: Option<StallSpan>,
    /// A value that ends before this time was ending anyway.
    ending_anyway_until_ns: u64,
    /// The node and key of each value that stays.
    pub(in crate::check) kept: Vec<(usize, KeyName)>,
}

impl LeftoverValue {
    /// Creates the record of the values that an attempt left behind despite its report.
    pub(in crate::check) fn new(
        at_ns: u64,
        attempt: &Attempt,
        reported: ReportedState,
        kept: Vec<(usize, KeyName)>,
        written_ns: Option<u64>,
    ) -> Self {
        LeftoverValue {
            at_ns,
            reported,
            worker: attempt.worker,
            op: attempt.op,
            lock: attempt.lock,
            written_ns,
            held_on_until_ns: 0,
            of_other_attempts: false,
            stall: None,
            ending_anyway_until_ns: ending_anyway_until_ns(at_ns, attempt),
            kept,
        }
    }

    /// Handles the end of a value. The value no longer counts as left if its own client removed it after all, or if it
    /// was ending anyway. `released` is the attempt that released the value, or `None` if none did.
    pub(in crate::check) fn ended(
        &mut self,
        at_ns: u64,
        update: &KeyUpdate<'_>,
        released: Option<u64>,
    ) {
        // A value that was written after the report is a different value.
        let before = (update.before.as_ref()).filter(|before| before.written_ns <= self.at_ns);
        let author = before.and_then(|before| before.author);
        let is_own = author.is_some_and(|author| {
            author.worker == self.worker && (author.op == self.op || self.of_other_attempts)
        });
        let is_ending = at_ns < self.ending_anyway_until_ns;
        let by_own_client = update.command().is_some_and(|by| by.worker == self.worker);
        let due_ns = before.and_then(|before| Some(before.expiry?.expires_at_ns()));
        let is_held_on = is_own && due_ns.unwrap_or(at_ns).min(at_ns) < self.held_on_until_ns;
        let is_excused = is_held_on
            || match self.reported {
                // Changes by other clients do not make the report true. The client's own removal may be in flight and
                // arrive during its next attempt.
                ReportedState::Free => {
                    let is_late = is_own && is_ending && by_own_client && update.now.is_none();
                    released == Some(self.op) || is_late
                }
                _ => is_own && (is_ending || by_own_client),
            };
        if is_excused {
            self.kept
                .retain(|(node, key)| (*node, key) != (update.node, update.key));
        }
    }

    /// Returns the number of nodes on which values stayed in `lock_keys`, the keys that certainly belong to the lock,
    /// or in any key if `lock_keys` is `None`.
    pub(in crate::check) fn nodes(&self, lock_keys: Option<&[KeyName]>) -> usize {
        let is_of_lock = |key: &KeyName| {
            key.lock() == Some(self.lock) || lock_keys.is_none_or(|keys| keys.contains(key))
        };
        let kept = self.kept.iter().filter(|(_, key)| is_of_lock(key));
        kept.map(|(node, _)| *node)
            .collect::<BTreeSet<usize>>()
            .len()
    }
}

/// Returns the time before which a value of this attempt ends anyway, as seen at `at_ns`.
pub(in crate::check) fn ending_anyway_until_ns(at_ns: u64, attempt: &Attempt) -> u64 {
    at_ns.saturating_add(ENDING_ANYWAY.part_of(attempt.ttl_ns))
}
