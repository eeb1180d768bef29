//! What became of a lock's values on the servers, as sentences.

use picklock_scenarios::Phase;

use crate::check::evidence::Evidence;
use crate::custody::{SpanEnd, ValueSpan};
use crate::history::KeyCommand;
use crate::timeline::Hold;

use super::draft::Draft;
use super::sentence::Weight;

/// Tells how the values of a holder went away before another client was granted the lock. Values
/// that ran out when they were to, and those that the holder removed itself, need no word.
pub(super) fn tell_lost_values(
    draft: &mut Draft,
    evidence: &Evidence<'_>,
    hold: &Hold,
    to_ns: u64,
) {
    let mut lost: Vec<(u64, String, Vec<usize>)> = Vec::new();
    let spans = evidence.custody().map_or(&[][..], |account| &account.spans);
    for span in spans {
        let own = |by: &KeyCommand| by.is_of(hold.worker, hold.op);
        let written = span.is_of(hold.worker, hold.op);
        let in_time = (hold.acquire_ns..=to_ns).contains(&span.until_ns);
        if !written || !in_time {
            continue;
        }
        let Some(how) = how_lost(span, own) else {
            continue;
        };
        match lost.iter_mut().find(|(_, other, _)| *other == how) {
            Some((_, _, nodes)) => nodes.push(span.node),
            None => lost.push((span.until_ns, how, vec![span.node])),
        }
    }
    for (at_ns, how, nodes) in lost {
        let nodes = match nodes.as_slice() {
            [node] => format!("node {node}"),
            nodes => {
                let numbers: Vec<String> = nodes.iter().map(ToString::to_string).collect();
                format!("nodes {}", numbers.join(", "))
            }
        };
        let text = format!("worker {}'s value on {nodes} {how}", hold.worker);
        draft.tell(at_ns, Weight::Plot, text);
    }
}

/// How a value went away, as the rest of a sentence.
fn how_lost(span: &ValueSpan, own: impl Fn(&KeyCommand) -> bool) -> Option<String> {
    let by = |by: &KeyCommand| {
        let asked = match by.phase {
            Phase::Acquire => " to acquire",
            Phase::Extend => " to extend",
            Phase::Release => " to release",
            Phase::Idle => "",
        };
        format!("{} of worker {}{asked}", by.command, by.worker)
    };
    Some(match &span.end {
        SpanEnd::Stays | SpanEnd::RanOut | SpanEnd::Unseen => return None,
        SpanEnd::Removed(command) | SpanEnd::Overwritten(command) if own(command) => return None,
        SpanEnd::Removed(command) => format!("was removed by {}", by(command)),
        SpanEnd::Overwritten(command) => format!("was overwritten by {}", by(command)),
        SpanEnd::ClockLeapt => "expired early: the node's clock was set forward".into(),
        SpanEnd::Evicted => "was evicted".into(),
        SpanEnd::Flushed => "was flushed".into(),
        SpanEnd::LostInRestart => "was gone after the restart".into(),
        SpanEnd::LostInFailover => "was gone after the failover".into(),
    })
}
