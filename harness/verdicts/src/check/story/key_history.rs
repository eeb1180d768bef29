//! Sentences about a lock's values on the servers, and about the commands that changed them.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::sentence::{clock, length};
use crate::check::causes::ending_command::late_release;
use crate::check::causes::facts::Facts;
use crate::history::KeyCommand;
use crate::key_history::{SpanEnd, ValueSpan, shares_element};
use crate::timeline::{Hold, holds_back, ns_from_ms};

/// Maximum number of characters of a value to show.
const MAX_VALUE_LENGTH: usize = 12;

/// Maximum number of values of an attempt to describe.
const MAX_VALUES: usize = 3;

/// Describes how the values of a holder disappeared before `to_ns`, each with its time. Omits values that expired on
/// time and values that the holder itself removed.
pub(super) fn lost_values(facts: &Facts<'_>, hold: &Hold, to_ns: u64) -> Vec<(u64, String)> {
    // Each entry has one of the values that were lost in the same way, the description of the loss, and the nodes of
    // all these values.
    let mut all: Vec<(&ValueSpan, String, Vec<usize>)> = Vec::new();
    for span in spans_of(facts, hold) {
        if !(hold.acquire_ns..=to_ns).contains(&span.until_ns) {
            continue;
        }
        let Some(how) = how_lost(facts, span, hold).filter(|_| !is_shared_on(facts, span)) else {
            continue;
        };
        let mut known = all.iter_mut();
        match known.find(|(one, way, _)| one.value == span.value && *way == how) {
            Some((_, _, nodes)) => nodes.push(span.node),
            None => all.push((span, how, vec![span.node])),
        }
    }
    let sentences = all.into_iter().map(|(span, how, nodes)| {
        let (value, nodes) = (abbreviate(&span.value), node_list(nodes));
        let text = format!("client {}'s value {value} on {nodes} {how}", hold.worker);
        (span.until_ns, text)
    });
    sentences.collect()
}

/// Returns when the last of a holder's values that expired by `by_ns` expired, or `None` if none had expired.
pub(super) fn ran_out_ns(facts: &Facts<'_>, hold: &Hold, by_ns: u64) -> Option<u64> {
    let spans = spans_of(facts, hold);
    let ran_out = spans.filter(|span| span.end == SpanEnd::RanOut && span.until_ns <= by_ns);
    ran_out.map(|span| span.until_ns).max()
}

/// Returns the lock values that a holder's attempt has written.
fn spans_of<'a>(facts: &Facts<'a>, hold: &Hold) -> impl Iterator<Item = &'a ValueSpan> {
    let spans = (facts.key_history).map_or(&[][..], |key_history| &key_history.spans);
    let (worker, op) = (hold.worker, hold.op);
    let own = spans.iter().filter(move |span| span.is_of(worker, op));
    own.filter(|span| span.may_be_lock_value())
}

/// Returns the command that took the lock: ` with SET`, or ` with SET on nodes 0, 2, 3`. Empty if the key history does
/// not show it.
pub(super) fn taken_with(facts: &Facts<'_>, hold: &Hold) -> String {
    let acquired = spans_of(facts, hold).filter(|span| {
        let in_time = (hold.acquire_ns..=hold.begin_ns).contains(&span.from_ns);
        in_time && span.phase() == Some(Phase::Acquire)
    });
    let (mut nodes, mut by) = (BTreeSet::new(), None);
    for span in acquired {
        nodes.insert(span.node);
        by = by.or(span.author.as_ref());
    }
    let Some(KeyCommand { command, .. }) = by else {
        return String::new();
    };
    match facts.history.header.nodes {
        1 => format!(" with {command}"),
        all if all == nodes.len() => format!(" with {command} on all {all} nodes"),
        _ => format!(" with {command} on {}", node_list(nodes)),
    }
}

/// Describes the values that an attempt has written, with their expiries, each with its time.
pub(super) fn written_values(
    facts: &Facts<'_>,
    hold: &Hold,
) -> impl Iterator<Item = (u64, String)> {
    let spans = spans_of(facts, hold).take(MAX_VALUES);
    spans.filter_map(|span| {
        let (by, value) = (span.author.as_ref()?, abbreviate(&span.value));
        let expiry = match (span.renewals.last(), span.expiry) {
            // Only the last expiry is known.
            (Some(last), _) => {
                let (command, at) = (&last.by.command, clock(last.at_ns));
                match last.ttl_ms {
                    Some(ttl_ms) => {
                        format!("and {command} at {at} set its expiry to {}", ttl(ttl_ms))
                    }
                    None => format!("and {command} at {at} removed its expiry"),
                }
            }
            (None, Some(expiry)) => format!("to expire after {}", ttl(expiry.ttl_ms)),
            (None, None) => "without expiry".to_owned(),
        };
        let (command, worker, node) = (&by.command, by.worker, span.node);
        let text = format!("{command} of client {worker} wrote {value} on node {node}, {expiry}");
        Some((span.from_ns, text))
    })
}

