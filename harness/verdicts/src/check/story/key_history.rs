//! What became of a lock's values on the servers, as sentences with the commands that did it.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::sentence::{clock, length};
use crate::check::causes::facts::Facts;
use crate::check::causes::lost_ownership::late_release;
use crate::history::KeyCommand;
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, ms};

/// So many letters of a value are shown.
const MAX_VALUE_LENGTH: usize = 12;

/// So many values of an attempt are told.
const MAX_VALUES: usize = 3;

/// How the values of a holder went away before another client was granted the lock, each with its time. Values
/// that ran out when they were to, and those that the holder removed itself, need no word.
pub(super) fn lost_values(facts: &Facts<'_>, hold: &Hold, to_ns: u64) -> Vec<(u64, String)> {
    // One value that was lost in this way, how, and on which nodes.
    let mut all: Vec<(&ValueSpan, String, Vec<usize>)> = Vec::new();
    for span in spans_of(facts, hold) {
        if !(hold.acquire_ns..=to_ns).contains(&span.until_ns) {
            continue;
        }
        let Some(how) = how_lost(facts, span, hold) else {
            continue;
        };
        let mut known = all.iter_mut();
        match known.find(|(one, describe, _)| one.value == span.value && *describe == how) {
            Some((_, _, nodes)) => nodes.push(span.node),
            None => all.push((span, how, vec![span.node])),
        }
    }
    let told = all.into_iter().map(|(span, how, nodes)| {
        let (value, nodes) = (shown(&span.value), nodes_in_words(nodes));
        let text = format!("worker {}'s value {value} on {nodes} {how}", hold.worker);
        (span.until_ns, text)
    });
    told.collect()
}

/// When the last of a holder's values ran out before a time. `None`: none did.
pub(super) fn ran_out_ns(facts: &Facts<'_>, hold: &Hold, by_ns: u64) -> Option<u64> {
    let spans = spans_of(facts, hold);
    let ran_out = spans.filter(|span| span.end == SpanEnd::RanOut && span.until_ns <= by_ns);
    ran_out.map(|span| span.until_ns).max()
}

/// The values of locks that a holder's attempt has written.
fn spans_of<'a>(facts: &Facts<'a>, hold: &Hold) -> impl Iterator<Item = &'a ValueSpan> {
    let spans = facts.key_history.map_or(&[][..], |account| &account.spans);
    let (worker, op) = (hold.worker, hold.op);
    let own = spans.iter().filter(move |span| span.is_of(worker, op));
    own.filter(|span| span.may_be_lock_value())
}

/// ` with SET`, ` with SET on nodes 0, 2, 3`: the command that took the lock. Nothing if nobody saw it.
pub(super) fn taken_with(facts: &Facts<'_>, hold: &Hold) -> String {
    let claims = spans_of(facts, hold).filter(|span| {
        let in_time = (hold.acquire_ns..=hold.begin_ns).contains(&span.from_ns);
        in_time && span.phase() == Some(Phase::Acquire)
    });
    let (mut nodes, mut by) = (BTreeSet::new(), None);
    for span in claims {
        nodes.insert(span.node);
        by = by.or(span.author.as_ref());
    }
    let Some(KeyCommand { command, .. }) = by else {
        return String::new();
    };
    match facts.history.header.nodes {
        1 => format!(" with {command}"),
        all if all == nodes.len() => format!(" with {command} on all {all} nodes"),
        _ => format!(" with {command} on {}", nodes_in_words(nodes)),
    }
}

