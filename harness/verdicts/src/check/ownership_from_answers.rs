//! Ownership in a history without key history, from the answers to releases.
//!
//! `released: true` claims "I owned the lock until now, and it is free". Let x be the time at which the last command of
//! that release that names the lock's key was sent (or, without a command log, when the release was sent). The claim is
//! false if another hold of that key
//!
//! - began strictly before x,
//! - was not released and not ended by a kill until strictly after x, and
//! - was granted *after* the releasing hold (see [`Hold::follows_grants_before_ns`] for the proof), and
//! - exceeds the lock's capacity together with the releasing hold. (Two permits or two readers may fit.)
//!
//! The third condition matters because a client that overstays its lease still counts as holding the lock, but a
//! successor that releases its own, newer lock takes nothing from it. A late *reply* proves nothing; only the time of
//! the command counts.
//!
//! A release proves nothing while a node had two masters, either. After a failover by Sentinels the old master may
//! return as a master, and serve clients whose connections never broke. The lock's key is then on two servers, and a
//! release that succeeds on one of them proves nothing about a client that has the lock on the other.

use super::finding::{ForeignTaking, Taking};
use crate::timeline::{Attempt, FaultSpan, Hold, Timeline, leaves_two_masters};

/// A release that reported success.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReleaseClaim {
    lock: u32,
    op: u64,
    weight: u32,
    begin_ns: u64,
    sent_ns: u64,
    took_effect_ns: u64,
}

/// Returns the releases that took another client's lock, and `true` if a further release is in doubt because a node had
/// two masters.
pub(super) fn foreign_takings(
    claims: &[ReleaseClaim],
    timeline: &Timeline<'_>,
) -> (Vec<ForeignTaking>, bool) {
    let (mut foreign, mut in_doubt) = (Vec::new(), false);
    if claims.is_empty() {
        return (foreign, in_doubt);
    }
    let (holds, capacity) = (timeline.holds(), timeline.history().header.capacity);
    let mut newer_from = 0;
    for claim in claims {
        // A hold that did not begin later than the releasing hold was not provably granted later.
        newer_from = first_began_after(holds, claim.begin_ns, newer_from);
        let Some(owner) = claim.owner(&holds[newer_from..], capacity) else {
            continue;
        };
        let had_two_masters = |fault: &FaultSpan<'_>| {
            leaves_two_masters(fault.fault) && fault.touches(owner.begin_ns, claim.took_effect_ns)
        };
        if timeline.faults().iter().any(had_two_masters) {
            in_doubt = true;
            continue;
        }
        foreign.push(ForeignTaking {
            lock: claim.lock,
            taker: claim.op,
            owner: owner.op,
            owned_ns: owner.begin_ns,
            sent_ns: claim.sent_ns,
            took_effect_ns: claim.took_effect_ns,
            how: Taking::Removed,
        });
    }
    (foreign, in_doubt)
}

impl ReleaseClaim {
    /// Returns the claim of an attempt whose release reported success, or `None` if it never held the lock.
    pub fn new(attempt: &Attempt) -> Option<Self> {
        let (sent_ns, _) = attempt.ended?;
        Some(ReleaseClaim {
            lock: attempt.lock,
            op: attempt.op,
            weight: attempt.weight,
            begin_ns: attempt.begun_ns(),
            sent_ns,
            took_effect_ns: attempt.last_command_ns.unwrap_or(sent_ns),
        })
    }

    /// Returns `true` if the release's last command had been sent by this time.
    pub fn is_over(&self, at_ns: u64) -> bool {
        self.took_effect_ns <= at_ns
    }

    /// Returns the last hold that owned the lock when the release's last command was sent, or `None` if only the
    /// releasing hold did. `newer` are the holds that began later than the releasing hold, in the order in which they
    /// began.
    fn owner<'a>(&self, newer: &'a [Hold], capacity: u32) -> Option<&'a Hold> {
        let mut begun = newer.iter();
        let begun = begun.position(|hold| hold.begin_ns >= self.took_effect_ns);
        let newer = &newer[..begun.unwrap_or(newer.len())];
        newer.iter().rev().find(|hold| {
            (hold.lock, hold.op != self.op) == (self.lock, true)
                && self.weight.saturating_add(hold.weight) > capacity
                && hold.follows_grants_before_ns > self.begin_ns
                && hold.end_ns > self.took_effect_ns
        })
    }
}

/// Returns the index of the first hold that began after `at_ns`. `holds` must be in the order in which they began. The
/// search starts at `near`, because the next release is mostly that of a hold which began at nearly the same time.
fn first_began_after(holds: &[Hold], at_ns: u64, near: usize) -> usize {
    let later = holds[..near].iter().rev();
    let later = later.take_while(|hold| hold.begin_ns > at_ns).count();
    let earlier = holds[near..].iter();
    let earlier = earlier.take_while(|hold| hold.begin_ns <= at_ns).count();
    near - later + earlier
}
