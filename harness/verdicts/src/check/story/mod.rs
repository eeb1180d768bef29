//! Stories: a violation in at most ten plain sentences, with times and worker numbers.
//!
//! This module decides which facts of a finding belong to its story. The draft turns them into sentences, and returns
//! the most important ones in order of time.

mod draft;
mod kept_out;
mod key_history;
mod sentence;
mod unserved;

use picklock_scenarios::LockKind;

use crate::history::{EndedBy, EventKind};

use super::finding::{ClientDeath, Deadlock, StaleToken, Starvation, Taking, WrongStock};
use crate::check::causes::facts::{Facts, OutsideFault, Overlap, ResolvedObservation, Taken};
use crate::check::stalls::thresholds::USED_AT_GRANT;
use crate::timeline::{Hold, Lease, ns_from_ms};
use draft::{Draft, Story};
use kept_out::{describe_blocked_lock, missing_permits};
use key_history::{ran_out_ns, taken_with, written_values};
use sentence::{Weight, clock, length};

pub(super) use unserved::{kept_out_without_expiry, unserved};

/// Returns the story of a violation.
pub(super) fn story(facts: &Facts<'_>) -> Story {
    let mut draft = Draft::new(facts);
    match &facts.about {
        ResolvedObservation::Nothing => {}
        ResolvedObservation::ForeignTaking(taken) => describe_foreign_taking(&mut draft, taken),
        ResolvedObservation::StaleToken {
            stale,
            hold,
            before,
        } => describe_stale_token(&mut draft, stale, *hold, *before),
        ResolvedObservation::Overlap(holds) => describe_overlap(&mut draft, holds),
        ResolvedObservation::WrongStock {
            stock,
            sellers,
            outside,
            ..
        } => describe_wrong_stock(&mut draft, stock, sellers.as_ref(), outside.as_ref()),
        ResolvedObservation::ClientDeath(death) => describe_client_death(&mut draft, death),
        ResolvedObservation::Deadlock(deadlock) => describe_deadlock(&mut draft, deadlock),
        ResolvedObservation::Attempts {
            ops,
            holds,
            statement,
            ..
        } => describe_false_claim(&mut draft, ops, holds, statement),
        ResolvedObservation::Starvation { starvation, last } => {
            describe_starvation(&mut draft, starvation, *last);
        }
    }
    draft.finish(summary(facts))
}

/// Returns a violation as a short clause, or an empty text if the history does not contain the holds that the finding
/// names.
fn summary(facts: &Facts<'_>) -> String {
    let lock = &facts.lock;
    match &facts.about {
        ResolvedObservation::Nothing => String::new(),
        ResolvedObservation::ForeignTaking(taken) if taken.taking.how == Taking::Prolonged => {
            format!("a renewal kept {lock} alive that belonged to another client")
        }
        ResolvedObservation::ForeignTaking(_) => {
            format!("a command took {lock} away from its owner")
        }
        ResolvedObservation::StaleToken { stale, .. } => format!(
            "a fencing token did not grow: {} came after {}",
            stale.fence, stale.highest
        ),
        ResolvedObservation::Overlap(overlap) => summary_of_overlap(facts, overlap),
        ResolvedObservation::WrongStock { stock, .. } if stock.left < 0 => {
            let of_stock = match facts.history.header.keys.len() {
                0 | 1 => String::new(),
                _ => format!(" of {}", facts.stock),
            };
            match stock.left.unsigned_abs() {
                1 => format!("one unit{of_stock} was sold twice"),
                units => format!("{units} units{of_stock} were sold twice"),
            }
        }
        ResolvedObservation::WrongStock { stock, .. } => format!(
            "{} sold and {} left do not add up to a stock of {}",
            stock.sold, stock.left, facts.history.header.stock_start
        ),
        ResolvedObservation::Starvation { starvation, .. } => {
            let missing = missing_permits(facts, starvation);
            if let Some(missing) = missing {
                return missing;
            }
            match starvation.until_ns.saturating_sub(starvation.from_ns) {
                0 if starvation.has_unexpiring_key => {
                    format!("a key of {lock} that never expires was left behind")
                }
                0 => format!("{lock} was free after the run, but could not be taken"),
                waited_ns => {
                    let waited = length(waited_ns);
                    format!("{lock} was free, but no client got it for {waited}")
                }
            }
        }
        ResolvedObservation::ClientDeath(death) => format!(
            "the process of client {} ended without a fault",
            death.worker
        ),
        ResolvedObservation::Deadlock(deadlock) => format!(
            "{} clients waited for each other for {}",
            deadlock.waits.len(),
            length(facts.at_ns.saturating_sub(deadlock.closed_ns))
        ),
        ResolvedObservation::Attempts { statement, .. } => (*statement).to_owned(),
    }
}

