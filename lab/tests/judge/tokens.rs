//! Ownership and fencing.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | who writes while a worker is idle | its renewal |
//! | an acquisition that removes a value | it counts if the owner's lease was running, whether or not the attempt writes there next. Otherwise it takes over what has expired |
//! | why an acquisition that then took the lock removed a running value | `not-exclusive` if a script did it; `race` if attempts had removed values there that were older than their lease, so that the lock takes over by removal; a wrong clock; otherwise `stolen-release`, because the removal does not belong to this acquisition |
//! | an acquisition that overwrites a value | it takes the lock: it does not count |
//! | a longer expiry for another client's value that stays | counts if it was written to extend or to release, or by an idle worker: `foreign-renewal`. A shorter one does not count, and neither does a collection of several elements |
//! | a removal of the client's own value | does not count, unless a plain command outside every request removes it while its lease runs, at most a lease after the client released another hold: a release so late that its client holds again |
//! | a value that an attempt wrote over another one | its lock only if that attempt is granted the lock without writing the key again |
//! | a collection that contains the taker's own token | belongs to the taker, too, whoever else has the same token |
//! | a value that an extension wrote first | belongs to no acquisition; it does not count |
//! | a value that an extension wrote in place of its own attempt's value | still belongs to the acquisition: otherwise a lock that stores its expiry in the value would have no owner after its first extension |
//! | a release that writes the value with which its attempt took the lock | a late renewal: `phantom-extend` |
//! | `race` or `stolen-release` | `stolen-release` if the removed value was there when the release was sent; otherwise the release may have checked first, and both are allowed |
//! | the order of holds | the order in which they were taken on the servers, if both wrote a value; otherwise the order in which the grants arrived. A grant may arrive after a later one although the counter was right |
//! | why tokens went wrong | how the key that held the counter was lost between the two grants |

use super::answer::{Answer, Finding};
use super::attempt::Attempt;
use super::cause::Case;
use super::key_history::{Author, End, KeyHistory, Value, has_element_of};

