//! The values that kept clients out of a lock, as sentences: whose they are, and who keeps them alive.

use std::collections::BTreeSet;

use super::custody::shown;
use super::draft::Draft;
use super::sentence::{Weight, clock, length};
use crate::check::blocked_lock::BlockedLock;
use crate::check::facts::Facts;
use crate::check::finding::Starvation;
use crate::check::verdict::Cause;
use crate::custody::{Renewal, ValueSpan};
use crate::history::KeyCommand;

/// So many values are told.
const MOST_VALUES: usize = 3;

/// What kept the clients out, or that they slept.
pub(super) fn kept_out(draft: &mut Draft<'_>, starvation: &Starvation) {
    let facts = draft.facts;
    let Some(custody) = facts.custody else {
        return;
    };
    let blocked = BlockedLock::of(facts.history, facts.faults, custody, *starvation);
    for span in blocked.standing().into_iter().take(MOST_VALUES) {
        tell_value(draft, span, blocked.why(span));
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
fn tell_value(draft: &mut Draft<'_>, span: &ValueSpan, why: Cause) {
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
        draft.tell_attempts(&[author.op], span.from_ns, span.until_ns);
    }
    if let Some((from_ns, last_ns, text)) = prolonged(draft.facts, span, author, why) {
        draft.tell(from_ns, Weight::Plot, text);
        if matches!(why, Cause::RenewedAfterRelease | Cause::RenewedAfterEnd) {
            draft.tell_attempts(&[author.op], span.from_ns, last_ns);
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
