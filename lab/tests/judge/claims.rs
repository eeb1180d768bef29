//! Claims: compares the lock's reports with what it did.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | what an expiry is worth | the time of its writing plus the written lifetime, on the n-th best node if a grant needs n nodes |
//! | which expiries count | those of the attempt's own values that were written before the report arrived, even if the value is gone, unless the attempt removed it itself |
//! | an attempt that tried several times | its grant rests on the values that name the token of the grant, if there are any; values of an earlier try back nothing |
//! | nothing was written, and a value of that client from an earlier attempt is still there | the report rests on that value |
//! | such a value that is due, on a node whose clock was set | whether it is there is unknown: both causes are allowed |
//! | nothing was written at all | worth nothing; the cause is `unbacked-grant` |
//! | a validity that is reported after the release was sent | promises nothing: the client is releasing the lock |
//! | precision | a report that is up to 1 ms too long agrees, because no value is more precise; up to 5 ms is undecided |
//! | "its own value was still there" after a release | on so many nodes that no other client could get a quorum, when the success arrived and for 2 ms after that, and never removed by that client later |
//! | an element with the token of another client that holds the lock | belongs to that client, and a release may leave it |
//! | a refusal, or a release that reports `false` or nothing, while the value "stays" | it is there for a tenth of the lease after that, on as many nodes as matter, and its own client never removes it |
//! | two locks, one key | a key into which acquisitions of two locks wrote values that were granted |
//! | an extension that is refused "while its own value is there with time left" | more than a tenth of the lease is left at the refusal, and no fault was active since the request to acquire |
//! | a release that reports `true` for a value that was gone | its value had ended 2 ms before the release was sent, on so many nodes that the rest is not a quorum, the release changed no key, and the requested lease was over, counted from the grant |
//! | a release that reports `false` for a value that it removed itself | on as many nodes as a grant needs, by commands of that release, before the answer and before the end of the lease; no fault was active, or had ended less than a tenth of the lease before, since the request to acquire, no stall and no wait for a CPU either, the client did not cancel its request, and the lock keeps its key for no minimum time |
//! | a value that is written again | by a command outside the requests to acquire and release, in a key where the attempt's value from its acquisition had ended, while its values on the other nodes are fewer than a grant needs. A value that its own attempt replaces at the same time has not ended |
//! | a grant without a value that is over when it is reported, or has no reported validity | still a grant without a value: `unbacked-grant` |
//! | a grant on too few values of its own, and on enough with its token | undecided: another client has the same token |
//! | a value of an earlier attempt that does not name the token of the grant | whether the grant rests on it is unknown: `unbacked-grant` is allowed as well. If no value of the lock names a token, a value in doubt backs the grant if there was any fault |
//! | a shorter expiry of an extension | judged by the reported validity alone |
//! | the expiry of an attempt that was not granted the lock | claims nothing, because nothing was reported |
//! | a wrong expiry | the last one that a request to acquire or extend wrote to a value, not that of a background renewal |

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{Answer, Finding};
use super::attempt::{self, Attempt};
use super::cause::Case;
use super::key_history::{End, Value, has_element_of};
use super::line::{Line, MS, TENTH};
use super::renewal::silent_loss;
use super::reported_lease::{SAME_TOKEN, overstated, unwritten};

pub fn claims(case: &Case) -> Finding {
    if !case.file.key_history {
        return Finding::plain(Answer::NotApplicable);
    }
    let mut found: Vec<(u64, Finding)> = Vec::new();
    for attempt in case.attempts.iter().filter(|one| one.granted()) {
        found.extend(unwritten(case, attempt));
        found.extend(overstated(case, attempt));
        found.extend(false_release(case, attempt));
        found.extend(refused_extension(case, attempt));
        found.extend(release_of_a_gone_value(case, attempt));
        found.extend(denied_release(case, attempt));
        found.extend(written_again(case, attempt));
        found.extend(silent_loss(case, attempt));
        found.extend(wrong_expiry(case, attempt));
    }
    for attempt in &case.attempts {
        found.extend(left_value(case, attempt));
    }
    found.extend(shared_key(case));
    found.sort_by_key(|(at, finding)| (matches!(finding.answer, Answer::Undecided(_)), *at));
    let mut shared = found.iter();
    let shared = shared.find(|(_, finding)| finding.answer == Answer::Undecided(SAME_TOKEN));
    let shared_at = shared.map(|(at, _)| *at);
    let mut found = found.into_iter();
    let Some((first_at, mut first)) = found.next() else {
        return Finding::plain(Answer::Held);
    };
    // If two findings have the same time, either may be the first.
    for (_, other) in found.take_while(|(at, _)| *at == first_at) {
        if let (Answer::Violated(causes), Answer::Violated(others)) =
            (&mut first.answer, other.answer)
        {
            causes.extend(others);
        }
    }
    if let Answer::Violated(causes) = &mut first.answer {
        causes.extend(
            shared_at
                .filter(|at| *at <= first_at)
                .map(|_| "unbacked-grant"),
        );
    }
    first
}