/// Returns a short clause that states which holds overlapped.
fn summary_of_overlap(facts: &Facts<'_>, overlap: &Overlap<'_>) -> String {
    let Overlap { first, second, .. } = overlap;
    let (lock, header) = (&facts.lock, &facts.history.header);
    if header.kind == LockKind::Rwlock && (first.weight > 1 || second.weight > 1) {
        let holds = || overlap.others.iter().copied().chain([*first, *second]);
        let writers = holds().filter(|hold| hold.weight > 1).count();
        let readers = holds().count() - writers;
        return match (writers, readers) {
            (_, 0) => format!("{writers} writers held {lock} at once"),
            (_, 1) => format!("a writer and a reader held {lock} at once"),
            _ => format!("a writer and {readers} readers held {lock} at once"),
        };
    }
    if header.kind == LockKind::Semaphore {
        return too_many_permits(facts, overlap);
    }
    let end_ns = first.end_ns.min(second.end_ns);
    match end_ns.saturating_sub(second.begin_ns) {
        0 => format!("two clients held {lock} at once"),
        both_ns => format!("two clients held {lock} at once for {}", length(both_ns)),
    }
}

/// Returns a clause that states how many permits of a semaphore were held at once.
fn too_many_permits(facts: &Facts<'_>, holds: &Overlap<'_>) -> String {
    let all = || (holds.others.iter().copied()).chain([holds.first, holds.second]);
    let (clients, capacity) = (all().count(), facts.history.header.capacity);
    let permits: u64 = all().map(|hold| u64::from(hold.weight)).sum();
    let of_lock = if permits == clients as u64 {
        "permits".to_owned()
    } else {
        format!("{permits} permits")
    };
    format!(
        "{clients} clients held {of_lock} of {} at once, and there are {capacity}",
        facts.lock
    )
}

/// Adds the sentences about two overlapping holds of one key.
fn describe_overlap(draft: &mut Draft<'_>, holds: &Overlap<'_>) {
    let (facts, first, second) = (draft.facts, holds.first, holds.second);
    let lock = &facts.lock;
    let lease = if holds.second_arrived_late {
        let until = clock(second.first_deadline_ns);
        format!("its own lease had expired at {until}")
    } else {
        lease_at(facts, first, second.begin_ns)
    };
    let (got, taken) = (second.worker, taken_with(facts, second));
    let is_semaphore = facts.history.header.kind == LockKind::Semaphore;
    let (a_permit, theirs) = match second.weight {
        _ if !is_semaphore => (lock.clone(), "it"),
        1 => (format!("a permit of {lock}"), "theirs"),
        permits => (format!("{permits} permits of {lock}"), "theirs"),
    };
    let text = if holds.others.is_empty() && !is_semaphore {
        format!(
            "client {got} got {lock}{taken} while client {} still held it: {lease}",
            first.worker
        )
    } else {
        let mut workers: Vec<usize> = holds.others.iter().map(|hold| hold.worker).collect();
        workers.push(first.worker);
        workers.sort_unstable();
        let workers: Vec<String> = workers.iter().map(usize::to_string).collect();
        format!(
            "client {got} got {a_permit}{taken} while clients {} still held {theirs}: {lease}",
            workers.join(", ")
        )
    };
    draft.describe_grant(first);
    draft.add(second.begin_ns, Weight::Decisive, text);
    draft.describe_last_extension(first, second.begin_ns);
    describe_long_section(draft, holds);
    if let Some(phantom_ns) = holds.phantom_ns {
        let text = format!(
            "the lock let client {} act as the leader, and no lease of its key could run any more",
            first.worker
        );
        draft.add(phantom_ns, Weight::Decisive, text);
    }
    if let Some(requested_at_ns) = holds.late_extension_ns {
        let text = format!(
            "client {} requested an extension, but no command reached a server before the lease ended",
            first.worker
        );
        draft.add(requested_at_ns, Weight::Decisive, text);
    }
    // Values that were taken from the first holder are already described among its lost values.
    let is_described = |taken: &&Taken<'_>| {
        let is_of_first = taken.owner_hold.is_some_and(|owner| owner.op == first.op);
        is_of_first && taken.by.is_some() && taken.taking.how != Taking::Prolonged
    };
    for taken in holds.taken.iter().filter(|taken| !is_described(taken)) {
        draft.describe_taken(taken);
    }
    draft.describe_lost_values(first, second.begin_ns);
    let from_ns = first.acquire_ns.min(second.acquire_ns);
    let to_ns = first.end_ns.max(second.end_ns);
    draft.describe_attempts(&[first.op, second.op], from_ns, to_ns);
    for hold in [first, second] {
        draft.describe_resumed_lease(hold);
        draft.describe_death(hold);
    }
}

