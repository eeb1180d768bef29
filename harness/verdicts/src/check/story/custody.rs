//! What became of a lock's values on the servers, as sentences.

use picklock_scenarios::Phase;

use crate::check::facts::Facts;
use crate::check::lost_claim::late_release;
use crate::custody::{SpanEnd, ValueSpan};
use crate::history::KeyCommand;
use crate::timeline::Hold;

use super::sentence::{clock, length};

/// How the values of a holder went away before another client was granted the lock, each with its time. Values
/// that ran out when they were to, and those that the holder removed itself, need no word.
pub(super) fn lost_values(facts: &Facts<'_>, hold: &Hold, to_ns: u64) -> Vec<(u64, String)> {
    let mut lost: Vec<(u64, String, Vec<usize>)> = Vec::new();
    let spans = facts.custody.map_or(&[][..], |account| &account.spans);
    for span in spans {
        let written = span.is_of(hold.worker, hold.op);
        let in_time = (hold.acquire_ns..=to_ns).contains(&span.until_ns);
        if !written || !in_time {
            continue;
        }
        let Some(how) = how_lost(facts.holds, span, hold) else {
            continue;
        };
        match lost.iter_mut().find(|(_, other, _)| *other == how) {
            Some((_, _, nodes)) => nodes.push(span.node),
            None => lost.push((span.until_ns, how, vec![span.node])),
        }
    }
    let lost = lost.into_iter().map(|(at_ns, how, nodes)| {
        let nodes = match nodes.as_slice() {
            [node] => format!("node {node}"),
            nodes => {
                let numbers: Vec<String> = nodes.iter().map(ToString::to_string).collect();
                format!("nodes {}", numbers.join(", "))
            }
        };
        (
            at_ns,
            format!("worker {}'s value on {nodes} {how}", hold.worker),
        )
    });
    lost.collect()
}

/// How a value of a holder went away, as the rest of a sentence.
fn how_lost(holds: &[Hold], span: &ValueSpan, hold: &Hold) -> Option<String> {
    let is_part_of_hold = |by: &KeyCommand| {
        by.is_of(hold.worker, hold.op) && matches!(by.phase, Phase::Acquire | Phase::Release)
    };
    let sender = |by: &KeyCommand| sender(holds, by, hold.key, span.until_ns);
    Some(match &span.end {
        SpanEnd::Stays | SpanEnd::RanOut | SpanEnd::Unseen => return None,
        SpanEnd::Removed(by) if is_part_of_hold(by) => return None,
        SpanEnd::Overwritten(by) if by.is_of(hold.worker, hold.op) => return None,
        SpanEnd::Removed(by) => format!("was removed by {}", sender(by)),
        SpanEnd::Overwritten(by) => format!("was overwritten by {}", sender(by)),
        SpanEnd::ClockLeapt => "expired early: the node's clock was set forward".into(),
        SpanEnd::Evicted => "was evicted".into(),
        SpanEnd::Flushed => "was flushed".into(),
        SpanEnd::LostInRestart => "was gone after the restart".into(),
        SpanEnd::LostInFailover => "was gone after the failover".into(),
    })
}

/// A command that struck a lock at this time, with its sender and what it belonged to.
pub(super) fn sender(holds: &[Hold], by: &KeyCommand, lock: u32, at_ns: u64) -> String {
    let late = || late_release(holds, by, lock, at_ns);
    let asked = match by.phase {
        Phase::Extend => " to extend".to_owned(),
        Phase::Release => " to release".to_owned(),
        phase => match (late(), phase) {
            (Some(hold), _) => format!(
                " ({} after it had begun to release what it got at {})",
                length(at_ns - hold.end_ns),
                clock(hold.begin_ns)
            ),
            (None, Phase::Acquire) => " to acquire".to_owned(),
            (None, _) => " (outside any release)".to_owned(),
        },
    };
    format!("{} of worker {}{asked}", by.command, by.worker)
}
