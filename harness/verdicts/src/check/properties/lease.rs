//! Lease: no two holds overlap even when each is cut at its own lease deadline.
//!
//! If this is violated, two clients were inside while each had been promised to be alone: the
//! service let two in. The deadline is never later than what the client may believe (see
//! `timeline/lease_deadline.rs`), so a lock is not accused after its lease has expired.
//!
//! A lease that is extended after it has expired starts again when the extension arrives; the gap
//! does not count. A client that was let in during the gap, and left before the extension, met no
//! running lease. The message `lost` ends the lease when it arrives; the holder knew no later.
//!
//! Where the lock does not say enough, it is only known when a lease certainly ran, and when it
//! may have run. Two leases that certainly ran at the same time prove a violation. If two may have
//! done so, the history does not decide it.
//!
//! A lock that does not say how long its lease runs granted it at some time between the request and
//! the arrival. If it was granted late, its lease lasted at least a TTL from then, and may have met
//! another one. If it was granted early, it may have been in the middle of another's lease. If one of
//! the two is true of every such time, the service let two in, whenever it was.
//!
//! A holder may take back what it said, so its leases are known when its hold has ended. They are
//! then compared with those of the holds that ended beside it, and kept while a hold is open that
//! began before. Under a working lock none is kept. Under a broken one the end of a hold costs as much
//! as there are holds beside it.

use picklock_scenarios::Property;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::Judgement;
use crate::check::overlap::{Pair, Tally};
use crate::check::unjudged::Unjudged;
use crate::history::Header;
use crate::timeline::{self, Attempt, Leases, Step};

/// A hold with its leases.
#[derive(Debug, Clone, Default)]
struct HeldLease {
    op: u64,
    acquire_ns: u64,
    begin_ns: u64,
    end_ns: u64,
    ttl_ns: u64,
    /// The earliest end of its lease that it reported after the grant.
    kept_ns: u64,
    /// The lock said how long its lease runs.
    told: bool,
    leases: Leases,
}

impl HeldLease {
    /// True if the lock was granted to this holder beside a lease of the other one, whenever that was
    /// between the request and the arrival. For locks that do not say when.
    fn was_granted_beside(&self, other: &HeldLease) -> bool {
        let certain = &other.leases.certain;
        // What it said later may have taken the lease back.
        let until_ns = self.end_ns.min(self.kept_ns);
        let meets = |lease: &&timeline::Lease| {
            until_ns >= self.begin_ns && timeline::overlap((self.begin_ns, until_ns), lease.span())
        };
        let Some(met) = certain.iter().find(meets) else {
            return false;
        };
        // Granted later than this, its own lease ran while the two were inside.
        let early_ns = met.from_ns.max(self.begin_ns).saturating_sub(self.ttl_ns);
        let around =
            |lease: &timeline::Lease| lease.from_ns < self.acquire_ns && early_ns < lease.until_ns;
        !self.told && certain.iter().any(around)
    }
}

/// The holds of one key.
#[derive(Debug, Clone, Default)]
struct KeyLeases {
    /// Those that have not ended, by begin.
    open: Vec<HeldLease>,
    /// Those that have ended beside one that has not, by end.
    ended: Vec<HeldLease>,
    /// Memory to be used again.
    spare: Vec<HeldLease>,
}

/// The checker.
pub(in crate::check) struct Lease {
    keys: Vec<KeyLeases>,
    certain: Tally,
    possible: Tally,
}

impl KeyLeases {
    fn begin(&mut self, at_ns: u64, attempt: &Attempt) {
        let mut held = self.spare.pop().unwrap_or_default();
        (held.op, held.told, held.ttl_ns) = (attempt.op, attempt.told, attempt.ttl_ns);
        (held.acquire_ns, held.begin_ns) = (attempt.acquire_ns, at_ns);
        held.kept_ns = u64::MAX;
        held.leases.step(at_ns, attempt, Step::Begun);
        self.open.push(held);
    }

    fn of(&mut self, op: u64) -> Option<usize> {
        self.open.iter().rposition(|held| held.op == op)
    }

    fn end(&mut self, at_ns: u64, op: u64, mut meet: impl FnMut(&HeldLease, &HeldLease)) {
        let Some(index) = self.of(op) else { return };
        let mut held = self.open.remove(index);
        held.end_ns = at_ns;
        let beside = self.ended.iter().rev();
        // One that ended no later than this one began was not beside it.
        beside
            .take_while(|before| before.end_ns >= held.begin_ns)
            .for_each(|before| meet(before, &held));
        self.ended.push(held);
        let oldest_ns = self.open.first().map_or(u64::MAX, |held| held.begin_ns);
        let over = self.ended.partition_point(|held| held.end_ns < oldest_ns);
        self.spare.extend(self.ended.drain(..over));
    }
}

/// How many leases of two holds overlap, and since when.
type Shared = (u64, Option<u64>);

fn shared_certainly(one: &HeldLease, other: &HeldLease) -> Shared {
    let shared = timeline::Lease::shared(&one.leases.certain, &other.leases.certain);
    if shared.0 == 0 && (one.was_granted_beside(other) || other.was_granted_beside(one)) {
        return (1, Some(one.begin_ns.max(other.begin_ns)));
    }
    shared
}

fn shared_possibly(one: &HeldLease, other: &HeldLease) -> Shared {
    timeline::Lease::shared(&one.leases.possible, &other.leases.possible)
}

/// Adds what two holds that have ended show.
fn add(tally: &mut Tally, one: &HeldLease, other: &HeldLease, (pairs, since_ns): Shared) {
    let (earlier, later) = if one.begin_ns <= other.begin_ns {
        (one.op, other.op)
    } else {
        (other.op, one.op)
    };
    let pair = since_ns.map(|onset_ns| Pair {
        earlier,
        later,
        onset_ns,
    });
    tally.add((pairs, pair));
}

impl Checker for Lease {
    const DESCRIPTION: Description = Description {
        letter: 'L',
        severity: 0,
        held: "no client was let in while another's lease was running",
        violated: "two clients' leases overlapped",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../../../docs/explain/lease.md"),
    };

    fn new(header: &Header) -> Self {
        Lease {
            keys: vec![KeyLeases::default(); header.keys.len()],
            certain: Tally::default(),
            possible: Tally::default(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let Some(key) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        match step {
            Step::Begun => key.begin(at_ns, attempt),
            Step::LeaseMoved { .. } | Step::Ended(_) => {
                if let Some(index) = key.of(attempt.op) {
                    let held = &mut key.open[index];
                    held.leases.step(at_ns, attempt, step);
                    if let Step::LeaseMoved { said_ns, .. } = step {
                        // That the lock is lost takes back nothing before it was said.
                        let kept_ns = attempt.deadline_ns.max(said_ns.0);
                        held.kept_ns = held.kept_ns.min(kept_ns);
                    }
                }
            }
            _ => {}
        }
        if matches!(step, Step::Ended(_)) {
            let (certain, possible) = (&mut self.certain, &mut self.possible);
            key.end(at_ns, attempt.op, |one, other| {
                add(certain, one, other, shared_certainly(one, other));
                add(possible, one, other, shared_possibly(one, other));
            });
        }
    }

    fn finish(self) -> Judgement {
        if self.certain.pairs == 0 && self.possible.pairs > 0 {
            return Judgement::Unknown(Unjudged::LeasesMayHaveOverlapped);
        }
        self.certain.judgement(Property::Lease)
    }
}