/// Adds a sentence if a client began a section that took longer than the rest of its lease, and little of the lease was
/// left when its grant arrived.
fn describe_long_section(draft: &mut Draft<'_>, holds: &Overlap<'_>) {
    let hold = holds.first;
    let left_ns = hold.first_deadline_ns.saturating_sub(hold.begin_ns);
    let took_ns = hold.end_ns.saturating_sub(hold.begin_ns);
    let mut faults = draft.facts.faults.iter();
    let was_frozen =
        faults.any(|fault| fault.freezes(hold.worker) && fault.touches(hold.begin_ns, hold.end_ns));
    // A lease of which nine tenths are left counts as whole.
    let whole_ns = hold.ttl_ns - USED_AT_GRANT.part_of(hold.ttl_ns);
    let is_short = hold.lease_reported && left_ns < whole_ns && left_ns < took_ns;
    if holds.is_outlived && is_short && !was_frozen {
        let text = format!(
            "client {} got the lock with {} of its lease left, but its section took {}",
            hold.worker,
            length(left_ns),
            length(took_ns)
        );
        draft.add(hold.begin_ns, Weight::Plot, text);
    }
}

/// Returns the state of a holder's lease when another client got the lock at `at_ns`.
fn lease_at(facts: &Facts<'_>, hold: &Hold, at_ns: u64) -> String {
    let worker = hold.worker;
    let has_begun = |lease: &&Lease| lease.from_ns <= at_ns;
    match hold.leases.iter().rev().find(has_begun) {
        Some(lease) if lease.until_ns > at_ns => {
            // Leases are cut at the end of the hold, which was in the future then.
            let is_cut = lease.until_ns == hold.end_ns;
            let until_ns = if is_cut {
                hold.deadline_ns
            } else {
                lease.until_ns
            };
            if is_loss_reported(facts, hold, until_ns) {
                let until = clock(until_ns);
                format!("client {worker}'s lease was running, and its loss was reported at {until}")
            } else {
                format!("client {worker}'s lease ran until {}", clock(until_ns))
            }
        }
        Some(lease)
            if !(hold.possible_leases.iter()).any(|l| l.from_ns <= at_ns && l.until_ns > at_ns) =>
        {
            // The reported lease may be only an upper bound. In that case the end of the value shows when the lease
            // ended.
            let ran_out = ran_out_ns(facts, hold, at_ns).filter(|_| hold.is_lease_a_bound());
            let ago = length(at_ns - ran_out.unwrap_or(lease.until_ns));
            format!("client {worker}'s lease had expired {ago} earlier")
        }
        _ => format!("the length of client {worker}'s lease is unknown"),
    }
}

