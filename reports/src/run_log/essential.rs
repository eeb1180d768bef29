//! Shortens the log of waiting clients: they retry many times, but only the first and the last request of each wait are
//! informative.

use std::collections::{BTreeMap, HashMap, HashSet};

use picklock_verdicts::history::{EventKind, History};

use super::entry::{Entry, EntryKind};
use crate::escape::short_tokens;
use crate::units::count;

/// Number of entries of a wait on one node that are shown at its beginning, and as many at its end: a command, its
/// reply, and a change of a key.
const SHOWN: usize = 3;

/// The answer to an attempt to get the lock.
struct Answer {
    at_ns: u64,
    is_refused: bool,
}

/// Replaces the requests of waiting clients, except for the first and the last, with one entry that has their number,
/// and shortens tokens.
/// `entries` must be in order of time.
pub(super) fn shorten(entries: Vec<Entry>, history: &History) -> Vec<Entry> {
    let hidden = hidden(&entries, history);
    let mut counts: BTreeMap<usize, (u64, usize)> = BTreeMap::new();
    let mut shown = Vec::with_capacity(entries.len() - hidden.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let worker = entry.worker.unwrap_or(usize::MAX);
        if hidden.contains(&index) {
            counts.entry(worker).or_insert((entry.at_ns, 0)).1 += 1;
            continue;
        }
        let text = short_tokens(&entry.text);
        if let Some((at_ns, lines)) = counts.remove(&worker) {
            let text = format!(
                "… {} while it waited (--all shows them)",
                count(lines, "more line")
            );
            shown.push(Entry {
                worker: Some(worker),
                ..Entry::new(at_ns, EntryKind::Harness, format!("c{worker}"), text)
            });
        }
        shown.push(Entry { text, ..entry });
    }
    shown.sort_by_key(|entry| entry.at_ns);
    shown
}

/// Returns the indices of the entries that are left out.
fn hidden(entries: &[Entry], history: &History) -> HashSet<usize> {
    let answers = answers(history);
    let dull_ops = refused_between(history, &answers);
    let mut waits: BTreeMap<(u64, Option<usize>), Vec<usize>> = BTreeMap::new();
    let mut hidden = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let Some(op) = entry.op else {
            continue;
        };
        let is_waiting = answers
            .get(&op)
            .is_none_or(|answer| entry.at_ns <= answer.at_ns);
        if dull_ops.contains(&op) {
            hidden.insert(index);
        } else if is_waiting && entry.kind != EntryKind::Message {
            waits.entry((op, entry.node)).or_default().push(index);
        }
    }
    for wait in waits.values().filter(|wait| wait.len() > 2 * SHOWN + 1) {
        hidden.extend(&wait[SHOWN..wait.len() - SHOWN]);
    }
    hidden
}

/// Returns the answer of each attempt.
fn answers(history: &History) -> HashMap<u64, Answer> {
    let answered = history.events.iter().filter_map(|event| {
        let (op, is_refused) = match event.what {
            EventKind::Refused { op, .. } => (op, true),
            EventKind::Granted { op, .. } | EventKind::AcquireFailed { op, .. } => (op, false),
            _ => return None,
        };
        let answer = Answer {
            at_ns: event.at_ns,
            is_refused,
        };
        Some((op, answer))
    });
    answered.collect()
}

/// Returns the refused attempts that come between two other refused attempts of the same worker.
fn refused_between(history: &History, answers: &HashMap<u64, Answer>) -> HashSet<u64> {
    let mut runs: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut between = HashSet::new();
    let mut end = |run: &mut Vec<u64>| {
        if let [_, middle @ .., _] = &run[..] {
            between.extend(middle);
        }
        run.clear();
    };
    for event in &history.events {
        if let EventKind::Acquire { worker, op, .. } = event.what {
            let run = runs.entry(worker).or_default();
            if answers.get(&op).is_some_and(|answer| answer.is_refused) {
                run.push(op);
            } else {
                end(run);
            }
        }
    }
    runs.values_mut().for_each(end);
    between
}