pub fn ownership(case: &Case) -> Finding {
    let mut found: Vec<(u64, usize, Vec<&'static str>, String)> = Vec::new();
    for lock in 0..case.file.locks.len() as u64 {
        for value in case.key_history.values_of_lock(lock) {
            found.extend(prolonged(value));
            let (by, replaced) = match &value.end {
                End::Removed(by) => (by, false),
                End::Overwritten(by) => (by, true),
                _ => continue,
            };
            let Some(owner) = value.acquirer.filter(|_| !is_unproven(case, value)) else {
                continue;
            };
            if owner == by.worker && !replaced && is_late_release(case, value, by) {
                let note = format!(
                    "at {} ns a late release of client {owner} removed its own value",
                    value.until
                );
                found.push((value.until, value.line, vec!["stolen-release"], note));
            }
            let taker = case.attempts.iter().find(|one| one.op == by.op);
            if taker.is_some_and(|taker| has_element_of(value, taker)) {
                continue;
            }
            if owner == by.worker || (replaced && by.phase == "acquire") {
                continue;
            }
            if by.phase == "acquire" && !owner_relies_on(case, value) {
                continue;
            }
            let causes = match () {
                () if by.phase == "acquire" && writes_next(case, value, by) => {
                    takeover_causes(case, value, by)
                }
                () => taking_causes(case, value, by, replaced),
            };
            let note = format!(
                "at {} ns client {} op {} ({}, {}) took the value of client {owner} written at {} on node {}",
                value.until, by.worker, by.op, by.phase, by.command, value.from, value.node
            );
            found.push((value.until, value.line, causes, note));
        }
    }
    found.sort_by_key(|(at, line, _, _)| (*at, *line));
    match found.into_iter().next() {
        Some((_, _, causes, note)) => Finding::violated(causes, note),
        None => Finding::plain(Answer::Held),
    }
}

/// Returns `true` if a plain removal outside every request took a running value of its own client, at most a lease
/// after that client had released another hold of this lock.
fn is_late_release(case: &Case, value: &Value, by: &Author) -> bool {
    let is_plain = !by.command.starts_with("EVAL") && !by.command.starts_with("FCALL");
    let author = value.author.as_ref().map(|author| author.op);
    let owner = case.attempts.iter().find(|one| Some(one.op) == author);
    let is_late = by.phase == "idle" && is_plain && !case.is_unrequested(value, by);
    let Some(owner) = owner.filter(|_| is_late) else {
        return false;
    };
    let at = value.until;
    let is_earlier = |one: &&Attempt| {
        one.worker == by.worker
            && one.op != owner.op
            && one.granted()
            && one.release.is_some_and(|sent| sent <= at)
    };
    let last = case.attempts.iter().filter(is_earlier);
    let last = last.max_by_key(|one| one.release);
    last.is_some_and(|last| {
        let sent = last.release.unwrap_or_default();
        last.key == owner.key && at <= sent.saturating_add(last.ttl) && lease_runs(owner, at)
    })
}

/// Returns `true` if the lease of a value's owner was running at this time, as far as the lock had reported.
fn lease_runs(owner: &Attempt, at: u64) -> bool {
    let report = owner.reports.iter().rfind(|report| report.at <= at);
    let until = report.map_or(owner.requested_at.saturating_add(owner.ttl), |report| {
        report.min
    });
    let given_back = owner.release.is_some_and(|sent| sent <= at);
    let denied = !owner.granted() && owner.answered <= at;
    !given_back && !denied && at < until
}

/// Returns the renewals of a value by other clients.
fn prolonged(value: &Value) -> Vec<(u64, usize, Vec<&'static str>, String)> {
    let over = |at: u64, ttl: Option<u64>| ttl.map_or(u64::MAX, |ttl| at.saturating_add(ttl));
    let several = value.text.starts_with('{') && value.text.contains(", ");
    let renewals = value.expiries.windows(2).filter_map(|pair| {
        let by = pair[1].by.as_ref()?;
        let longer = over(pair[1].at, pair[1].ttl) > over(pair[0].at, pair[0].ttl);
        let owner = value.acquirer.filter(|owner| *owner != by.worker)?;
        let note = format!(
            "at {} ns client {} op {} ({}) prolonged the value of client {owner}",
            pair[1].at, by.worker, by.op, by.phase
        );
        let counts = longer && by.phase != "acquire" && !several;
        let causes = vec!["foreign-renewal", "shared-token"];
        counts.then_some((pair[1].at, value.line, causes, note))
    });
    renewals.collect()
}

/// Returns `true` if a value that was written over another one is not its writer's lock: the attempt was not granted
/// the lock, or had written the key again before it was. GETSET writes even if it finds that another client has the
/// lock.
fn is_unproven(case: &Case, value: &Value) -> bool {
    let here = |one: &&Value| (one.node, &one.key) == (value.node, &value.key);
    let Some(author) = value.author.as_ref().filter(|by| by.phase == "acquire") else {
        return false;
    };
    let mut before = case.key_history.values.iter().filter(here);
    let is_over = before.any(|one| {
        let by_author = matches!(&one.end, End::Overwritten(by) if by.op == author.op);
        by_author && one.until == value.from && one.line < value.line
    });
    let owner = case.attempts.iter().find(|one| one.op == author.op);
    let wrote_again = |owner: &Attempt| {
        let mut later = case.key_history.values.iter().filter(here);
        later.any(|one| {
            let by_owner = one.author.as_ref().is_some_and(|by| by.op == owner.op);
            by_owner && value.from < one.from && one.from <= owner.from()
        })
    };
    is_over && owner.is_none_or(|owner| !owner.granted() || wrote_again(owner))
}

/// Returns `true` if the attempt that wrote a value relied on its lease when the value ended.
fn owner_relies_on(case: &Case, value: &Value) -> bool {
    let author = value.author.as_ref().map(|author| author.op);
    let owner = case.attempts.iter().find(|one| Some(one.op) == author);
    owner.is_some_and(|owner| lease_runs(owner, value.until))
}

/// Returns `true` if the attempt that removed a value was the next to write its key.
fn writes_next(case: &Case, value: &Value, by: &Author) -> bool {
    let mut later = case.key_history.values.iter().filter(|other| {
        (other.node, &other.key) == (value.node, &value.key) && other.line > value.line
    });
    later.next().is_some_and(|next| {
        let author = next.author.as_ref();
        author.is_some_and(|author| author.op == by.op && author.phase == "acquire")
    })
}

/// Returns why an attempt that took the lock had removed a running value from its key.
fn takeover_causes(case: &Case, value: &Value, by: &Author) -> Vec<&'static str> {
    let takes_over = case.key_history.values.iter().any(|other| {
        let in_acquisition = matches!(&other.end, End::Removed(by) if by.phase == "acquire");
        let author = other.author.as_ref().map(|author| author.op);
        let owner = case.attempts.iter().find(|one| Some(one.op) == author);
        let is_old = owner.is_some_and(|owner| other.until - other.from >= owner.ttl);
        in_acquisition && is_old && (other.node, &other.key) == (value.node, &value.key)
    });
    let cause = match () {
        () if by.command.starts_with("EVAL") => "not-exclusive",
        () if takes_over => "race",
        () => "stolen-release",
    };
    let set = |name: &'static str| {
        let mut began = case.file.events("fault-began");
        let is_set = began.any(|line| line.text("fault") == name && line.at <= value.until);
        is_set.then_some(name)
    };
    let clocks = ["clock-skew", "clock-jump"].into_iter().filter_map(set);
    [cause, "shared-token"].into_iter().chain(clocks).collect()
}