/// Returns `true` if the lock reported at this time that the lease of the hold was lost. The lease may have ended
/// earlier.
fn is_loss_reported(facts: &Facts<'_>, hold: &Hold, at_ns: u64) -> bool {
    facts.history.events.iter().any(|event| match event.what {
        EventKind::Lost { op, .. } | EventKind::ExtendRefused { op, .. } => {
            op == hold.op && event.at_ns == at_ns
        }
        _ => false,
    })
}

/// Adds the sentences about a wrong stock.
fn describe_wrong_stock(
    draft: &mut Draft<'_>,
    wrong: &WrongStock,
    sellers: Option<&Overlap<'_>>,
    outside: Option<&OutsideFault<'_>>,
) {
    let (facts, at_ns) = (draft.facts, draft.facts.at_ns);
    if let Some(sellers) = sellers {
        describe_overlap(draft, sellers);
    }
    if let Some(&OutsideFault { holds, .. }) = outside {
        // The story of the overlap already contains the grants.
        if sellers.is_none() {
            holds.iter().for_each(|hold| draft.describe_grant(hold));
        }
        let from_ns = holds.map(|hold| hold.acquire_ns).into_iter().min();
        draft.describe_attempts(&holds.map(|hold| hold.op), from_ns.unwrap_or(0), at_ns);
    } else {
        // The story of the overlap does not contain a late change.
        let from_ns = sellers.map_or(0, |_| at_ns);
        draft.describe_attempts(wrong.op.as_slice(), from_ns, at_ns);
    }
    if wrong.left >= 0 {
        let (stock, start) = (&facts.stock, facts.history.header.stock_start);
        let text = format!(
            "{} sold and {} left do not add up to the {start} that {stock} started with",
            wrong.sold, wrong.left
        );
        draft.add(at_ns, Weight::Decisive, text);
    }
}

/// Adds the sentences about a command that took another client's lock.
fn describe_foreign_taking(draft: &mut Draft<'_>, taken: &Taken<'_>) {
    let taking = taken.taking;
    let holds = || taken.taker_hold.into_iter().chain(taken.owner_hold);
    draft.describe_taken(taken);
    holds().for_each(|hold| draft.describe_grant(hold));
    let acquired_ns = holds().map(|hold| hold.acquire_ns).min();
    let from_ns = acquired_ns.unwrap_or(taking.owned_ns);
    let until_ns = taken.owner_hold.map_or(0, |owner| owner.end_ns);
    let to_ns = until_ns.max(taking.took_effect_ns);
    draft.describe_attempts(&[taking.taker, taking.owner], from_ns, to_ns);
}

/// Adds the sentences about a token that was not higher than an earlier token.
fn describe_stale_token(
    draft: &mut Draft<'_>,
    stale: &StaleToken,
    hold: Option<&Hold>,
    before: Option<&Hold>,
) {
    let at_ns = draft.facts.at_ns;
    if let Some(earlier) = before {
        let text = format!(
            "client {} got the lock with token {}",
            earlier.worker, stale.highest
        );
        draft.add(earlier.begin_ns, Weight::Plot, text);
        draft.describe_faults(earlier.acquire_ns, at_ns);
    }
    if let Some(hold) = hold {
        let text = format!(
            "client {} got the lock with token {}, which is not higher than {}",
            hold.worker, stale.fence, stale.highest
        );
        draft.add(at_ns, Weight::Decisive, text);
    }
}

/// Adds the statement of a finding, and the events of the attempts that prove it.
fn describe_false_claim(draft: &mut Draft<'_>, ops: &[u64], holds: &[&Hold], statement: &str) {
    let (facts, at_ns) = (draft.facts, draft.facts.at_ns);
    holds.iter().for_each(|hold| draft.describe_grant(hold));
    for (wrote_ns, text) in holds.iter().flat_map(|hold| written_values(facts, hold)) {
        draft.add(wrote_ns, Weight::Reason, text);
    }
    let from_ns = holds.iter().map(|hold| hold.acquire_ns).min();
    draft.describe_attempts(ops, from_ns.unwrap_or(0), at_ns);
    draft.add(at_ns, Weight::Decisive, statement.to_owned());
}

