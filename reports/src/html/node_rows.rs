//! The rows of nodes: when each node was frozen or down, changed its role, or had a wrong clock.

use std::collections::BTreeMap;

use picklock_scenarios::{Affects, FaultKind};
use picklock_verdicts::history::EventKind;
use picklock_verdicts::timeline::Timeline;
use serde::Serialize;

use super::clock_offset::ClockOffset;
use super::fault_band::FaultBand;
use super::name::sentence;

/// Maximum number of nodes with a row.
const MAX_NODES: usize = 64;

#[derive(Debug, Serialize)]
pub(super) struct NodeRow {
    node: usize,
    spans: Vec<Span>,
    /// The periods in which its wall clock was off.
    clock: Vec<ClockOffset>,
}

#[derive(Debug, Serialize)]
struct Span {
    from_ns: u64,
    to_ns: u64,
    /// `frozen`, `down`, `role`, `clock`, or `other`.
    state: &'static str,
    kind: String,
    words: String,
}

pub(super) fn node_rows(
    timeline: &Timeline<'_>,
    faults: &[FaultBand],
    clocks: &mut BTreeMap<usize, Vec<ClockOffset>>,
) -> Vec<NodeRow> {
    let (history, end_ns) = (timeline.history(), timeline.end_ns());
    let mut nodes: Vec<NodeRow> = (0..history.header.nodes.min(MAX_NODES))
        .map(|node| NodeRow {
            node,
            spans: Vec::new(),
            clock: clocks.remove(&node).unwrap_or_default(),
        })
        .collect();
    for fault in faults.iter().filter(|fault| !fault.has_offset) {
        let state = match FaultKind::named(&fault.kind) {
            Some(FaultKind::PauseNode) => "frozen",
            Some(FaultKind::CrashNode) => "down",
            Some(FaultKind::Failover | FaultKind::CutReplication) => "role",
            Some(FaultKind::ClockJump) => "clock",
            // Faults of links are shown as bands over all lanes.
            Some(kind) if kind.affects() == Affects::Links => continue,
            _ => "other",
        };
        // A new role and a wrong clock last until the end of the run.
        let to_ns = match state {
            "role" | "clock" => end_ns,
            _ => fault.to_ns,
        };
        for node in &fault.nodes {
            if let Some(node) = nodes.get_mut(*node) {
                node.spans.push(Span {
                    from_ns: fault.from_ns,
                    to_ns,
                    state,
                    kind: fault.kind.clone(),
                    words: fault.detail.clone(),
                });
            }
        }
    }
    for event in &history.events {
        if let EventKind::NodeLost { node, reason } = &event.what
            && let Some(node) = nodes.get_mut(*node)
        {
            node.spans.push(Span {
                from_ns: event.at_ns,
                to_ns: event.at_ns,
                state: "down",
                kind: "lost".to_owned(),
                words: sentence(&format!("did not answer after the run: {reason}")).shown,
            });
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::fault_band::fault_bands;
    use crate::html::small_history::history;

    fn began(id: u32, fault: &str, nodes: &[usize]) -> EventKind {
        EventKind::FaultBegan {
            id,
            fault: fault.into(),
            detail: format!("{fault} description"),
            workers: vec![],
            nodes: nodes.to_vec(),
            clock: None,
            delay_ms: None,
        }
    }

    #[test]
    fn node_is_frozen_temporarily_and_promoted_permanently() {
        let history = history(vec![
            (10, began(0, "pause-node", &[0])),
            (20, began(1, "failover", &[1])),
            (20, EventKind::FaultEnded { id: 1 }),
            (30, EventKind::FaultEnded { id: 0 }),
            (40, began(2, "crash-node", &[0])),
            (50, began(3, "partition", &[0, 1])),
            (90, EventKind::Refused { worker: 0, op: 1 }),
        ]);
        let timeline = Timeline::new(&history);
        let nodes = node_rows(&timeline, &fault_bands(&timeline), &mut BTreeMap::new());
        let seen = |node: usize| -> Vec<(u64, u64, &str)> {
            let spans = nodes[node].spans.iter();
            spans.map(|s| (s.from_ns, s.to_ns, s.state)).collect()
        };
        assert_eq!(seen(0), [(10, 30, "frozen"), (40, 90, "down")]);
        assert_eq!(seen(1), [(20, 90, "role")]);
    }
}
