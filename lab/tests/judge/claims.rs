//! What the lock says against what it did.
//!
//! What section 5 leaves open, and how this judge reads it:
//!
//! | open | read as |
//! |---|---|
//! | what an expiry is worth | the time of its writing plus the life that was written, on the n-th best node of n that a grant needs |
//! | which expiries count | those of the attempt's own values, written before the claim arrived, gone or not, but not taken back by itself |
//! | nothing was written, and a value of that client is still there from an earlier attempt | the claim rests on that one |
//! | such a value that is due, on a node whose clock was set | whether it is there is not known: either cause |
//! | nothing was written at all | worth nothing; the cause is `unbacked-grant` |
//! | a validity that is told after the release was sent | promises nothing: the client is giving the lock back |
//! | how exact | a claim that is no more than 1 ms too long agrees: no figure is more exact; up to 5 ms is undecided |
//! | "its own value was still there" after a release | on so many nodes that nobody else could get a quorum, when the success arrived, and never removed by that client later |
//! | a refusal, or a release that says `false` or nothing, while the value "goes on standing" | it stands for a tenth of the lease after that, on as many nodes as matter, and its own client never takes it away |
//! | two locks, one key | a key into which the acquisitions of two locks wrote values that were granted |
//! | an extension that is refused "while its own value stands, with time left" | more than a tenth of the lease is left when that is said, and no fault was on since the request to acquire |
//! | a release that says `true` of what was gone | its value had ended 2 ms before the release was sent, on so many nodes that the rest is no quorum, the release changed no key, and the lease that was asked for was over, counted from the grant |
//! | an expiry that is off | the last one that one request to acquire or extend wrote to a value, not that of a background renewal |

use super::answer::{Answer, Finding};
use super::attempt::{self, Attempt, Told};
use super::cause::Case;
use super::key_history::{End, Value};
use super::line::{Line, MS};

pub fn claims(case: &Case) -> Finding {
    if !case.file.key_history {
        return Finding::plain(Answer::NotApplicable);
    }
    let mut found: Vec<(u64, Finding)> = Vec::new();
    for attempt in case.attempts.iter().filter(|one| one.granted()) {
        found.extend(overstated(case, attempt));
        found.extend(false_release(case, attempt));
        found.extend(refused_extension(case, attempt));
        found.extend(released_what_was_gone(case, attempt));
    }
    for attempt in case.attempts {
        found.extend(left(case, attempt));
        found.extend(off(case, attempt));
    }
    found.extend(shared(case));
    found.sort_by_key(|(at, finding)| (matches!(finding.answer, Answer::Undecided(_)), *at));
    let mut found = found.into_iter();
    let Some((first_at, mut first)) = found.next() else {
        return Finding::plain(Answer::Held);
    };
    // Which of two that come at one time is the first is open.
    for (_, other) in found.take_while(|(at, _)| *at == first_at) {
        if let (Answer::Violated(causes), Answer::Violated(others)) =
            (&mut first.answer, other.answer)
        {
            causes.extend(others);
        }
    }
    first
}

/// More validity told than written.
fn overstated(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    // A validity of nothing claims nothing.
    let told = attempt
        .told
        .iter()
        .filter(|told| told.claims && told.least > told.at)
        .filter(|told| attempt.release.is_none_or(|sent| told.at <= sent));
    told.filter_map(|told| of_told(case, attempt, told)).next()
}

fn of_told(case: &Case, attempt: &Attempt, told: &Told) -> Option<(u64, Finding)> {
    let mut worth: Vec<u64> = Vec::new();
    for node in 0..case.file.nodes as u64 {
        let mine = rested_on(case, attempt, told).filter(|value| value.node == node);
        // What the attempt took back itself backs nothing.
        let undone = |value: &Value| {
            let back = matches!(&value.end, End::Removed(by)
                if by.op == attempt.op && by.phase == "acquire");
            back && value.until <= told.at
        };
        let written = mine.filter(|value| value.from <= told.at && !undone(value));
        worth.extend(written.map(|value| value.runs_out(told.at)).max());
    }
    worth.sort_unstable_by(|one, other| other.cmp(one));
    let need = case.need();
    let note = |worth: u64| {
        format!(
            "op {} told a lease until {} at {}, written until {worth}",
            attempt.op, told.least, told.at
        )
    };
    let Some(worth) = worth.get(need - 1).copied() else {
        let causes = match told.is_grant {
            true => vec!["unbacked-grant"],
            false => vec!["unbacked-grant", "wrong-expiry"],
        };
        return Some((told.at, Finding::violated(causes, note(0))));
    };
    // Less than the unit of all these figures.
    if told.least <= worth.saturating_add(MS) {
        return None;
    }
    let wrote = case.key_history.of_attempt(attempt).next().is_some();
    if !wrote && worth <= told.at {
        return Some((
            told.at,
            Finding::violated(["unbacked-grant", "wrong-expiry"], note(worth)),
        ));
    }
    let finding = match told.least - worth < 5 * MS {
        true => Finding {
            note: note(worth),
            ..Finding::plain(Answer::Undecided("some milliseconds too long"))
        },
        false => Finding::violated(["wrong-expiry", "stale-reply"], note(worth)),
    };
    Some((told.at, finding))
}

