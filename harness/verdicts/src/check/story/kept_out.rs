//! Sentences about the values that blocked a lock: which clients wrote the values, and which clients prolonged them.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::key_history::abbreviate;
use super::sentence::{Weight, clock, length};
use crate::check::causes::facts::Facts;
use crate::check::finding::Starvation;
use crate::check::progress::blocked_lock::BlockedLock;
use crate::check::verdict::Cause;
use crate::history::{Event, EventKind, KeyCommand};
use crate::key_history::{Renewal, ValueSpan};

/// Maximum number of values to describe.
const MAX_VALUES: usize = 3;

/// Adds the values that blocked the lock, and the sleep of the waiting client.
pub(super) fn describe_blocked_lock(draft: &mut Draft<'_>, starvation: &Starvation) {
    let facts = draft.facts;
    let Some(key_history) = facts.key_history else {
        return;
    };
    let blocked = BlockedLock::new(facts.history, facts.faults, key_history, *starvation);
    let sleep = blocked.sleep();
    if let Some((from_ns, until_ns)) = sleep {
        let probe = facts.history.header.workers;
        let who = client(facts, starvation.worker.unwrap_or(probe));
        let slept = length(until_ns - from_ns);
        if starvation.late_timeout {
            let text = format!("{who} waited {slept} for a lost reply, longer than its timeout_ms");
            return draft.add(from_ns, Weight::Decisive, text);
        }
        let text = format!("{who} sent nothing that could take the lock for {slept}");
        draft.add(from_ns, Weight::Plot, text);
    }
    // The next attempt may remove an element with the end of its lease.
    let is_blocking = |span: &&ValueSpan| sleep.is_none() || !span.has_time();
    let blocking = blocked.blocking_values().into_iter().filter(is_blocking);
    for span in blocking.take(MAX_VALUES) {
        describe_value(draft, span, blocked.cause_of_value(span));
    }
    let (returned, silent) = (blocked.returned(), blocked.stopped_asking());
    if returned > 0 {
        let text = format!(
            "{returned} attempts took the lock in that time and gave it back without a grant"
        );
        draft.add(starvation.until_ns, Weight::Plot, text);
    } else if silent > 0 {
        let text = format!(
            "all {silent} attempts in that time were answered without a command to any node"
        );
        draft.add(starvation.until_ns, Weight::Plot, text);
    }
}

/// Returns the name of a worker, or of the probe, which takes the locks after the run.
fn client(facts: &Facts<'_>, worker: usize) -> String {
    if worker < facts.history.header.workers {
        format!("client {worker}")
    } else {
        "the probe".to_owned()
    }
}

/// Adds a value, and the commands that prolonged it.
fn describe_value(draft: &mut Draft<'_>, span: &ValueSpan, why: Cause) {
    let Some(author) = &span.author else {
        return;
    };
    let expiry = match why {
        Cause::NoTtl if !span.has_time() => ", without expiry",
        _ => "",
    };
    let text = format!(
        "{} of client {} wrote the value {} on node {} that kept the others out{expiry}",
        author.command,
        author.worker,
        abbreviate(&span.value),
        span.node
    );
    let weight = match why {
        Cause::NoTtl | Cause::WrongExpiry => Weight::Decisive,
        _ => Weight::Plot,
    };
    draft.add(span.from_ns, weight, text);
    if why == Cause::NoTtl
        && let Some(at_ns) = death(draft.facts, span, author.worker)
    {
        let text = format!("client {} died before it had set an expiry", author.worker);
        draft.add(at_ns, Weight::Decisive, text);
    }
    if matches!(why, Cause::FalseRelease | Cause::SilentRelease) {
        draft.describe_attempts(&[author.op], span.from_ns, span.until_ns);
    }
    if let Some((from_ns, last_ns, text)) = prolonged(draft.facts, span, author, why) {
        draft.add(from_ns, Weight::Plot, text);
        if matches!(why, Cause::RenewedAfterRelease | Cause::RenewedAfterEnd) {
            draft.describe_attempts(&[author.op], span.from_ns, last_ns);
        }
    }
}

/// Returns when a client died while a value without expiry existed.
fn death(facts: &Facts<'_>, span: &ValueSpan, worker: usize) -> Option<u64> {
    let died = |event: &&Event| {
        matches!(event.what, EventKind::WorkerDown { worker: dead, .. } if dead == worker)
            && !span.has_time()
            && span.exists_at(event.at_ns)
    };
    let mut events = facts.history.events.iter();
    events.find(died).map(|event| event.at_ns)
}

/// Describes the commands that prolonged a value, with the times of the first and the last command. Returns `None` if
/// none of the commands that the cause concerns prolonged it.
fn prolonged(
    facts: &Facts<'_>,
    span: &ValueSpan,
    author: &KeyCommand,
    why: Cause,
) -> Option<(u64, u64, String)> {
    let is_foreign = why == Cause::ForeignRenewal;
    let is_relevant = |renewal: &&Renewal| {
        renewal.prolongs() && (renewal.by.worker != author.worker) == is_foreign
    };
    let renewals: Vec<&Renewal> = span.renewals.iter().filter(is_relevant).collect();
    let (first, last) = (renewals.first()?, renewals.last()?);
    let workers: BTreeSet<usize> = renewals.iter().map(|renewal| renewal.by.worker).collect();
    let names: Vec<String> = workers
        .iter()
        .map(|worker| client(facts, *worker))
        .collect();
    let (command, clients, due) = (&first.by.command, names.join(" and "), clock(first.due_ns));
    let times = match renewals.len() {
        1 => String::new(),
        count => format!(", the first of {count} times until {}", clock(last.at_ns)),
    };
    let text = format!("{command} of {clients} prolonged it{times}: it was due to expire at {due}");
    Some((first.at_ns, last.at_ns, text))
}

/// Returns a short clause about the permits that nobody could get after the run. Returns `None` if the lock is no
/// semaphore, or if a client starved during the run.
pub(super) fn missing_permits(facts: &Facts<'_>, starvation: &Starvation) -> Option<String> {
    if starvation.worker.is_some() {
        return None;
    }
    let capacity = facts.history.header.capacity;
    facts
        .history
        .events
        .iter()
        .find_map(|event| match event.what {
            EventKind::Probe {
                key,
                granted: false,
                permits: Some(permits),
                ..
            } if key == starvation.lock && permits < capacity => Some(format!(
                "after the run, only {permits} of {capacity} permits of {} could be taken",
                facts.lock
            )),
            _ => None,
        })
}
