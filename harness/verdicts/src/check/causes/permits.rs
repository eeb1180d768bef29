//! Why a semaphore had too many permits, or too few, from the key history of its keys.

use std::collections::{HashMap, HashSet};

use picklock_scenarios::Phase;

use crate::history::{EventKind, History, KeyCommand, KeyName};
use crate::key_history::{KeyHistory, Locks, SpanEnd, ValueSpan};
use crate::timeline::Hold;

use crate::check::finding::Starvation;
use crate::check::verdict::Cause;

/// What one attempt did to a value that only counts permits.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    /// Number of permits that it took, and that it gave back.
    taken: u64,
    given: u64,
    /// Whether it wrote the first number, which shows nothing about its own permit.
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
        permits_of: second.key,
    };
    let counts: Vec<&ValueSpan> = (key_history.spans.iter())
        .filter(|span| span.key == key)
        .collect();
    let last = counts
        .iter()
        .rev()
        .find(|span| span.from_ns <= second.begin_ns)?;
    let within = first.acquire_ns..=second.begin_ns;
    let locks = Locks {
        names: &history.header.keys,
        of_attempt: &|_| None,
    };
    // A semaphore may store in a key of its own that its permits exist.
    let mut ends = key_history.spans.iter().filter(|span| {
        within.contains(&span.until_ns) && locks.named_by(&span.key) == Some(second.key as usize)
    });
    let lost = ends.find_map(|span| match span.end {
        SpanEnd::Evicted | SpanEnd::Flushed => Some(Cause::Evicted),
        SpanEnd::LostInRestart => Some(Cause::LostOnRestart),
        SpanEnd::LostInFailover => Some(Cause::LostOnFailover),
        SpanEnd::ClockLeapt => Some(Cause::ClockJump),
        // The number of permits was forgotten while clients held theirs.
        SpanEnd::RanOut if span.key == key => Some(Cause::PermitMinted),
        _ => None,
    });
    let is_granted: HashSet<u64> = holds.iter().map(|hold| hold.op).collect();
    let changes = changes(history, second.key, second.begin_ns);
    let gives_more = |(op, changes): (&u64, &Changes)| {
        let is_unknown = changes.is_first && is_granted.contains(op);
        changes.given > changes.taken + u64::from(is_unknown)
    };
    let is_minted = || changes.iter().any(gives_more);
    let is_script = || last.author.as_ref().is_some_and(|by| by.is_script());
    Some(lost.unwrap_or_else(|| {
        if is_minted() {
            Cause::PermitMinted
        } else if is_script() {
            Cause::NotExclusive
        } else {
            Cause::Race
        }
    }))
}

/// Returns why clients did not get all permits of a semaphore, or `None` if the history does not show a permit that is
/// missing.
pub(in crate::check) fn cause_of_starvation(
    history: &History,
    key_history: &KeyHistory,
    holds: &[Hold],
    starvation: &Starvation,
) -> Option<Cause> {
    let at_ns = starvation.until_ns;
    let is_held = |op: u64| {
        let mut held = holds.iter().filter(|hold| hold.op == op);
        held.any(|hold| hold.begin_ns <= at_ns && at_ns < hold.end_ns)
    };
    let mut permits = key_history.spans.iter().filter(|span| {
        matches!(span.key, KeyName::Permit { lock, .. } if lock == starvation.key)
            && span.exists_at(at_ns)
    });
    let is_left = |span: &ValueSpan| span.author.as_ref().is_some_and(|by| !is_held(by.op));
    let changes = changes(history, starvation.key, at_ns);
    let is_missing = |(op, changes): (&u64, &Changes)| {
        let taken = changes.taken + u64::from(changes.is_first);
        taken > changes.given && !is_held(*op)
    };
    (permits.any(is_left) || changes.iter().any(is_missing)).then_some(Cause::PermitLeaked)
}

/// Returns the changes of the number of permits up to `until_ns`, by attempt. What most attempts do when they acquire is
/// taking, whether that makes the number larger or smaller.
fn changes(history: &History, lock: u32, until_ns: u64) -> HashMap<u64, Changes> {
    let key = KeyName::Count { permits_of: lock };
    let mut before: HashMap<usize, i64> = HashMap::new();
    let mut steps: Vec<(&KeyCommand, Option<i64>)> = Vec::new();
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
                steps.push((by, change));
            }
            // The server lost the number.
            None => drop(before.remove(node)),
        }
    }
    let acquired = steps.iter().filter(|(by, _)| by.phase == Phase::Acquire);
    let balance: i64 = acquired
        .filter_map(|(_, change)| Some(change.as_ref()?.signum()))
        .sum();
    let mut changes: HashMap<u64, Changes> = HashMap::new();
    for (by, change) in steps {
        let of_attempt = changes.entry(by.op).or_default();
        match change {
            None => of_attempt.is_first = true,
            Some(change) if (change < 0) == (balance < 0) => {
                of_attempt.taken += change.unsigned_abs();
            }
            Some(change) => of_attempt.given += change.unsigned_abs(),
        }
    }
    changes
}

/// Returns the number that a value is, or how many elements it has.
fn number(value: &str) -> i64 {
    match value.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        Some(elements) => elements.split(", ").count() as i64,
        None => value.parse().unwrap_or(0),
    }
}
