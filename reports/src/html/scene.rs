//! What surrounds the workers: faults, nodes, and the times in which a worker was dead.

use std::collections::BTreeMap;

use picklock_harness::check::strikes_once;
use picklock_harness::history::{History, What};
use serde::Serialize;

use super::name::sentence;

/// Nodes beyond this have no lane.
const MOST_NODES: usize = 64;

/// A fault, as a band.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Fault {
    pub(super) from_ns: u64,
    /// The same as the beginning for one that strikes once.
    pub(super) to_ns: u64,
    pub(super) kind: String,
    pub(super) detail: String,
    #[serde(skip)]
    nodes: Vec<usize>,
}

/// What became of a node.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    node: usize,
    spans: Vec<Span>,
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

/// A time in which a worker was gone.
#[derive(Debug, Serialize)]
pub(super) struct Dead {
    from_ns: u64,
    to_ns: u64,
    words: String,
}

/// The faults in the order in which they began.
pub(super) fn faults(history: &History) -> Vec<Fault> {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut ids = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    for event in &history.events {
        match &event.what {
            What::FaultBegan {
                id,
                fault,
                detail,
                nodes,
                ..
            } => {
                let once = strikes_once(fault) && fault != "crash-client";
                ids.push((*id, once));
                faults.push(Fault {
                    from_ns: event.at_ns,
                    to_ns: if once { event.at_ns } else { end_ns },
                    kind: super::name::name(fault).shown,
                    detail: sentence(detail).shown,
                    nodes: nodes.clone(),
                });
            }
            What::FaultEnded { id } => {
                let index = ids.iter().rposition(|known| *known == (*id, false));
                if let Some(index) = index {
                    faults[index].to_ns = event.at_ns;
                }
            }
            _ => {}
        }
    }
    faults
}

/// One for each node.
pub(super) fn nodes(history: &History) -> Vec<Node> {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut nodes: Vec<Node> = (0..history.header.nodes.min(MOST_NODES))
        .map(|node| Node {
            node,
            spans: Vec::new(),
        })
        .collect();
    for fault in faults(history) {
        let state = match fault.kind.as_str() {
            "pause-node" => "frozen",
            "crash-node" => "down",
            "failover" | "cut-replication" => "role",
            "clock-jump" => "clock",
            // Those of links are shown as bands over all lanes.
            "delay" | "drop" | "hold" | "cut" | "partition" => continue,
            _ => "other",
        };
        // A new role and a wrong clock stay.
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
    lost(history, &mut nodes);
    nodes
}

fn lost(history: &History, nodes: &mut [Node]) {
    for event in &history.events {
        if let What::NodeLost { node, reason } = &event.what
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
}

/// When each worker was gone.
pub(super) fn dead(history: &History) -> BTreeMap<usize, Vec<Dead>> {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut dead: BTreeMap<usize, Vec<Dead>> = BTreeMap::new();
    for event in &history.events {
        match &event.what {
            What::WorkerDown { worker, reason, .. } => {
                dead.entry(*worker).or_default().push(Dead {
                    from_ns: event.at_ns,
                    to_ns: end_ns,
                    words: sentence(reason).shown,
                });
            }
            What::WorkerUp { worker, .. } => {
                if let Some(last) = dead.get_mut(worker).and_then(|spans| spans.last_mut())
                    && last.to_ns == end_ns
                {
                    last.to_ns = event.at_ns;
                }
            }
            _ => {}
        }
    }
    dead
}