/// Finds a release that reported success and left the value.
fn false_release(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, Some(true)) = attempt.released? else {
        return None;
    };
    let stays = |value: &&Value| {
        let removed_later = matches!(&value.end, End::Removed(by) if by.worker == attempt.worker);
        let of_another = case.attempts.iter().any(|one| {
            let (from, until) = one.hold();
            let holds = one.granted() && from <= at && at < until;
            holds && one.worker != attempt.worker && has_element_of(value, one)
        });
        let is_ending = value.runs_out(at) <= at.saturating_add(2 * MS);
        value.exists_at(at) && !is_ending && !removed_later && !of_another
    };
    // A release may leave a value that the same client wrote in an attempt without a definite answer, for example a
    // hold count.
    let me = (attempt.worker, attempt.op);
    let counted_down = |value: &&Value| {
        let by_release = value.author.as_ref().is_some_and(|by| {
            (by.worker, by.op) == me && (by.phase == "release" || by.phase == "idle")
        });
        let in_doubt = |one: &Attempt| match one.answer {
            attempt::Answer::Granted => !matches!(one.released, Some((_, Some(_)))),
            attempt::Answer::Failed(certain) => !certain,
            attempt::Answer::Refused => false,
            attempt::Answer::None => true,
        };
        let owner = value.owner.filter(|owner| *owner != me && owner.0 == me.0);
        let of_owner = |one: &&Attempt| Some((one.worker, one.op)) == owner;
        let taken_again = case.attempts.iter().find(of_owner).is_some_and(in_doubt);
        by_release && taken_again && stays(value)
    };
    let own_left = case
        .key_history
        .values_of_attempt(attempt)
        .filter(stays)
        .count();
    let counted_down = case
        .key_history
        .values_of_lock(attempt.key)
        .filter(counted_down);
    let left = own_left + counted_down.count();
    // So many nodes that the rest is not a quorum.
    let enough = (case.file.nodes + 1).saturating_sub(case.need());
    let note = format!("op {} released at {at}, {left} values left", attempt.op);
    (left >= enough).then(|| (at, Finding::violated(["false-release"], note)))
}

/// Finds a value that stays although the lock reports that its client does not hold the lock, or reports nothing.
fn left_value(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let enough = (case.file.nodes + 1).saturating_sub(case.need());
    let (at, cause, need) = match (attempt.answer, attempt.released) {
        (attempt::Answer::Refused | attempt::Answer::Failed(true), _) => {
            (attempt.answered, "ambiguous-acquire", case.need())
        }
        (attempt::Answer::Granted, Some((at, Some(false)))) => (at, "false-release", enough),
        (attempt::Answer::Granted, Some((at, None))) if !attempt.release_failed => {
            (at, "silent-release", enough)
        }
        _ => return None,
    };
    let until = at + attempt.ttl / TENTH;
    let lease = attempt
        .reports
        .last()
        .map_or(attempt.requested_at + attempt.ttl, |report| report.min);
    let stays = |value: &&Value| {
        let own = matches!(&value.end, End::Removed(by) | End::Overwritten(by) if by.worker == attempt.worker);
        let expires = value.expiries.last().is_some_and(|last| last.ttl.is_some());
        // An attempt that overwrites an existing value need not have taken the lock.
        let over = case.key_history.values.iter().any(|other| {
            (other.node, &other.key, other.until) == (value.node, &value.key, value.from)
                && matches!(other.end, End::Overwritten(_))
        });
        (attempt.granted() || !over)
            && value.exists_at(at)
            && value.until > until
            && !own
            && (expires || lease > until)
    };
    let left = case
        .key_history
        .values_of_attempt(attempt)
        .filter(stays)
        .count();
    let note = format!("op {} was answered at {at}, {left} values left", attempt.op);
    if left < need {
        return None;
    }
    // A difference of a few milliseconds decides nothing.
    let near = |value: &Value| value.until < until + 5 * MS;
    let mut staying = case.key_history.values_of_attempt(attempt).filter(stays);
    let finding = if staying.any(near) {
        Finding {
            note,
            ..Finding::plain(Answer::Undecided("about to end"))
        }
    } else {
        Finding::violated([cause], note)
    };
    Some((at, finding))
}

