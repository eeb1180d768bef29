//! The events of a wait for the lock that became too long.

use std::collections::{BTreeMap, BTreeSet};

use super::attempt::{Answer, Attempt};
use super::cause::Case;
use super::key_history::{Author, End, Expiry, KeyHistory, Value};
use super::progress::lease;
use super::renewal::can_be_stale;

type Span = (u64, u64);

impl Case {
    /// Returns the attempts of the same client since its last definite answer, all of which had none.
    pub fn doubts_before(&self, attempt: &Attempt) -> Vec<u64> {
        let own = self
            .attempts
            .iter()
            .filter(|one| one.worker == attempt.worker);
        let mut before: Vec<&Attempt> = own.filter(|one| one.op < attempt.op).collect();
        before.sort_by_key(|one| std::cmp::Reverse(one.op));
        let in_doubt = before
            .into_iter()
            .take_while(|one| one.answer == Answer::Failed(false));
        in_doubt.map(|one| one.op).collect()
    }

    /// Returns `true` if a grant may rest on a value that the same client left in an attempt without a definite answer:
    /// no value of the lock names a token, and a reply may have come late.
    pub fn may_rest_on_doubt(&self, attempt: &Attempt) -> bool {
        let doubts = self.doubts_before(attempt);
        let is_of_doubt = |value: &Value| {
            let author = value.author.as_ref();
            author.is_some_and(|by| doubts.contains(&by.op)) && value.exists_at(attempt.from())
        };
        let mut granted = self.attempts.iter().filter(|one| one.granted());
        let names_tokens = granted.any(|one| one.token.len() >= 4 && self.names_token(one));
        let mut values = self.key_history.values_of_lock(attempt.key);
        !names_tokens && can_be_stale(&self.file) && values.any(is_of_doubt)
    }

    /// Returns `true` if an attempt that was not granted the lock wrote values on as many nodes as a grant needs in
    /// this time, and removed them itself.
    pub fn was_returned(&self, key: u64, (from, until): (u64, u64)) -> bool {
        let mut denied = self
            .attempts
            .iter()
            .filter(|one| one.key == key && !one.granted());
        denied.any(|one| {
            let written = self.key_history.values_of_attempt(one);
            let returned = written.filter(|value| {
                let by_itself = matches!(&value.end, End::Removed(by)
                    if by.op == one.op && by.phase == "acquire");
                by_itself && from <= value.from && value.until <= until
            });
            let nodes: BTreeSet<u64> = returned.map(|value| value.node).collect();
            nodes.len() >= self.need()
        })
    }

    /// Returns `true` if at least one attempt that was active in this time was denied without a command, and none with
    /// one.
    pub fn stopped_asking(&self, key: u64, (from, until): (u64, u64)) -> bool {
        let mut denied = (self.attempts.iter()).filter(|one| {
            let in_time = from <= one.answered && one.requested_at <= until;
            let is_denied = !one.granted() && one.answer != Answer::None;
            one.key == key && is_denied && in_time
        });
        let without = |one: &Attempt| {
            let mut idle = self.file.events("idle-while-waiting");
            idle.any(|line| line.op() == Some(one.op) && line.flag("no_command"))
        };
        denied.clone().next().is_some() && denied.all(without)
    }

    /// Returns `true` if values of several attempts existed together at some time in this span, and none of them had as
    /// many nodes as a grant needs.
    pub fn was_split(&self, key: u64, (from, until): (u64, u64)) -> bool {
        let values: Vec<&Value> = self.key_history.values_of_lock(key).collect();
        let times = values.iter().map(|one| one.from.max(from));
        times.filter(|at| *at <= until).any(|at| {
            let mut nodes: BTreeMap<(u64, u64), BTreeSet<u64>> = BTreeMap::new();
            for value in values.iter().filter(|one| one.exists_at(at)) {
                if let Some(owner) = value.owner {
                    nodes.entry(owner).or_default().insert(value.node);
                }
            }
            nodes.len() > 1 && nodes.values().all(|it| it.len() < self.need())
        })
    }
}

/// Returns the possible causes of a wait for the lock.
pub fn wait_causes(case: &Case, key: u64, free: Span) -> Vec<&'static str> {
    let key_history: &KeyHistory = &case.key_history;
    let at = free.1.min(free.0.saturating_add(case.file.bound));
    let mut standing: Vec<_> = (key_history.values_of_lock(key))
        .filter(|value| value.exists_at(at))
        .collect();
    let is_free = standing.is_empty();
    let is_under_way = |owner: Option<(u64, u64)>| {
        let mut attempts = case.attempts.iter();
        let attempt = attempts.find(|one| Some((one.worker, one.op)) == owner);
        attempt.is_some_and(|one| one.requested_at <= at && at < one.answered)
    };
    if standing.iter().all(|value| is_under_way(value.owner)) {
        let ended = key_history.values_of_lock(key);
        standing.extend(
            ended
                .filter(|value| free.0 < value.until && value.until <= at)
                .max_by_key(|value| value.until),
        );
    }
    let mut causes = Vec::new();
    for value in &standing {
        causes.extend(causes_of_value(case, key, value, at));
    }
    let owners: BTreeSet<_> = standing.iter().map(|value| value.owner).collect();
    if case.file.nodes > 1 {
        causes.push("waits-for-every-node");
        let is_split = owners.len() > 1 || case.was_split(key, free);
        causes.extend(is_split.then_some("split-vote"));
        causes.push("undetermined");
    }
    let idle = case.file.events("idle-while-waiting").filter(|line| {
        let time = |name: &str| line.num(name).unwrap_or_default();
        time("from_ns") <= free.0 && at <= time("until_ns")
    });
    let (late, slept): (Vec<_>, Vec<_>) = idle.partition(|line| line.flag("late_timeout"));
    causes.extend((is_free && !slept.is_empty()).then_some("lost-wake-up"));
    causes.extend((!late.is_empty()).then_some("late-timeout"));
    causes.extend((case.stopped_asking(key, free)).then_some("stopped-asking"));
    causes.extend(case.was_returned(key, free).then_some("taken-and-returned"));
    causes
}

