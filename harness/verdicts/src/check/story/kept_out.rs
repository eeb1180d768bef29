//! The values that kept clients out of a lock, as sentences: whose they are, and who keeps them alive.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::key_history::shown;
use super::sentence::{Weight, clock, length};
use crate::check::causes::facts::Facts;
use crate::check::finding::Starvation;
use crate::check::progress::blocked_lock::BlockedLock;
use crate::check::verdict::Cause;
use crate::history::KeyCommand;
use crate::key_history::{Renewal, ValueSpan};

/// So many values are told.
const MAX_VALUES: usize = 3;

/// What kept the clients out, or that they slept.
pub(super) fn kept_out(draft: &mut Draft<'_>, starvation: &Starvation) {
    let facts = draft.facts;
    let Some(key_history) = facts.key_history else {
        return;
    };
    let blocked = BlockedLock::new(facts.history, facts.faults, key_history, *starvation);
    for span in blocked.current_values().into_iter().take(MAX_VALUES) {
        describe_value(draft, span, blocked.why(span));
    }
    if let Some((from_ns, until_ns)) = blocked.sleep() {
        let probe = facts.history.header.workers;
        let who = client(facts, starvation.worker.unwrap_or(probe));
        let slept = length(until_ns - from_ns);
        let text = format!("{who} sent nothing that could take the lock for {slept}");
        draft.tell(from_ns, Weight::Plot, text);
    }
}

/// A worker, or the client that takes the locks after the run.
fn client(facts: &Facts<'_>, worker: usize) -> String {
    match worker < facts.history.header.workers {
        true => format!("worker {worker}"),
        false => "the probe".to_owned(),
    }
}

/// A value, and the commands that have prolonged it.
fn describe_value(draft: &mut Draft<'_>, span: &ValueSpan, why: Cause) {
    let Some(author) = &span.author else {
        return;
    };
    let text = format!(
        "{} of worker {} wrote the value {} on node {} that kept the others out",
        author.command,
        author.worker,
        shown(&span.value),
        span.node
    );
    draft.tell(span.from_ns, Weight::Plot, text);
    if why == Cause::FalseRelease {
        draft.describe_attempts(&[author.op], span.from_ns, span.until_ns);
    }
    if let Some((from_ns, last_ns, text)) = prolonged(draft.facts, span, author, why) {
        draft.tell(from_ns, Weight::Plot, text);
        if matches!(why, Cause::RenewedAfterRelease | Cause::RenewedAfterEnd) {
            draft.describe_attempts(&[author.op], span.from_ns, last_ns);
        }
    }
}

/// That commands have prolonged a value, with the times of the first and the last one. `None`: none that its cause is
/// about has.
fn prolonged(
    facts: &Facts<'_>,
    span: &ValueSpan,
    author: &KeyCommand,
    why: Cause,
) -> Option<(u64, u64, String)> {
    let foreign = why == Cause::ForeignRenewal;
    let is_told =
        |renewal: &&Renewal| renewal.prolongs() && (renewal.by.worker != author.worker) == foreign;
    let told: Vec<&Renewal> = span.renewals.iter().filter(is_told).collect();
    let (first, last) = (told.first()?, told.last()?);
    let workers: BTreeSet<usize> = told.iter().map(|renewal| renewal.by.worker).collect();
    let whose = workers.iter().map(|worker| client(facts, *worker));
    let whose = whose.collect::<Vec<_>>().join(" and ");
    let (command, due) = (&first.by.command, clock(first.due_ns));
    let text = match told.len() {
        1 => format!("{command} of {whose} prolonged it: it was to run out at {due}"),
        count => format!(
            "{command} of {whose} prolonged it, the first of {count} times until {}: it was to run out at {due}",
            clock(last.at_ns),
        ),
    };
    Some((first.at_ns, last.at_ns, text))
}