/// Finds a renewal that wrote the value again after it had gone, within the same hold.
fn written_again(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let own: Vec<&Value> = case.key_history.values_of_attempt(attempt).collect();
    let phase = |value: &Value| {
        value
            .author
            .as_ref()
            .map_or("", |by| by.phase.as_str())
            .to_owned()
    };
    let (from, until) = attempt.hold();
    let again = own.iter().find(|value| {
        let before = own
            .iter()
            .filter(|one| (one.node, &one.key) == (value.node, &value.key));
        let replaced = before
            .clone()
            .any(|one| one.until == value.from && matches!(one.end, End::Overwritten(_)));
        let had = before.clone().any(|one| phase(one) == "acquire")
            && before
                .clone()
                .any(|one| one.until <= value.from && one.from < value.from)
            && !replaced;
        let mut others: Vec<u64> = own
            .iter()
            .filter(|one| one.node != value.node && one.exists_at(value.from))
            .map(|one| one.node)
            .collect();
        others.sort_unstable();
        others.dedup();
        ["extend", "idle"].contains(&phase(value).as_str())
            && (from..until).contains(&value.from)
            && had
            && others.len() < case.need()
    })?;
    let note = format!("op {} wrote its value again at {}", attempt.op, again.from);
    Some((again.from, Finding::violated(["phantom-extend"], note)))
}

/// Finds a release that reported success although the value had gone before it was sent, and that changed nothing.
fn release_of_a_gone_value(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, Some(true)) = attempt.released? else {
        return None;
    };
    let sent = attempt
        .release
        .filter(|_| at > attempt.from() + attempt.ttl)?;
    let own: Vec<&Value> = case.key_history.values_of_attempt(attempt).collect();
    let mut clocks = case
        .file
        .events("fault-began")
        .filter(|line| line.has("clock"));
    let was_set = |value: &&Value, line: &Line| line.list("nodes").contains(&(value.node as i64));
    if clocks.any(|line| own.iter().any(|value| was_set(value, line))) {
        return None;
    }
    let by_itself = |value: &&Value| matches!(&value.end, End::Removed(by) | End::Overwritten(by) if by.worker == attempt.worker);
    if own.iter().copied().any(|value| by_itself(&value)) {
        return None;
    }
    let is_gone = |value: &&&Value| value.until + 2 * MS < sent;
    let mut remaining: Vec<u64> = own
        .iter()
        .filter(|value| !is_gone(value))
        .map(|it| it.node)
        .collect();
    remaining.sort_unstable();
    remaining.dedup();
    let touched = case.file.events("key-changed").any(|line| {
        let phase = line.text("phase");
        line.at >= sent && line.op() == Some(attempt.op) && (phase == "release" || phase == "idle")
    });
    let note = format!(
        "op {} reported at {at} the release of a value that was gone",
        attempt.op
    );
    (own.iter().any(|value| is_gone(&value)) && remaining.len() < case.need() && !touched)
        .then(|| (at, Finding::violated(["false-release"], note)))
}

/// Finds a release that reported `false` although it had removed the client's own value.
fn denied_release(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, Some(false)) = attempt.released? else {
        return None;
    };
    let is_over = attempt.deadline_at(at) <= at;
    let mut cancels = case.file.events("cancel");
    let is_cancelled = cancels.any(|line| line.op() == Some(attempt.op));
    let sent = attempt.release?;
    if is_over || is_cancelled || case.file.min_hold > 0 {
        return None;
    }
    let mut faults = case.file.events("fault-began");
    let disturbs = |began: &Line| {
        let delay = began.num("delay_ms").unwrap_or(0) * MS;
        let over = case
            .end_of(began)
            .map_or(u64::MAX, |over| over + case.file.ttl / TENTH + delay);
        began.at <= at && over >= attempt.requested_at
    };
    // These lines are written at the end of a stall or a wait.
    let mut stalls = case
        .file
        .lines
        .iter()
        .filter(|line| match line.event.as_str() {
            "harness-stalled" | "node-stalled" | "worker-stalled" => true,
            "worker-delayed" => line.num("worker") == Some(attempt.worker),
            _ => false,
        });
    let began_at = |line: &Line| match line.num("late_ms") {
        Some(late) => line.at.saturating_sub(late * MS),
        None => line.num("since_ns").unwrap_or(0),
    };
    let mut disturbed = stalls.any(|line| began_at(line) <= at && line.at >= attempt.requested_at);
    disturbed |= faults.any(disturbs);
    let removed = case.key_history.values_of_attempt(attempt).filter(|value| {
        matches!(&value.end, End::Removed(by) if by.op == attempt.op && by.phase == "release")
            && (sent..=at).contains(&value.until)
    });
    let mut nodes: Vec<u64> = removed.map(|value| value.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let note = format!(
        "op {} denied at {at} the release that it had made",
        attempt.op
    );
    (nodes.len() >= case.need() && !disturbed)
        .then(|| (at, Finding::violated(["false-release"], note)))
}

