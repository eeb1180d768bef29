//! Whose value each key of each node had over time: one lane per key and node, for pictures.
//!
//! The values come from the key history that the checkers use, so a picture shows what the verdict is
//! based on.

use std::collections::BTreeMap;

use picklock_scenarios::Phase;
use picklock_verdicts::history::{History, KeyCommand, KeyName};
use picklock_verdicts::key_history::{KeyHistory, SpanEnd, ValueSpan};

/// What a picture says instead of lanes if the history has no key history.
pub(crate) const NO_KEY_HISTORY: &str = "No key history: what the nodes' keys held is not known.";

/// The values that one key of one node had, in order of time. They do not overlap.
#[derive(Debug)]
pub(crate) struct NodeLane {
    pub(crate) node: usize,
    pub(crate) key: KeyName,
    pub(crate) values: Vec<ValueSpan>,
}

/// The lanes by key and node, the locks' own keys first. `None`: the history has no key history.
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

/// Why a value ended, without whose command it was: `ran out`, `removed`. Nothing if it stays.
pub(crate) fn end_in_words(end: &SpanEnd) -> &'static str {
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
        SpanEnd::Unseen => "end not seen",
    }
}

/// Whose command it was: `worker 0, attempt 3, release: EVALSHA`. The command is as the server or a
/// file has it, so untrusted.
pub(crate) fn command_in_words(command: &KeyCommand) -> String {
    let asked_for = match command.phase {
        Phase::Idle => "asked for nothing",
        Phase::Acquire => "acquire",
        Phase::Extend => "extend",
        Phase::Release => "release",
    };
    let (worker, op, command) = (command.worker, command.op, &command.command);
    format!("worker {worker}, attempt {op}, {asked_for}: {command}")
}

#[cfg(test)]
mod tests;
