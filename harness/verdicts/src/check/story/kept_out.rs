//! The values that kept clients out of a lock, as sentences: whose they are, and who keeps them alive.

use std::collections::BTreeSet;

use crate::check::blocked_lock::BlockedLock;
use crate::check::evidence::Evidence;
use crate::check::finding::Starvation;
use crate::check::verdict::Cause;
use crate::custody::{Renewal, ValueSpan};

use super::draft::Draft;
use super::sentence::{Weight, clock, length};

/// So many values are told.
const MOST_VALUES: usize = 3;

/// Tells what kept the clients out, or that they slept.
pub(super) fn tell_kept_out(draft: &mut Draft, evidence: &Evidence<'_>, starvation: &Starvation) {
    let Some(custody) = evidence.custody() else {
        return;
    };
    let (history, faults) = (evidence.history, evidence.timeline.faults());
    let blocked = BlockedLock::of(history, faults, custody, *starvation);
    for span in blocked.standing().into_iter().take(MOST_VALUES) {
        tell_value(draft, evidence, span, blocked.why(span));
    }
    if let Some((from_ns, until_ns)) = blocked.sleep() {
        let probe = evidence.history.header.workers;
        let who = client(evidence, starvation.worker.unwrap_or(probe));
        let slept = length(until_ns - from_ns);
        let text = format!("{who} sent nothing that could take the lock for {slept}");
        draft.tell(from_ns, Weight::Plot, text);
    }
}

/// A worker, or the client that takes the locks after the run.
fn client(evidence: &Evidence<'_>, worker: usize) -> String {
    match worker < evidence.history.header.workers {
        true => format!("worker {worker}"),
        false => "the probe".to_owned(),
    }
}

/// A value, and the commands that have prolonged it.
fn tell_value(draft: &mut Draft, evidence: &Evidence<'_>, span: &ValueSpan, why: Cause) {
    let Some(author) = &span.author else {
        return;
    };
    let text = format!(
        "{} of worker {} wrote the value on node {} that kept the others out",
        author.command, author.worker, span.node
    );
    draft.tell(span.from_ns, Weight::Plot, text);
    let foreign = why == Cause::ForeignRenewal;
    let all = span.renewals.iter().filter(|renewal| renewal.prolongs());
    let told: Vec<&Renewal> = all
        .filter(|renewal| (renewal.by.worker != author.worker) == foreign)
        .collect();
    let (Some(first), Some(last)) = (told.first(), told.last()) else {
        return;
    };
    let workers: BTreeSet<usize> = told.iter().map(|renewal| renewal.by.worker).collect();
    let whose: Vec<String> = workers
        .iter()
        .map(|worker| client(evidence, *worker))
        .collect();
    let whose = whose.join(" and ");
    let due = clock(first.due_ns);
    let text = match told.len() {
        1 => format!(
            "{} of {whose} prolonged it: it was to run out at {due}",
            first.by.command
        ),
        count => format!(
            "{} of {whose} prolonged it, the first of {count} times until {}: it was to run out at {due}",
            first.by.command,
            clock(last.at_ns),
        ),
    };
    draft.tell(first.at_ns, Weight::Plot, text);
    if why == Cause::RenewedAfterRelease {
        let ops = [author.op];
        draft.tell_of(evidence, &ops, span.from_ns, last.at_ns);
    }
}