/// Finds an extension that was refused while the value was there.
fn refused_extension(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let mut refused = attempt.refused_extensions.iter();
    refused.find_map(|&(requested_at, at)| {
        let stands = |value: &&Value| {
            let left = value.runs_out(at).saturating_sub(at);
            value.from <= requested_at && value.exists_at(at) && left > attempt.ttl / TENTH
        };
        let mut nodes: Vec<u64> = case
            .key_history
            .values_of_attempt(attempt)
            .filter(stands)
            .map(|value| value.node)
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut faults = case.file.events("fault-began");
        let disturbed = faults.any(|began| {
            let over = case.end_of(began).unwrap_or(u64::MAX);
            began.at <= at && over >= attempt.requested_at
        });
        let note = format!("op {} was refused its extension at {at}", attempt.op);
        (nodes.len() >= case.need() && !disturbed)
            .then(|| (at, Finding::violated(["refused-extension"], note)))
    })
}

/// Finds an expiry that is not the requested lease.
fn wrong_expiry(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let requested_for = |phase: &str| match phase {
        "acquire" => Some(attempt.ttl),
        "extend" => attempt.extensions.last().copied(),
        _ => None,
    };
    let mut first: Option<(u64, Finding)> = None;
    for value in case.key_history.values_of_attempt(attempt) {
        for (index, expiry) in value.expiries.iter().enumerate() {
            let Some(by) = &expiry.by else { continue };
            // A second command of the same request may correct it.
            let next = value
                .expiries
                .get(index + 1)
                .and_then(|next| next.by.as_ref());
            let is_last = next.is_none_or(|next| (next.op, &next.phase) != (by.op, &by.phase));
            let (Some(ttl), Some(requested)) = (expiry.ttl, requested_for(&by.phase)) else {
                continue;
            };
            let max = requested.div_ceil(1000 * MS) * 1000 * MS;
            // A lease may count from the request: then the key gets the rest of it.
            let past = if by.phase == "acquire" {
                expiry.at.saturating_sub(attempt.requested_at)
            } else {
                0
            };
            let min = requested.saturating_sub(past);
            let is_short = ttl < min && by.phase == "acquire";
            if is_last && by.op == attempt.op && (is_short || ttl > max) {
                let note = format!(
                    "op {} wrote {ttl} ns for {requested} at {}",
                    by.op, expiry.at
                );
                if first.as_ref().is_none_or(|(at, _)| *at > expiry.at) {
                    first = Some((expiry.at, Finding::violated(["wrong-expiry"], note)));
                }
            }
        }
    }
    first
}

/// Finds a key that two locks share.
fn shared_key(case: &Case) -> Option<(u64, Finding)> {
    let mut lock_by_attempt = BTreeMap::new();
    for one in &case.attempts {
        lock_by_attempt
            .entry((one.worker, one.op))
            .or_insert(one.key);
    }
    let lock_of = |value: &Value| {
        let lock = *lock_by_attempt.get(&value.owner?)?;
        let keys = &case.key_history.keys[lock as usize];
        keys.contains(&value.key).then_some(lock)
    };
    let mut locks_of_key: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    for value in &case.key_history.values {
        let Some(lock) = lock_of(value) else { continue };
        let locks = locks_of_key.entry(&value.key).or_default();
        locks.insert(lock);
        if locks.len() > 1 {
            let note = format!("key {} of locks, at {}", value.key, value.from);
            return Some((value.from, Finding::violated(["shared-key"], note)));
        }
    }
    None
}