/// The values that a claim rests on: the attempt's own; if it wrote none, those of its client that are
/// still there.
fn rested_on<'a>(
    case: &'a Case,
    attempt: &'a Attempt,
    told: &Told,
) -> impl Iterator<Item = &'a Value> {
    let own = case.key_history.of_attempt(attempt);
    let mut own = own.filter(|value| value.from <= told.at);
    let wrote = own.next().is_some();
    let at = told.at;
    let values = case.key_history.of_lock(attempt.key);
    values.filter(move |value| match wrote {
        true => value.owner == Some((attempt.worker, attempt.op)),
        false => {
            value
                .owner
                .is_some_and(|(worker, _)| worker == attempt.worker)
                && value.stands(at)
        }
    })
}

/// A release that told success and left the value.
fn false_release(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, Some(true)) = attempt.released? else {
        return None;
    };
    let stays = |value: &&Value| {
        let removed_later = matches!(&value.end, End::Removed(by) if by.worker == attempt.worker);
        value.stands(at) && !removed_later
    };
    // A release that leaves what the same client wrote in an attempt in doubt: a hold count, perhaps.
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
    let left = case.key_history.of_attempt(attempt).filter(stays).count();
    let counted_down = case.key_history.of_lock(attempt.key).filter(counted_down);
    let left = left + counted_down.count();
    // So many that the rest is no quorum.
    let enough = (case.file.nodes + 1).saturating_sub(case.need());
    let note = format!("op {} released at {at}, {left} values left", attempt.op);
    (left >= enough).then(|| (at, Finding::violated(["false-release"], note)))
}

/// A value that stays although the lock says that its client has not got it, or says nothing.
fn left(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, cause, need) = match (attempt.answer, attempt.released) {
        (attempt::Answer::Refused | attempt::Answer::Failed(true), _) => {
            (attempt.answered, "ambiguous-acquire", case.need())
        }
        (attempt::Answer::Granted, Some((at, Some(false)))) => {
            let enough = (case.file.nodes + 1).saturating_sub(case.need());
            (at, "false-release", enough)
        }
        (attempt::Answer::Granted, Some((at, None))) if !attempt.release_failed => {
            let enough = (case.file.nodes + 1).saturating_sub(case.need());
            (at, "false-release", enough)
        }
        _ => return None,
    };
    let until = at + attempt.ttl / 10;
    let lease = attempt
        .told
        .last()
        .map_or(attempt.asked + attempt.ttl, |told| told.least);
    let stays = |value: &&Value| {
        let own = matches!(&value.end, End::Removed(by) | End::Overwritten(by) if by.worker == attempt.worker);
        let expires = value.expiries.last().is_some_and(|last| last.ttl.is_some());
        // Who writes over what stands there may take no lock.
        let over = case.key_history.values.iter().any(|other| {
            (other.node, &other.key, other.until) == (value.node, &value.key, value.from)
                && matches!(other.end, End::Overwritten(_))
        });
        (attempt.granted() || !over)
            && value.stands(at)
            && value.until > until
            && !own
            && (expires || lease > until)
    };
    let left = case.key_history.of_attempt(attempt).filter(stays).count();
    let note = format!("op {} was answered at {at}, {left} values left", attempt.op);
    if left < need {
        return None;
    }
    // A few milliseconds more or less decide nothing.
    let near = |value: &Value| value.until < until + 5 * MS;
    let finding = match case.key_history.of_attempt(attempt).filter(stays).any(near) {
        true => Finding {
            note,
            ..Finding::plain(Answer::Undecided("about to end"))
        },
        false => Finding::violated([cause], note),
    };
    Some((at, finding))
}

