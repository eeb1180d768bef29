//! What causes and stories are drawn from: the history, read a second time.
//!
//! Only a violation is explained, so each part is computed when it is first asked for, and once.
//! Causes that need more than the history get it from here, too.

use std::cell::OnceCell;

use picklock_scenarios::Phase;

use crate::custody::{Custody, ValueSpan};
use crate::history::{EventKind, History, KeyCommand};
use crate::timeline::{Hold, Timeline, forgets};

use super::finding::{ForeignRelease, StaleToken, Taking};
use super::lost_claim::took_again;
use super::on_time::OnTime;
use super::properties::ownership::foreign_releases;

/// What a violation is explained from.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// The history itself.
    pub history: &'a History,
    /// Its holds and faults.
    pub timeline: Timeline<'a>,
    /// The holds, had the harness been on time. `None`: it was.
    pub on_time: Option<OnTime>,
    foreign_releases: OnceCell<Vec<ForeignRelease>>,
    account: OnceCell<Custody>,
}

impl<'a> Evidence<'a> {
    /// The evidence of this history.
    pub fn new(history: &'a History) -> Self {
        Evidence {
            history,
            timeline: Timeline::of(history),
            on_time: OnTime::of(history),
            foreign_releases: OnceCell::new(),
            account: OnceCell::new(),
        }
    }

    /// The hold of an attempt.
    pub fn hold(&self, op: u64) -> Option<&Hold> {
        self.timeline.holds().iter().find(|hold| hold.op == op)
    }

    /// Whose an attempt was, whether or not it was granted.
    pub fn worker_of(&self, attempt: u64) -> Option<usize> {
        let mut events = self.history.events.iter();
        events.find_map(|event| match event.what {
            EventKind::Acquire { worker, op, .. } if op == attempt => Some(worker),
            _ => None,
        })
    }

    /// The holds of two attempts, in the order in which they began.
    pub fn pair(&self, one: u64, other: u64) -> Option<(&Hold, &Hold)> {
        let (one, other) = (self.hold(one)?, self.hold(other)?);
        Some(if one.begin_ns <= other.begin_ns {
            (one, other)
        } else {
            (other, one)
        })
    }

    /// All releases that succeeded on another client's lock.
    pub fn foreign_releases(&self) -> &[ForeignRelease] {
        self.foreign_releases
            .get_or_init(|| foreign_releases(&self.timeline))
    }

    /// True if it put another value in the place of the one that it took away, and that was a renewal.
    /// A release may also write a mark that the lock is free; a renewal that comes as late as during the
    /// release writes what the attempt had taken the lock with.
    pub fn is_extension(&self, release: &ForeignRelease) -> bool {
        let spans = self.custody().map_or(&[][..], |account| &account.spans);
        let struck = spans
            .iter()
            .filter(|span| span.from_ns == release.struck_ns);
        let mut authors = struck.filter_map(|span| span.author.as_ref());
        let by = authors.find(|by| by.op == release.releaser && by.phase == Phase::Release);
        release.how == Taking::Replaced
            && by.is_none_or(|by| took_again(spans, by, release.struck_ns))
    }

    /// The command that took a value away or kept it alive, and the value. `None`: the history has no account of it.
    pub fn taken_by(&self, release: &ForeignRelease) -> Option<(&KeyCommand, &ValueSpan)> {
        let spans = self.custody()?.spans.iter();
        let mut owned = spans.filter(|span| {
            let author = span.author.as_ref();
            author.is_some_and(|author| author.op == release.owner)
        });
        owned.find_map(|span| {
            let renewals = span.renewals.iter();
            let renewals = renewals.map(|renewal| (renewal.at_ns, &renewal.by));
            let ended = span.end.by().map(|by| (span.until_ns, by));
            let mut commands = ended.into_iter().chain(renewals);
            let by = commands
                .find(|(at_ns, by)| (*at_ns, by.op) == (release.struck_ns, release.releaser));
            by.map(|(_, by)| (by, span))
        })
    }

    /// True if one of two holders has written nothing, while what its attempt before had written without a certain
    /// answer was there: its grant was the reply to that.
    pub fn rests_on_earlier(&self, one: &Hold, other: &Hold) -> bool {
        let spans = self.custody().map_or(&[][..], |account| &account.spans);
        [one, other].into_iter().any(|hold| {
            let wrote = |op: u64| spans.iter().any(|span| span.is_of(hold.worker, op));
            !wrote(hold.op) && self.doubt_before(hold).is_some_and(wrote)
        })
    }

    /// The attempt of the same client and lock before this one, if it ended without a certain answer.
    fn doubt_before(&self, hold: &Hold) -> Option<u64> {
        let before = self.history.events.iter().rev();
        let before =
            before.skip_while(|event| event.what.attempt() != Some((hold.worker, hold.op)));
        let mut before = before.filter_map(|event| match event.what {
            EventKind::AcquireFailed {
                worker,
                op,
                definite,
                ..
            } if worker == hold.worker => Some((op, !definite)),
            EventKind::Granted { worker, op, .. } | EventKind::Refused { worker, op }
                if worker == hold.worker && op != hold.op =>
            {
                Some((op, false))
            }
            _ => None,
        });
        before
            .next()
            .filter(|(_, in_doubt)| *in_doubt)
            .map(|(op, _)| op)
    }

    /// The custody: all values of the servers' keys. `None`: the history has no account of them.
    pub fn custody(&self) -> Option<&Custody> {
        let kept = self.history.header.custody;
        kept.then(|| self.account.get_or_init(|| Custody::of(self.history)))
    }

    /// The hold with the higher token that a stale token followed.
    pub fn hold_before(&self, stale: &StaleToken, at_ns: u64) -> Option<&Hold> {
        self.timeline.holds().iter().find(|hold| {
            hold.begin_ns <= at_ns && hold.op != stale.op && hold.fence == Some(stale.highest)
        })
    }

    /// True if the lease had expired before the grant arrived.
    ///
    /// A lock that reports no lease, and itself waits for the lock, is often granted it later
    /// than `acquire + ttl` with a fresh lease. Its grant counts as late only if a fault delayed
    /// this worker while it was asking.
    pub fn arrived_late(&self, hold: &Hold) -> bool {
        let fresh = hold
            .leases
            .first()
            .is_some_and(|lease| lease.from_ns == hold.begin_ns);
        if fresh {
            return false;
        }
        hold.told
            || hold.seen
            || !hold.could_wait
            || self.timeline.faults().iter().any(|fault| {
                !forgets(fault.fault)
                    && fault.strikes(hold.worker)
                    && fault.began_ns < hold.begin_ns
                    && fault.touches(hold.acquire_ns, hold.begin_ns)
            })
    }
}