fn taking_causes(case: &Case, value: &Value, by: &Author, replaced: bool) -> Vec<&'static str> {
    if replaced && (by.phase != "release" || case.took_again(by, value)) {
        return vec!["phantom-extend"];
    }
    if case.is_unrequested(value, by) {
        return vec!["foreign-removal", "shared-token"];
    }
    let attempt = case.attempts.iter().find(|one| one.op == by.op);
    let sent = attempt.and_then(|attempt| attempt.release);
    let came_later = sent.is_some_and(|sent| sent <= value.from);
    if came_later {
        vec!["race", "stolen-release", "shared-token"]
    } else {
        vec!["stolen-release", "shared-token"]
    }
}

pub fn fencing(case: &Case) -> Finding {
    if case.attempts.iter().all(|one| one.fence.is_none()) {
        return Finding::plain(Answer::NotApplicable);
    }
    let mut found: Option<(u64, Vec<&'static str>, String)> = None;
    let mut grants: Vec<&Attempt> = case.attempts.iter().filter(|one| one.granted()).collect();
    let taken = |one: &Attempt| {
        let values = case.key_history.values_of_attempt(one);
        let written = values.filter(|value| value.from <= one.from());
        written.map(|value| value.from).min().unwrap_or(one.from())
    };
    grants.sort_by_key(|one| taken(one));
    for (index, later) in grants.iter().enumerate() {
        for earlier in &grants[..index] {
            let (Some(low), Some(high)) = (earlier.fence, later.fence) else {
                continue;
            };
            if earlier.key != later.key || low < high {
                continue;
            }
            let causes = token_causes(&case.key_history, earlier, later);
            let note = format!("ops {} ({low}) and {} ({high})", earlier.op, later.op);
            let at = later.from().max(earlier.from());
            if found.as_ref().is_none_or(|(known, _, _)| *known > at) {
                found = Some((at, causes, note));
            }
        }
    }
    match found {
        Some((_, causes, note)) => Finding::violated(causes, note),
        None => Finding::plain(Answer::Held),
    }
}

/// Returns how a key that held the first token was lost before the second grant.
fn token_causes(key_history: &KeyHistory, earlier: &Attempt, later: &Attempt) -> Vec<&'static str> {
    let token = earlier.fence.map(|fence| fence.to_string());
    let counters = key_history.values.iter().filter(|value| {
        let lock = key_history.keys[earlier.key as usize].contains(&value.key);
        !lock && Some(&value.text) == token.as_ref()
    });
    let counters: Vec<&str> = counters.map(|value| value.key.as_str()).collect();
    let ends = key_history
        .values
        .iter()
        .filter(|value| counters.contains(&value.key.as_str()) && value.until <= later.from());
    let causes = ends.filter_map(|value| match value.end {
        End::Evicted | End::Flushed => Some("evicted"),
        End::Restarted => Some("lost-on-restart"),
        End::FailedOver => Some("lost-on-failover"),
        _ => None,
    });
    causes.collect()
}
