//! The owner of each key of each node over time: one lane per key and node, for drawings.
//!
//! The values come from the key history that the checkers use, so a drawing shows the basis of the verdict.

use std::collections::BTreeMap;

use picklock_scenarios::Phase;
use picklock_verdicts::history::{History, KeyCommand, KeyName};
use picklock_verdicts::key_history::{KeyHistory, SpanEnd, ValueSpan};

/// Text that a drawing shows in place of lanes if there is no key history.
pub(crate) const NO_KEY_HISTORY: &str =
    "No key history: the values of the nodes' keys are unknown.";

/// The values of one key of one node, ordered by time. They do not overlap.
#[derive(Debug)]
pub(crate) struct NodeLane {
    pub(crate) node: usize,
    pub(crate) key: KeyName,
    pub(crate) values: Vec<ValueSpan>,
}

/// Returns the lanes by key and node, the locks' own keys first, or `None` if the history has no key history.
pub(crate) fn node_lanes(history: &History) -> Option<Vec<NodeLane>> {
    if !history.header.key_history {
        return None;
    }
    let mut lanes: BTreeMap<(KeyName, usize), Vec<ValueSpan>> = BTreeMap::new();
    for span in KeyHistory::from_history(history).spans {
        let place = (span.key.clone(), span.node);
        lanes.entry(place).or_default().push(span);
    }
    let lane = |((key, node), values)| NodeLane { node, key, values };
    Some(lanes.into_iter().map(lane).collect())
}

/// Returns the reason why a value ended, without the author of the command, such as `ran out` or `removed`.
/// Empty if the value stays.
pub(crate) fn describe_end(end: &SpanEnd) -> &'static str {
    match end {
        SpanEnd::Stays => "",
        SpanEnd::RanOut => "ran out",
        SpanEnd::ClockLeapt => "clock leapt",
        SpanEnd::Removed(_) => "removed",
        SpanEnd::Overwritten(_) => "overwritten",
        SpanEnd::Evicted => "evicted",
        SpanEnd::Flushed => "flushed",
        SpanEnd::LostInRestart => "lost in restart",
        SpanEnd::LostInFailover => "lost in failover",
        SpanEnd::Unseen => "end not observed",
    }
}

/// Formats the author of a command, such as `client 0, attempt 3, release: EVALSHA`. The command comes from
/// the server or a file, so it is untrusted.
pub(crate) fn describe_command(command: &KeyCommand) -> String {
    let request = match command.phase {
        Phase::Idle => "no request",
        Phase::Acquire => "acquire",
        Phase::Extend => "extend",
        Phase::Release => "release",
    };
    let (worker, op, command) = (command.worker, command.op, &command.command);
    format!("client {worker}, attempt {op}, {request}: {command}")
}

#[cfg(test)]
mod tests;