/// Returns `true` if a value of `owner` exists at a time because of other workers' commands: it would have expired
/// without them, or would exist with them alone.
fn is_kept_by_others(value: &Value, owner: u64, at: u64) -> bool {
    let ends_at = |one: &Expiry| one.ttl.map_or(u64::MAX, |ttl| one.at.saturating_add(ttl));
    let first = value.expiries.first().map_or(u64::MAX, ends_at);
    let others = |one: &&Expiry| one.by.as_ref().is_some_and(|by| by.worker != owner);
    let renewals = || value.expiries.iter().skip(1).filter(|one| one.at <= at);
    let until = |is_counted: &dyn Fn(&&Expiry) -> bool| {
        let counted = renewals().filter(is_counted);
        counted.fold(first, |end, one| {
            if one.at <= end {
                end.max(ends_at(one))
            } else {
                end
            }
        })
    };
    let by_owner = |one: &&Expiry| !others(one);
    renewals().any(|one| others(&one)) && (until(&by_owner) <= at || until(&others) > at)
}

/// Returns the causes for which a value that exists at a time can keep others waiting.
fn causes_of_value(case: &Case, key: u64, value: &Value, at: u64) -> Vec<&'static str> {
    let mut causes = Vec::new();
    let owner = value.owner;
    let by = case
        .attempts
        .iter()
        .find(|one| Some((one.worker, one.op)) == owner);
    let other_lock = by.is_some_and(|one| one.key != key);
    let reported_released = by
        .is_some_and(|one| matches!(one.released, Some((answered, Some(true))) if answered <= at));
    let later = value.expiries.iter().skip(1).filter(|one| one.at <= at);
    let foreign = owner.is_some_and(|(worker, _)| is_kept_by_others(value, worker, at));
    // Its client was denied the lock, and keeps it alive.
    let is_kept = by.is_some_and(|one| {
        let is_own = |by: &Author| by.worker == one.worker;
        let mut own = later
            .clone()
            .filter(|expiry| expiry.by.as_ref().is_some_and(is_own));
        one.answer == Answer::Refused && own.any(|expiry| expiry.at > one.answered)
    });
    let in_doubt = is_kept || by.is_some_and(|one| one.answer == Answer::Failed(false));
    let after_release = by.is_some_and(|one| {
        one.released.is_some() && later.clone().any(|expiry| expiry.at > one.until)
    });
    let after_end = by.is_some_and(|one| {
        one.released.is_none() && later.clone().any(|expiry| expiry.at > one.until)
    });
    causes.extend((after_end && !foreign).then_some("renewed-after-end"));
    // The life counts that the acquisition gave the value last.
    let is_acquired = |by: &Author| Some((by.worker, by.op)) == owner && by.phase == "acquire";
    let last = later.clone().next_back().or(value.expiries.first());
    let last = last
        .filter(|last| later.clone().next().is_none() || last.by.as_ref().is_some_and(is_acquired));
    let written = last.and_then(|one| one.ttl);
    let too_long = written.is_some_and(|written| written > lease(case));
    causes.extend(foreign.then_some("foreign-renewal"));
    causes.extend((after_release && !foreign).then_some("renewed-after-release"));
    causes.extend(too_long.then_some("wrong-expiry"));
    // Its release was answered, and the value is still there.
    let answered = by.is_some_and(|one| one.released.is_some_and(|(answered, _)| answered <= at));
    let counted_down = case.attempts.iter().any(|one| {
        let is_owner = owner.is_some_and(|(worker, _)| worker == one.worker);
        let counted = |answered: u64| answered <= at && value.exists_at(answered);
        is_owner && one.released.is_some_and(|(answered, _)| counted(answered))
    });
    causes.extend((answered || counted_down).then_some("false-release"));
    causes.push(match () {
        () if value.runs_out(at) == u64::MAX => "no-ttl",
        () if other_lock => "shared-key",
        () if in_doubt => "ambiguous-acquire",
        () if reported_released && value.end != End::RanOut => "false-release",
        () => "undetermined",
    });
    causes
}
