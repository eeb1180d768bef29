//! Why a semaphore had too many permits, or too few, from the key history of its keys.

use std::collections::HashMap;

use picklock_scenarios::Phase;

use crate::history::{EventKind, History, KeyCommand, KeyName};
use crate::key_history::{KeyHistory, Locks, SpanEnd, ValueSpan};
use crate::timeline::{Hold, ns_from_ms};

use crate::check::finding::Starvation;
use crate::check::verdict::Cause;

/// The changes of one attempt to a value that only counts permits.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    /// Number of permits that the attempt took.
    taken: u64,
    given: u64,
    /// Whether the attempt wrote the first number, which does not show whether it took a permit.
    is_first: bool,
}

/// Returns why a value that only counts permits let the second client in, or `None` if the semaphore has no such value.
pub(in crate::check) fn cause_of_count(
    history: &History,
    key_history: &KeyHistory,
    holds: &[Hold],
    (first, second): (&Hold, &Hold),
) -> Option<Cause> {
    let key = KeyName::Count {
        permits_of: second.lock,
    };
    let counts: Vec<&ValueSpan> = (key_history.spans.iter())
        .filter(|span| span.key == key)
        .collect();
    let last = counts
        .iter()
        .rev()
        .find(|span| span.from_ns <= second.begin_ns)?;
    let lost = |from_ns| {
        loss(
            history,
            key_history,
            second.lock,
            (from_ns, second.begin_ns),
        )
    };
    let weights = weights(holds);
    let changes = changes(history, second.lock, second.begin_ns);
    // Returns `true` if the attempt made a permit: it took fewer than it was granted, or gave back more than it took.
    // An attempt that changed nothing may have lost its change in a race, so it does not count.
    let mints = |(op, changes): (&u64, &Changes)| {
        let granted = weights.get(op).copied();
        let counts_less = changes.taken > 0
            && !changes.is_first
            && granted.is_some_and(|permits| changes.taken < permits);
        let first = granted.filter(|_| changes.is_first).unwrap_or(0);
        counts_less || changes.given > changes.taken + first
    };
    let is_minted = || changes.iter().any(mints);
    let is_script = || last.author.as_ref().is_some_and(|by| by.is_script());
    // If the number was lost before the first hold, it may have been wrong ever since.
    let by_then = || {
        is_minted()
            .then_some(Cause::PermitMinted)
            .or_else(|| lost(0))
    };
    Some(lost(first.acquire_ns).or_else(by_then).unwrap_or_else(|| {
        if is_script() {
            Cause::NotExclusive
        } else {
            Cause::Race
        }
    }))
}

/// Returns why one client got more permits after the run than the semaphore has.
pub(in crate::check) fn cause_of_surplus(
    history: &History,
    key_history: &KeyHistory,
    at_ns: u64,
) -> Cause {
    let mut locks = (0..).take(history.header.keys.len());
    let lost = locks.find_map(|lock| loss(history, key_history, lock, (0, at_ns)));
    lost.unwrap_or(Cause::PermitMinted)
}

/// Returns the cause of the last loss of a value of the semaphore on a server between two times, or `None` if there was
/// none.
fn loss(
    history: &History,
    key_history: &KeyHistory,
    lock: u32,
    (from_ns, until_ns): (u64, u64),
) -> Option<Cause> {
    let locks = Locks::by_name(&history.header.keys);
    // A semaphore may use a separate key that states that its permits exist.
    let of_lock = |span: &&ValueSpan| {
        (from_ns..=until_ns).contains(&span.until_ns)
            && locks.named_by(&span.key) == Some(lock as usize)
    };
    let mut ends = key_history.spans.iter().rev().filter(of_lock);
    ends.find_map(|span| match span.end {
        SpanEnd::Evicted | SpanEnd::Flushed => Some(Cause::Evicted),
        SpanEnd::LostInRestart => Some(Cause::LostOnRestart),
        SpanEnd::LostInFailover => Some(Cause::LostOnFailover),
        SpanEnd::ClockLeapt => Some(Cause::ClockJump),
        // The number of permits expired while clients held permits.
        SpanEnd::RanOut if matches!(span.key, KeyName::Count { .. }) => Some(Cause::PermitMinted),
        _ => None,
    })
}

