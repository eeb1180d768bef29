//! What surrounds the workers: faults, nodes, and the times in which a worker was dead.

use std::collections::BTreeMap;

use picklock_verdicts::check::strikes_once;
use picklock_verdicts::history::{History, What};
use serde::Serialize;

use super::name::sentence;
use super::wrong_clock::Off;

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
    /// The history says by how much it sets clocks: their lanes do.
    #[serde(skip)]
    tells_offset: bool,
}

/// What became of a node.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    node: usize,
    spans: Vec<Span>,
    /// When its wall clock was off.
    clock: Vec<Off>,
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
                clock,
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
                    tells_offset: clock.is_some(),
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
pub(super) fn nodes(history: &History, clocks: &mut BTreeMap<usize, Vec<Off>>) -> Vec<Node> {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut nodes: Vec<Node> = (0..history.header.nodes.min(MOST_NODES))
        .map(|node| Node {
            node,
            spans: Vec::new(),
            clock: clocks.remove(&node).unwrap_or_default(),
        })
        .collect();
    for fault in faults(history) {
        if fault.tells_offset {
            continue;
        }
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

#[cfg(test)]
pub(super) mod tests {
    use picklock_verdicts::history::{Event, read_history};

    use super::*;

    /// A history of two workers, two nodes and one lock.
    pub fn history(events: Vec<(u64, What)>) -> History {
        let header = concat!(
            r#"{"format":"picklock-history/1","scenario":"s","subject":"s","backend":"sim","#,
            r#""seed":1,"workers":2,"nodes":2,"keys":["a"],"ttl_ms":100,"stock_start":3,"#,
            r#""update":"decrement","min_grants":0,"progress_within_ms":3000}"#,
        );
        let mut history = read_history(header.as_bytes()).unwrap();
        let event = |(at_ns, what)| Event { at_ns, what };
        history.events = events.into_iter().map(event).collect();
        history
    }

    fn began(id: u32, fault: &str, nodes: &[usize]) -> What {
        What::FaultBegan {
            id,
            fault: fault.into(),
            detail: format!("{fault} in words"),
            workers: vec![],
            nodes: nodes.to_vec(),
            clock: None,
        }
    }

    #[test]
    fn a_node_is_frozen_or_down_for_a_while_and_promoted_for_good() {
        let nodes = nodes(
            &history(vec![
                (10, began(0, "pause-node", &[0])),
                (20, began(1, "failover", &[1])),
                (20, What::FaultEnded { id: 1 }),
                (30, What::FaultEnded { id: 0 }),
                (40, began(2, "crash-node", &[0])),
                (50, began(3, "partition", &[0, 1])),
                (90, What::Refused { worker: 0, op: 1 }),
            ]),
            &mut BTreeMap::new(),
        );
        let seen = |node: usize| -> Vec<(u64, u64, &str)> {
            let spans = nodes[node].spans.iter();
            spans.map(|s| (s.from_ns, s.to_ns, s.state)).collect()
        };
        assert_eq!(seen(0), [(10, 30, "frozen"), (40, 90, "down")]);
        assert_eq!(seen(1), [(20, 90, "role")]);
    }

    #[test]
    fn a_worker_is_dead_until_it_is_started_again() {
        let down = || What::WorkerDown {
            worker: 1,
            by_fault: true,
            reason: "killed".into(),
        };
        let up = What::WorkerUp {
            worker: 1,
            incarnation: 1,
        };
        let dead = dead(&history(vec![
            (10, down()),
            (20, up),
            (30, down()),
            (40, What::Refused { worker: 0, op: 1 }),
        ]));
        let spans: Vec<(u64, u64)> = dead[&1].iter().map(|d| (d.from_ns, d.to_ns)).collect();
        assert_eq!(spans, [(10, 20), (30, 40)]);
    }
}