/// Formats a TTL. A negative one counts as 0.
fn ttl(ttl_ms: i64) -> String {
    length(ns_from_ms(u64::try_from(ttl_ms).unwrap_or(0)))
}

/// Shortens a value for a story.
pub(super) fn abbreviate(value: &str) -> String {
    let mut short: String = value.chars().take(MAX_VALUE_LENGTH).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    short
}

fn node_list(nodes: impl IntoIterator<Item = usize>) -> String {
    let numbers: Vec<String> = nodes.into_iter().map(|node| node.to_string()).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("node{plural} {}", numbers.join(", "))
}

/// Returns `true` if the value that replaced `span` still contains an element of it, so that its owner has lost
/// nothing. For example, a waiting client increased a counter in the same key, or joined a queue.
fn is_shared_on(facts: &Facts<'_>, span: &ValueSpan) -> bool {
    let spans = (facts.key_history).map_or(&[][..], |key_history| &key_history.spans);
    let is_next = |one: &&ValueSpan| {
        (one.node, &one.key, one.from_ns) == (span.node, &span.key, span.until_ns)
    };
    let next = spans.iter().find(is_next);
    matches!(span.end, SpanEnd::Overwritten(_))
        && next.is_some_and(|next| shares_element(&span.value, &next.value))
}

/// Returns how a value of a holder disappeared, as the predicate of a sentence, or `None` if the story need not mention
/// it.
fn how_lost(facts: &Facts<'_>, span: &ValueSpan, hold: &Hold) -> Option<String> {
    let is_part_of_hold = |by: &KeyCommand| {
        by.is_of(hold.worker, hold.op) && matches!(by.phase, Phase::Acquire | Phase::Release)
    };
    let by = |by: &KeyCommand| {
        let is_removal = matches!(span.end, SpanEnd::Removed(_));
        describe_command(facts, by, hold.lock, (span.until_ns, is_removal))
    };
    Some(match &span.end {
        SpanEnd::Stays | SpanEnd::RanOut | SpanEnd::Unseen => return None,
        SpanEnd::Removed(by) if is_part_of_hold(by) => return None,
        SpanEnd::Overwritten(by) if by.is_of(hold.worker, hold.op) => return None,
        SpanEnd::Removed(command) => format!("was removed by {}", by(command)),
        SpanEnd::Overwritten(command) => format!("was overwritten by {}", by(command)),
        SpanEnd::ClockLeapt => "expired early: the node's clock was set forward".into(),
        SpanEnd::Evicted => "was evicted".into(),
        SpanEnd::Flushed => "was flushed".into(),
        SpanEnd::LostInRestart => "was gone after the restart".into(),
        SpanEnd::LostInFailover => "was gone after the failover".into(),
    })
}

/// Describes a command that affected a lock at `at_ns`, with its sender, its purpose, and the fault that held it back:
/// `the DEL that client 1 sent at 2.406 s to release its hold from 1.205 s (held back by hold)`. Only a command that
/// removed a value may be a late release.
pub(super) fn describe_command(
    facts: &Facts<'_>,
    by: &KeyCommand,
    lock: u32,
    (at_ns, is_removal): (u64, bool),
) -> String {
    let (command, worker) = (&by.command, by.worker);
    let releasing = |hold: &Hold| format!("to release its hold from {}", clock(hold.begin_ns));
    let own_hold = || facts.holds.iter().find(|hold| hold.op == by.op);
    let late = || late_release(facts.holds, by, lock, at_ns).filter(|_| is_removal);
    let purpose = match by.phase {
        Phase::Extend => "to extend".to_owned(),
        Phase::Release => own_hold().map_or_else(|| "to release".to_owned(), releasing),
        phase => match (late(), phase) {
            (Some(hold), _) => format!(
                "{} after it had begun {}",
                length(at_ns - hold.end_ns),
                releasing(hold)
            ),
            (None, Phase::Acquire) => "to acquire".to_owned(),
            (None, _) => "unrequested".to_owned(),
        },
    };
    match by.sent_ns {
        None => format!("the {command} that client {worker} then sent {purpose}"),
        Some(sent_ns) => {
            let fault = held_back_by(facts, worker, (sent_ns, at_ns));
            let sent = clock(sent_ns);
            format!(
                "the {command} that client {worker} sent at {sent} {purpose} (held back{fault})"
            )
        }
    }
}

/// Returns the fault that held a worker's command back between two times: ` by delay`. Empty if the history shows none.
fn held_back_by(facts: &Facts<'_>, worker: usize, (from_ns, to_ns): (u64, u64)) -> String {
    let mut faults = facts.faults.iter().rev();
    let fault = faults.find(|fault| {
        holds_back(fault.fault) && fault.affects(worker) && fault.touches(from_ns, to_ns)
    });
    fault.map_or_else(String::new, |fault| format!(" by {}", fault.fault))
}