/// Returns why clients did not get all permits of a semaphore, or `None` if the history does not show that a permit is
/// missing. An element with the end of its lease blocks no client that does not ask, because the next attempt may
/// remove it.
pub(in crate::check) fn cause_of_starvation(
    history: &History,
    key_history: &KeyHistory,
    holds: &[Hold],
    starvation: &Starvation,
    has_asked: bool,
) -> Option<Cause> {
    let at_ns = starvation.until_ns;
    let is_held = |op: u64| {
        let mut held = holds.iter().filter(|hold| hold.op == op);
        held.any(|hold| hold.begin_ns <= at_ns && at_ns < hold.end_ns)
    };
    let mut permits = key_history.spans.iter().filter(|span| {
        matches!(span.key, KeyName::Permit { lock, .. } if lock == starvation.lock)
            && span.exists_at(at_ns)
            && (has_asked || !span.has_time())
    });
    let is_left = |span: &ValueSpan| span.author.as_ref().is_some_and(|by| !is_held(by.op));
    let weights = weights(holds);
    let changes = changes(history, starvation.lock, at_ns);
    let is_missing = |(op, changes): (&u64, &Changes)| {
        let first = weights.get(op).copied().unwrap_or(1);
        let taken = changes.taken + if changes.is_first { first } else { 0 };
        taken > changes.given && !is_held(*op)
    };
    (permits.any(is_left) || changes.iter().any(is_missing)).then_some(Cause::PermitLeaked)
}

/// Returns why readers overtook a writer: either a hold that outlived its client kept the writer out, or the lock has
/// no queue.
pub(in crate::check) fn cause_of_overtaking(
    history: &History,
    key_history: Option<&KeyHistory>,
    holds: &[Hold],
    (writer, at_ns): (u64, u64),
) -> Cause {
    let is_request =
        |what: &EventKind| matches!(what, EventKind::Acquire { op, .. } if *op == writer);
    let mut events = history.events.iter();
    let key = events.find_map(|event| event.what.key().filter(|_| is_request(&event.what)));
    let ttl_ns = ns_from_ms(history.header.ttl_ms);
    let is_held = |op: u64| {
        let mut held = holds.iter().filter(|hold| hold.op == op);
        held.any(|hold| hold.begin_ns <= at_ns && at_ns < hold.end_ns)
    };
    let is_left = |span: &ValueSpan| {
        let is_member = matches!(span.key, KeyName::Permit { lock, .. } if Some(lock) == key);
        is_member
            && span.exists_at(at_ns)
            && span.from_ns.saturating_add(ttl_ns) < at_ns
            && span.author.as_ref().is_some_and(|by| !is_held(by.op))
    };
    let mut spans = key_history.iter().flat_map(|history| &history.spans);
    if spans.any(is_left) {
        Cause::PermitLeaked
    } else {
        Cause::WriterStarved
    }
}

/// Returns the number of permits of each hold, by attempt.
fn weights(holds: &[Hold]) -> HashMap<u64, u64> {
    let weights = holds.iter().map(|hold| (hold.op, u64::from(hold.weight)));
    weights.collect()
}

/// Returns the changes of the number of permits up to `until_ns`, by attempt. The direction in which most acquiring
/// attempts change the number counts as taking, whether it makes the number larger or smaller.
fn changes(history: &History, lock: u32, until_ns: u64) -> HashMap<u64, Changes> {
    let key = KeyName::Count { permits_of: lock };
    let mut before: HashMap<usize, i64> = HashMap::new();
    let mut steps: Vec<(&KeyCommand, Option<i64>, i64)> = Vec::new();
    for event in history
        .events
        .iter()
        .take_while(|event| event.at_ns <= until_ns)
    {
        let EventKind::KeyChanged {
            node,
            key: changed,
            value,
            why,
            ..
        } = &event.what
        else {
            continue;
        };
        if *changed != key {
            continue;
        }
        let now = value.as_deref().map_or(0, number);
        match why.command() {
            Some(by) => {
                let change = before.insert(*node, now).map(|before| now - before);
                steps.push((by, change, now));
            }
            // The server lost the number.
            None => drop(before.remove(node)),
        }
    }
    let acquired = (steps.iter()).filter(|(by, ..)| by.phase == Phase::Acquire);
    let balance: i64 = acquired
        .filter_map(|(_, change, _)| Some(change.as_ref()?.signum()))
        .sum();
    // The first number counts up from 0, or down from the number of all permits.
    let start = match balance.signum() {
        1 => Some(0),
        -1 => Some(i64::from(history.header.capacity)),
        _ => None,
    };
    let mut changes: HashMap<u64, Changes> = HashMap::new();
    for (by, change, now) in steps {
        let of_attempt = changes.entry(by.op).or_default();
        let from_start = start.filter(|_| by.phase == Phase::Acquire);
        match change.or_else(|| Some(now - from_start?)) {
            None => of_attempt.is_first = true,
            Some(change) if (change < 0) == (balance < 0) => {
                of_attempt.taken += change.unsigned_abs();
            }
            Some(change) => of_attempt.given += change.unsigned_abs(),
        }
    }
    changes
}

/// Returns the number in a value or, for a collection, the number of its elements. Returns 0 for any other value.
fn number(value: &str) -> i64 {
    match value
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(elements) => elements.split(", ").count() as i64,
        None => value.parse().unwrap_or(0),
    }
}
