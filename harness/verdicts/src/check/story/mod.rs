//! Stories: a violation told in at most ten plain sentences, with times and worker numbers.
//!
//! Everything that concerns the attempts of a finding is collected, the most important lines are
//! chosen, and those are told in order of time.

mod custody;
mod draft;
mod kept_out;
mod sentence;
mod unserved;

use crate::history::EventKind;

use super::double_sale::overlapping_sellers;
use super::evidence::Evidence;
use super::finding::{Finding, ForeignRelease, Seen, StaleToken, Starvation, WrongStock};
use crate::timeline::{Hold, Lease, ms};
use custody::tell_lost_values;
use draft::Draft;
use kept_out::tell_kept_out;
use sentence::{Weight, clock, length, lock, stock};

pub(super) use unserved::unserved;

/// The story of a violation.
pub(super) fn story(finding: &Finding, evidence: &Evidence<'_>) -> Vec<String> {
    let at_ns = finding.at_ns;
    let draft = match &finding.seen {
        Seen::Overlap { earlier, later } => match evidence.pair(*earlier, *later) {
            Some((first, second)) => of_overlap(evidence, first, second),
            None => Draft::default(),
        },
        Seen::WrongStock(stock) => of_wrong_stock(evidence, stock, at_ns),
        Seen::ForeignRelease(release) => of_foreign_release(evidence, release),
        Seen::StaleToken(stale) => of_stale_token(evidence, stale, at_ns),
        Seen::Starvation(starvation) => of_starvation(evidence, starvation),
        Seen::FalseClaim(claim) => of_attempts(evidence, &claim.ops, &claim.statement, at_ns),
        Seen::Attempts { ops, statement } => of_attempts(evidence, ops, statement, at_ns),
    };
    draft.finish()
}

/// Two holds of one key that overlap; `first` is the one that began first.
fn of_overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Draft {
    let mut draft = Draft::default();
    let until_ns = first.end_ns.max(second.end_ns);
    draft.tell_grant(evidence, first);
    let lock = lock(&evidence.history.header, first.key);
    let lease = if evidence.arrived_late(second) {
        let until = clock(second.first_deadline_ns);
        format!("its own lease had expired at {until}")
    } else {
        lease_at(first, second.begin_ns)
    };
    let text = format!(
        "worker {} got {lock} while worker {} still held it: {lease}",
        second.worker, first.worker,
    );
    draft.tell(second.begin_ns, Weight::Plot, text);
    draft.tell_foreign_releases(evidence, first.key, first.begin_ns, second.begin_ns);
    tell_lost_values(&mut draft, evidence, first, second.begin_ns);
    draft.tell_of(
        evidence,
        &[first.op, second.op],
        first.acquire_ns.min(second.acquire_ns),
        until_ns,
    );
    for hold in [first, second] {
        draft.tell_resumed_lease(hold);
        draft.tell_kill(hold);
    }
    draft
}

/// The state of a holder's lease when another client got the lock.
fn lease_at(hold: &Hold, at_ns: u64) -> String {
    let worker = hold.worker;
    let begun = |lease: &&Lease| lease.from_ns <= at_ns;
    match hold.leases.iter().rev().find(begun) {
        Some(lease) if lease.until_ns > at_ns => {
            // Leases are cut at the hold's end, which was still to come then.
            let cut = lease.until_ns == hold.end_ns;
            let until_ns = if cut {
                hold.deadline_ns
            } else {
                lease.until_ns
            };
            format!("worker {worker}'s lease ran until {}", clock(until_ns))
        }
        _ if (hold.possible_leases.iter()).any(|l| l.from_ns <= at_ns && l.until_ns > at_ns) => {
            format!("how long worker {worker}'s lease ran is not known")
        }
        Some(lease) => {
            let ago = length(at_ns - lease.until_ns);
            format!("worker {worker}'s lease had expired {ago} earlier")
        }
        None => format!("how long worker {worker}'s lease ran is not known"),
    }
}

/// A stock that is wrong.
fn of_wrong_stock(evidence: &Evidence<'_>, wrong: &WrongStock, at_ns: u64) -> Draft {
    let header = &evidence.history.header;
    let mut draft = match overlapping_sellers(evidence, wrong, at_ns) {
        Some((first, second)) => of_overlap(evidence, first, second),
        None => {
            let mut draft = Draft::default();
            let ops: Vec<u64> = wrong.op.into_iter().collect();
            draft.tell_of(evidence, &ops, 0, at_ns);
            draft
        }
    };
    if wrong.left >= 0 {
        let stock = stock(header, wrong.key);
        let text = format!(
            "{} sold and {} left do not add up to the {} that {stock} started with",
            wrong.sold, wrong.left, header.stock_start
        );
        draft.tell(at_ns, Weight::Plot, text);
    }
    draft
}