/// A release that told success of what had gone before it was sent, and changed nothing.
fn released_what_was_gone(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let (at, Some(true)) = attempt.released? else {
        return None;
    };
    let sent = attempt
        .release
        .filter(|_| at > attempt.from() + attempt.ttl)?;
    let own: Vec<&Value> = case.key_history.of_attempt(attempt).collect();
    let mut clocks = case.file.of("fault-began").filter(|line| line.has("clock"));
    let was_set = |value: &&Value, line: &Line| line.list("nodes").contains(&(value.node as i64));
    if clocks.any(|line| own.iter().any(|value| was_set(value, line))) {
        return None;
    }
    let by_itself = |value: &&Value| matches!(&value.end, End::Removed(by) | End::Overwritten(by) if by.worker == attempt.worker);
    if own.iter().copied().any(|value| by_itself(&value)) {
        return None;
    }
    let is_gone = |value: &&&Value| value.until + 2 * MS < sent;
    let mut kept: Vec<u64> = own
        .iter()
        .filter(|value| !is_gone(value))
        .map(|it| it.node)
        .collect();
    kept.sort_unstable();
    kept.dedup();
    let touched = case.file.of("key-changed").any(|line| {
        let phase = line.text("phase");
        line.at >= sent && line.op() == Some(attempt.op) && (phase == "release" || phase == "idle")
    });
    let note = format!(
        "op {} said at {at} that it released what was gone",
        attempt.op
    );
    (own.iter().any(|value| is_gone(&value)) && kept.len() < case.need() && !touched)
        .then(|| (at, Finding::violated(["false-release"], note)))
}

/// An extension that was refused while the value stood.
fn refused_extension(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let mut refused = attempt.refused_extensions.iter();
    refused.find_map(|&(asked, at)| {
        let stands = |value: &&Value| {
            let left = value.runs_out(at).saturating_sub(at);
            value.from <= asked && value.stands(at) && left > attempt.ttl / 10
        };
        let mut nodes: Vec<u64> = case
            .key_history
            .of_attempt(attempt)
            .filter(stands)
            .map(|value| value.node)
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut faults = case.file.of("fault-began");
        let disturbed = faults.any(|began| {
            let over = case.end_of(began).unwrap_or(u64::MAX);
            began.at <= at && over >= attempt.asked
        });
        let note = format!("op {} was refused its extension at {at}", attempt.op);
        (nodes.len() >= case.need() && !disturbed)
            .then(|| (at, Finding::violated(["refused-extension"], note)))
    })
}

/// An expiry that is not the lease asked for.
fn off(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let asked_for = |phase: &str| match phase {
        "acquire" => Some(attempt.ttl),
        "extend" => attempt.extensions.last().copied(),
        _ => None,
    };
    let mut first: Option<(u64, Finding)> = None;
    for value in case.key_history.of_attempt(attempt) {
        for (index, expiry) in value.expiries.iter().enumerate() {
            let Some(by) = &expiry.by else { continue };
            // A second command of the same request may set it right.
            let next = value
                .expiries
                .get(index + 1)
                .and_then(|next| next.by.as_ref());
            let is_last = next.is_none_or(|next| (next.op, &next.phase) != (by.op, &by.phase));
            let (Some(ttl), Some(asked)) = (expiry.ttl, asked_for(&by.phase)) else {
                continue;
            };
            let most = asked.div_ceil(1000 * MS) * 1000 * MS;
            // A lease may count from the request: then the key gets what is left of it.
            let past = match by.phase == "acquire" {
                true => expiry.at.saturating_sub(attempt.asked),
                false => 0,
            };
            let least = asked.saturating_sub(past);
            if is_last && by.op == attempt.op && (ttl < least || ttl > most) {
                let note = format!("op {} wrote {ttl} ns for {asked} at {}", by.op, expiry.at);
                if first.as_ref().is_none_or(|(at, _)| *at > expiry.at) {
                    first = Some((expiry.at, Finding::violated(["wrong-expiry"], note)));
                }
            }
        }
    }
    first
}

/// One key for two locks.
fn shared(case: &Case) -> Option<(u64, Finding)> {
    let lock_of = |value: &Value| {
        let owner = value.owner?;
        let attempt = case
            .attempts
            .iter()
            .find(|one| (one.worker, one.op) == owner)?;
        let keys = &case.key_history.keys[attempt.key as usize];
        keys.contains(&value.key).then_some(attempt.key)
    };
    for (index, value) in case.key_history.values.iter().enumerate() {
        let Some(lock) = lock_of(value) else { continue };
        for earlier in &case.key_history.values[..index] {
            if earlier.key == value.key && lock_of(earlier).is_some_and(|other| other != lock) {
                let note = format!("key {} of locks, at {}", value.key, value.from);
                return Some((value.from, Finding::violated(["shared-key"], note)));
            }
        }
    }
    None
}