/// Adds the death of a client, and the events of its latest attempt.
fn describe_client_death(draft: &mut Draft<'_>, death: &ClientDeath) {
    let at_ns = draft.facts.at_ns;
    let holds = draft.facts.holds.iter();
    if let Some(hold) = holds.rev().find(|hold| Some(hold.op) == death.op) {
        draft.describe_grant(hold);
        draft.describe_attempts(&[hold.op], hold.acquire_ns, at_ns);
    }
    let text = EndedBy::describe(Some(EndedBy::Itself), death.worker, &death.reason);
    draft.add(at_ns, Weight::Plot, text);
}

/// Adds the waits of a cycle, and the holds that the clients wait for.
fn describe_deadlock(draft: &mut Draft<'_>, deadlock: &Deadlock) {
    let facts = draft.facts;
    for wait in &deadlock.waits {
        let lock = facts.history.header.named(wait.wanted, "the lock");
        let text = format!(
            "client {} began to wait for {lock}, which client {} held",
            wait.worker, wait.holder
        );
        draft.add(wait.since_ns, Weight::Decisive, text);
        let mut holds = facts.holds.iter().rev();
        let is_held = |hold: &&Hold| {
            (hold.worker, hold.lock) == (wait.holder, wait.wanted)
                && hold.begin_ns <= deadlock.closed_ns
        };
        if let Some(hold) = holds.find(is_held) {
            draft.describe_grant(hold);
        }
    }
}

/// Adds the sentences about a period in which a free lock was not granted.
fn describe_starvation(draft: &mut Draft<'_>, starvation: &Starvation, last: Option<&Hold>) {
    let lock = &draft.facts.lock;
    let (from_ns, until_ns) = (starvation.from_ns, starvation.until_ns);
    draft.describe_faults(0, from_ns);
    if let Some(last) = last {
        draft.describe_grant(last);
        draft.describe_death(last);
        draft.describe_attempts(&[last.op], last.begin_ns, from_ns);
    }
    if let Some((worker, at_ns)) = starvation.doubt
        && !starvation.has_unexpiring_key
    {
        let text = format!(
            "the outcome of client {worker}'s attempt to get {lock} is unknown: it may hold it"
        );
        draft.add(at_ns, Weight::Plot, text);
    }
    if until_ns > from_ns {
        let text = match starvation.worker {
            Some(worker) if starvation.in_turn => format!(
                "{lock} should have been free, and clients requested it in turn, most recently client {worker}"
            ),
            Some(worker) => format!("{lock} should have been free, and client {worker} wanted it"),
            None => format!("{lock} should have been free, and the probe after the run wanted it"),
        };
        draft.add(from_ns, Weight::Plot, text);
        let waited = length(until_ns - from_ns);
        let text = format!("no client had got it for {waited}");
        draft.add(until_ns, Weight::Decisive, text);
    }
    describe_blocked_lock(draft, starvation);
    describe_aftermath(draft, starvation.lock);
}

/// Adds the findings of the inspection and the probe after the run.
fn describe_aftermath(draft: &mut Draft<'_>, of_key: u32) {
    for event in &draft.facts.history.events {
        let (weight, text) = match event.what {
            EventKind::KeyLeft {
                node,
                key,
                ttl_ms: -1,
            } if key == of_key => {
                let text =
                    format!("after the run the key was still on node {node}, without expiry");
                (Weight::Decisive, text)
            }
            EventKind::Probe {
                key,
                granted: false,
                waited_ms,
                permits,
            } if key == of_key => {
                let waited = length(ns_from_ms(waited_ms));
                match permits {
                    None => {
                        let text =
                            format!("a probe after the run waited {waited} and was not granted");
                        (Weight::Reason, text)
                    }
                    Some(permits) => {
                        let capacity = draft.facts.history.header.capacity;
                        let text = format!(
                            "after the run, a probe got {permits} of {capacity} permits within {waited}"
                        );
                        (Weight::Decisive, text)
                    }
                }
            }
            _ => continue,
        };
        draft.add(event.at_ns, weight, text);
    }
}