/// A release that took another client's lock.
fn of_foreign_release(evidence: &Evidence<'_>, release: &ForeignRelease) -> Draft {
    let mut draft = Draft::default();
    draft.tell_foreign_release(evidence, release);
    let ops = [release.releaser, release.owner];
    let holds: Vec<&Hold> = ops.iter().filter_map(|op| evidence.hold(*op)).collect();
    for hold in &holds {
        draft.tell_grant(evidence, hold);
    }
    let from_ns = holds.iter().map(|hold| hold.acquire_ns).min();
    let until_ns = evidence.hold(release.owner).map(|owner| owner.end_ns);
    let until_ns = until_ns.unwrap_or(release.struck_ns);
    draft.tell_of(
        evidence,
        &ops,
        from_ns.unwrap_or(release.owned_ns),
        until_ns.max(release.struck_ns),
    );
    draft
}

/// A token that was not higher than an earlier one.
fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken, at_ns: u64) -> Draft {
    let mut draft = Draft::default();
    if let Some(earlier) = evidence.hold_before(stale, at_ns) {
        let text = format!(
            "worker {} got the lock with token {}",
            earlier.worker, stale.highest
        );
        draft.tell(earlier.begin_ns, Weight::Plot, text);
        draft.tell_faults(evidence, earlier.acquire_ns, at_ns);
    }
    if let Some(hold) = evidence.hold(stale.op) {
        let text = format!(
            "worker {} got the lock with token {}, which is not higher than {}",
            hold.worker, stale.fence, stale.highest
        );
        draft.tell(at_ns, Weight::Plot, text);
    }
    draft
}

/// What was seen, and what happened to the attempts that prove it.
fn of_attempts(evidence: &Evidence<'_>, ops: &[u64], statement: &str, at_ns: u64) -> Draft {
    let mut draft = Draft::default();
    let holds: Vec<&Hold> = ops.iter().filter_map(|op| evidence.hold(*op)).collect();
    for hold in &holds {
        draft.tell_grant(evidence, hold);
    }
    let from_ns = holds.iter().map(|hold| hold.acquire_ns).min();
    draft.tell_of(evidence, ops, from_ns.unwrap_or(0), at_ns);
    draft.tell(at_ns, Weight::Plot, statement);
    draft
}

/// A period in which a free lock was not granted.
fn of_starvation(evidence: &Evidence<'_>, starvation: &Starvation) -> Draft {
    let header = &evidence.history.header;
    let lock = lock(header, starvation.key);
    let mut draft = Draft::default();
    draft.tell_faults(evidence, 0, starvation.from_ns);
    let last = evidence.timeline.holds().iter().rev();
    let last = last
        .filter(|hold| hold.key == starvation.key)
        .find(|hold| hold.begin_ns <= starvation.from_ns);
    if let Some(last) = last {
        draft.tell_grant(evidence, last);
        draft.tell_kill(last);
        draft.tell_of(evidence, &[last.op], last.begin_ns, starvation.from_ns);
    }
    if let Some((worker, at_ns)) = starvation.doubt
        && !starvation.has_unexpiring_key
    {
        let text = format!(
            "the outcome of worker {worker}'s attempt to get {lock} is unknown: it may hold it"
        );
        draft.tell(at_ns, Weight::Plot, text);
    }
    if starvation.until_ns > starvation.from_ns {
        let text = match starvation.worker {
            Some(worker) if starvation.in_turn => format!(
                "{lock} should have been free, and workers asked for it in turn, the last one worker {worker}"
            ),
            Some(worker) => format!("{lock} should have been free, and worker {worker} wanted it"),
            None => format!("{lock} should have been free, and the probe after the run wanted it"),
        };
        draft.tell(starvation.from_ns, Weight::Plot, text);
        let waited = length(starvation.until_ns - starvation.from_ns);
        draft.tell(
            starvation.until_ns,
            Weight::Plot,
            format!("no client had got it for {waited}"),
        );
    }
    tell_kept_out(&mut draft, evidence, starvation);
    tell_aftermath(&mut draft, evidence, starvation);
    draft
}

/// What was found after the run.
fn tell_aftermath(draft: &mut Draft, evidence: &Evidence<'_>, starvation: &Starvation) {
    for event in &evidence.history.events {
        match event.what {
            EventKind::KeyLeft {
                node,
                key,
                ttl_ms: -1,
            } if key == starvation.key => {
                let text =
                    format!("after the run the key was still on node {node}, without expiry");
                draft.tell(event.at_ns, Weight::Plot, text);
            }
            EventKind::Probe {
                key,
                granted: false,
                waited_ms,
            } if key == starvation.key => {
                let text = format!(
                    "a probe after the run waited {} and was not granted",
                    length(ms(waited_ms))
                );
                draft.tell(event.at_ns, Weight::Reason, text);
            }
            _ => {}
        }
    }
}