/// The values that an attempt has written, and how long they were to live, each with its time.
pub(super) fn written_values(
    facts: &Facts<'_>,
    hold: &Hold,
) -> impl Iterator<Item = (u64, String)> {
    let spans = spans_of(facts, hold).take(MAX_VALUES);
    spans.filter_map(|span| {
        let (by, value) = (span.author.as_ref()?, shown(&span.value));
        let lasts = match (span.renewals.last(), span.expiry) {
            // Only the life that it was given last is known.
            (Some(last), _) => {
                let life = last.ttl_ms.map_or("no end".to_owned(), life);
                format!(
                    "and {} at {} gave it {life}",
                    last.by.command,
                    clock(last.at_ns)
                )
            }
            (None, Some(expiry)) => format!("to live for {}", life(expiry.ttl_ms)),
            (None, None) => "without expiry".to_owned(),
        };
        let (command, worker, node) = (&by.command, by.worker, span.node);
        let text = format!("{command} of worker {worker} wrote {value} on node {node}, {lasts}");
        Some((span.from_ns, text))
    })
}

/// A life in milliseconds, in words. One that was over when it was given is none.
fn life(ttl_ms: i64) -> String {
    length(ms(u64::try_from(ttl_ms).unwrap_or(0)))
}

/// A value as a story shows it.
pub(super) fn shown(value: &str) -> String {
    let mut shown: String = value.chars().take(MAX_VALUE_LENGTH).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

fn nodes_in_words(nodes: impl IntoIterator<Item = usize>) -> String {
    let numbers: Vec<String> = nodes.into_iter().map(|node| node.to_string()).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("node{plural} {}", numbers.join(", "))
}

/// How a value of a holder went away, as the rest of a sentence.
fn how_lost(facts: &Facts<'_>, span: &ValueSpan, hold: &Hold) -> Option<String> {
    let is_part_of_hold = |by: &KeyCommand| {
        by.is_of(hold.worker, hold.op) && matches!(by.phase, Phase::Acquire | Phase::Release)
    };
    let by = |by: &KeyCommand| {
        let removed = matches!(span.end, SpanEnd::Removed(_));
        command_in_words(facts, by, hold.key, (span.until_ns, removed))
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

/// A command that struck a lock at this time, with its sender, what it belonged to, and what held it back: `the DEL
/// that worker 1 sent at 2.406 s to release what it had got at 1.205 s (held back by hold)`. Only one that removed its
/// value may be a late release.
pub(super) fn command_in_words(
    facts: &Facts<'_>,
    by: &KeyCommand,
    lock: u32,
    (at_ns, removed): (u64, bool),
) -> String {
    let (command, worker) = (&by.command, by.worker);
    let got = |hold: &Hold| format!("to release what it had got at {}", clock(hold.begin_ns));
    let its_own = || facts.holds.iter().find(|hold| hold.op == by.op);
    let late = || late_release(facts.holds, by, lock, at_ns).filter(|_| removed);
    let asked = match by.phase {
        Phase::Extend => "to extend".to_owned(),
        Phase::Release => its_own().map_or_else(|| "to release".to_owned(), got),
        phase => match (late(), phase) {
            (Some(hold), _) => format!(
                "{} after it had begun {}",
                length(at_ns - hold.end_ns),
                got(hold)
            ),
            (None, Phase::Acquire) => "to acquire".to_owned(),
            (None, _) => "unrequested".to_owned(),
        },
    };
    match by.sent_ns {
        None => format!("the {command} that worker {worker} then sent {asked}"),
        Some(sent_ns) => {
            let held = held_back_by(facts, worker, (sent_ns, at_ns));
            let sent = clock(sent_ns);
            format!("the {command} that worker {worker} sent at {sent} {asked} (held back{held})")
        }
    }
}

/// ` by delay`: the fault that held a worker's command back between these times, if the history has it.
fn held_back_by(facts: &Facts<'_>, worker: usize, (from_ns, to_ns): (u64, u64)) -> String {
    let mut faults = facts.faults.iter().rev();
    let fault = faults.find(|fault| {
        let holds_back = matches!(fault.fault, "delay" | "hold" | "partition");
        holds_back && fault.affects(worker) && fault.touches(from_ns, to_ns)
    });
    fault.map_or_else(String::new, |fault| format!(" by {}", fault.fault))
}
