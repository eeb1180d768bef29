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
//! Where the subject does not say enough, it is only known when a lease certainly ran, and when it
//! may have run. Two leases that certainly ran at the same time prove a violation. If two may have
//! done so, the history does not decide it.
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
use crate::history::Header;
use crate::timeline::{self, Attempt, Leases, Step};

/// A hold with its leases.
#[derive(Debug, Clone, Default)]
struct HeldLease {
    op: u64,
    begin_ns: u64,
    end_ns: u64,
    leases: Leases,
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
        (held.op, held.begin_ns) = (attempt.op, at_ns);
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

/// What two holds that have ended show in one kind of leases.
fn meet(
    one: &HeldLease,
    other: &HeldLease,
    leases: impl Fn(&HeldLease) -> &[timeline::Lease],
    tally: &mut Tally,
) {
    let (pairs, since_ns) = timeline::Lease::shared(leases(one), leases(other));
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
                    key.open[index].leases.step(at_ns, attempt, step);
                }
            }
            _ => {}
        }
        if matches!(step, Step::Ended(_)) {
            let (certain, possible) = (&mut self.certain, &mut self.possible);
            key.end(at_ns, attempt.op, |one, other| {
                meet(one, other, |held| &held.leases.certain, certain);
                meet(one, other, |held| &held.leases.possible, possible);
            });
        }
    }

    fn finish(self) -> Judgement {
        if self.certain.pairs == 0 && self.possible.pairs > 0 {
            return Judgement::Unknown(
                "a client got the lock while another's lease may have been running: how long it ran \
                 is not known, because the lock did not say"
                    .into(),
            );
        }
        self.certain.judgement(Property::Lease)
    }
}
