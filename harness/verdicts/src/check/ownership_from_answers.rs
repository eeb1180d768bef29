//! Ownership in a history without key history: what clients said of their releases.
//!
//! `released: true` claims "the lock was mine until now, and is free". Let x be the time at which
//! the last command of that release that names the lock's key was sent on the wire (without a
//! command log: when the release was sent). The claim is false if another hold of that key
//!
//! - had its grant's arrival strictly before x,
//! - had not begun its own release, and was not killed, until strictly after x, and
//! - was granted *after* the releasing one ([`Hold::follows_ns`] says what proves that).
//!
//! The third condition matters because a client that overstays its own lease still counts as
//! holding, but a successor that releases its own, newer lock takes nothing from it. A late
//! *reply* proves nothing: only the time of the command counts.
//!
//! Where a node had two masters, nothing is proved either. After a failover by Sentinels the old master may come
//! back as a master, and serve clients whose connections never broke. The lock's key is then on two servers. A
//! release that succeeds on one of them says nothing of a client that has the lock on the other.

use super::finding::{ForeignRelease, Taking};
use crate::timeline::{Attempt, FaultSpan, Hold, Step, Timeline, leaves_two_masters};

/// A release that claims success.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    key: u32,
    op: u64,
    begin_ns: u64,
    sent_ns: u64,
    fired_at_ns: u64,
}

/// The releases that took another client's lock, by what the whole history shows; and whether another one seemed
/// to, and may have been of another master.
pub(super) fn foreign_releases(
    claims: &[Claim],
    timeline: &Timeline<'_>,
) -> (Vec<ForeignRelease>, bool) {
    let (mut foreign, mut in_doubt) = (Vec::new(), false);
    for claim in claims {
        let Some(owner) = claim.owner(timeline.holds()) else {
            continue;
        };
        let had_two_masters = |fault: &FaultSpan<'_>| {
            leaves_two_masters(fault.fault) && fault.touches(owner.begin_ns, claim.fired_at_ns)
        };
        if timeline.faults().iter().any(had_two_masters) {
            in_doubt = true;
            continue;
        }
        foreign.push(ForeignRelease {
            key: claim.key,
            releaser: claim.op,
            owner: owner.op,
            owned_ns: owner.begin_ns,
            sent_ns: claim.sent_ns,
            fired_at_ns: claim.fired_at_ns,
            how: Taking::Removed,
        });
    }
    (foreign, in_doubt)
}

impl Claim {
    /// The claim that an attempt makes by this step; `None`: it makes none.
    pub fn from_step(attempt: &Attempt, step: Step) -> Option<Self> {
        let Step::Answered {
            released: Some(true),
            last_command_ns,
            ..
        } = step
        else {
            return None;
        };
        let (sent_ns, _) = attempt.ended?;
        Some(Claim {
            key: attempt.key,
            op: attempt.op,
            begin_ns: attempt.begun_ns(),
            sent_ns,
            fired_at_ns: last_command_ns.unwrap_or(sent_ns),
        })
    }

    /// The last hold that owned the lock when the release's last command was sent, if it is not the releasing
    /// one. `holds` are in the order in which they began.
    fn owner<'a>(&self, holds: &'a [Hold]) -> Option<&'a Hold> {
        // A hold that began no later than the releasing one was not provably granted later.
        let from = holds.partition_point(|hold| hold.begin_ns <= self.begin_ns);
        let to = holds.partition_point(|hold| hold.begin_ns < self.fired_at_ns);
        let newer = holds.get(from..to)?.iter();
        newer.rev().find(|hold| {
            (hold.key, hold.op != self.op) == (self.key, true)
                && hold.follows_ns > self.begin_ns
                && hold.end_ns > self.fired_at_ns
        })
    }
}
