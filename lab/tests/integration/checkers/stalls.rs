//! Starvations, found by examining every time with all events before it.
//!
//! Not for histories with wrong clocks. Ignores findings after the run.

use std::collections::HashSet;

use super::pairs::{reports, request};
use picklock_verdicts::history::{Event, EventKind, History};

/// Returns how many times workers that reached what a lock needs wanted it for longer than the bound, while no client
/// could hold it, and did not get it.
pub(super) fn starvations(history: &History) -> u64 {
    let header = &history.header;
    let bound_ns = header.progress_within_ms * 1_000_000;
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut found: HashSet<(u32, usize)> = HashSet::new();
    for now in 0..=history.events.len() {
        let past = &history.events[..now];
        let next = history.events.get(now);
        let at_ns = next.map_or(end_ns, |event| event.at_ns);
        let calm_ns =
            last_fault_ns(past).map_or(0, |fault_ns| fault_ns + header.ttl_ms * 1_000_000);
        for key in 0..header.keys.len() as u32 {
            let Some(free_since_ns) = free_since(history, past, key) else {
                continue;
            };
            let since_ns = wanted_since(history, past, key);
            if since_ns
                .is_some_and(|since_ns| at_ns > since_ns.max(free_since_ns).max(calm_ns) + bound_ns)
            {
                found.insert((key, grants(past, key)));
            }
        }
    }
    found.len() as u64
}

fn last_fault_ns(past: &[Event]) -> Option<u64> {
    past.iter()
        .rfind(|event| is_fault(event))
        .map(|event| event.at_ns)
}

fn is_fault(event: &Event) -> bool {
    matches!(
        event.what,
        EventKind::FaultBegan { .. } | EventKind::FaultEnded { .. }
    )
}

/// Returns `true` if the worker reaches more than half of the nodes.
fn reaches(past: &[Event], nodes: usize, worker: usize) -> bool {
    let reached = (0..nodes).filter(|node| {
        !is_affected(past, worker, |nodes, fault| {
            fault != "crash-client" && (nodes.is_empty() || nodes.contains(node))
        })
    });
    reached.count() * 2 > nodes
}

/// Returns `true` if the worker does not reach more than half of the nodes, and its commands are delayed.
fn is_late(past: &[Event], nodes: usize, worker: usize) -> bool {
    is_affected(past, worker, |_, fault| fault == "delay") && !reaches(past, nodes, worker)
}

/// Returns `true` if an active fault of this kind affects the worker.
fn is_affected(past: &[Event], worker: usize, kind: impl Fn(&[usize], &str) -> bool) -> bool {
    past.iter().enumerate().any(|(index, event)| {
        let EventKind::FaultBegan {
            id,
            fault,
            workers,
            nodes,
            ..
        } = &event.what
        else {
            return false;
        };
        let is_end =
            |event: &Event| matches!(event.what, EventKind::FaultEnded { id: ended } if ended == *id);
        kind(nodes, fault)
            && (workers.is_empty() || workers.contains(&worker))
            && !past[index..].iter().any(is_end)
    })
}

fn ops(past: &[Event], of_key: u32) -> Vec<u64> {
    (past.iter())
        .filter_map(|event| match event.what {
            EventKind::Acquire { op, key, .. } if key == of_key => Some(op),
            _ => None,
        })
        .collect()
}

fn grants(past: &[Event], key: u32) -> usize {
    let ops = ops(past, key);
    let is_grant =
        |event: &&Event| matches!(event.what, EventKind::Granted { op, .. } if ops.contains(&op));
    past.iter().filter(is_grant).count()
}

/// Returns since when no client can hold the lock any more, or `None` if one can.
fn free_since(history: &History, past: &[Event], key: u32) -> Option<u64> {
    let mut free_ns = 0;
    for op in ops(past, key) {
        free_ns = free_ns.max(left_until(history, past, key, op)?);
    }
    Some(free_ns)
}

/// Returns until when an attempt may have the lock, or `None` if that is unknown.
fn left_until(history: &History, past: &[Event], key: u32, op: u64) -> Option<u64> {
    let first = past.iter().position(
        |event| matches!(event.what, EventKind::Acquire { op: requested, .. } if requested == op),
    )?;
    let EventKind::Acquire { worker: owner, .. } = past[first].what else {
        return None;
    };
    let (_, _, ttl_ms) = request(past, op)?;
    let longest_ns = (reports(past, op).into_iter())
        .map(|report| report.until_ns.1.saturating_sub(report.arrived_ns))
        .fold(ttl_ms * 1_000_000, u64::max);
    let mut granted = false;
    let mut release_ns = None;
    for (index, event) in past.iter().enumerate().skip(first) {
        let lease_over_ns = event.at_ns + longest_ns;
        match event.what {
            EventKind::Granted { op: o, .. } if o == op => granted = true,
            EventKind::Refused { op: o, .. } if o == op => return Some(0),
            EventKind::AcquireFailed {
                op: o, definite, ..
            } if o == op => {
                let is_repeated = || {
                    is_own_doubt(history, past, index) && {
                        (0..index)
                            .rev()
                            .take_while(|before| !breaks(past, *before, key))
                            .any(|before| {
                                is_of(past, before, key) && is_own_doubt(history, past, before)
                            })
                    }
                };
                return Some(if definite || is_repeated() {
                    0
                } else {
                    lease_over_ns
                });
            }
            EventKind::Release { op: o, .. } if o == op => release_ns = Some(event.at_ns),
            EventKind::Released {
                op: o, released, ..
            } if o == op => {
                // A late answer does not prolong the lease, unless commands are late, too.
                let ended_at_ns = release_ns.map_or(u64::MAX, |sent_ns| sent_ns + longest_ns);
                let free_ns = if is_late(&past[..index], history.header.nodes, owner) {
                    event.at_ns
                } else {
                    event.at_ns.min(ended_at_ns)
                };
                // A release without a result may have left the lock.
                return Some(released.map_or(lease_over_ns, |_| free_ns));
            }
            EventKind::ReleaseFailed { op: o, .. } if o == op => return Some(lease_over_ns),
            EventKind::WorkerDown { worker, .. } if worker == owner => return Some(lease_over_ns),
            _ => {}
        }
    }
    match release_ns {
        Some(_) if is_late(past, history.header.nodes, owner) => None,
        Some(sent_ns) => Some(sent_ns + longest_ns),
        None => (!granted).then_some(0),
    }
}

/// Returns `true` for a grant of the key, or a fault: earlier doubts no longer count.
fn breaks(past: &[Event], index: usize, key: u32) -> bool {
    match past[index].what {
        EventKind::Granted { op, .. } => ops(past, key).contains(&op),
        EventKind::FaultBegan { .. } | EventKind::FaultEnded { .. } => true,
        _ => false,
    }
}

fn is_of(past: &[Event], index: usize, key: u32) -> bool {
    matches!(past[index].what, EventKind::AcquireFailed { op, .. } if ops(past, key).contains(&op))
}

/// Returns `true` for an attempt that ended in doubt although nothing kept its worker from the nodes.
fn is_own_doubt(history: &History, past: &[Event], index: usize) -> bool {
    let EventKind::AcquireFailed {
        op,
        worker,
        definite: false,
        ..
    } = past[index].what
    else {
        return false;
    };
    let before = &past[..index];
    let since_ns = request(past, op).map_or(0, |(requested_at_ns, _, _)| requested_at_ns);
    last_fault_ns(before).is_none_or(|fault_ns| fault_ns < since_ns)
        && reaches(before, history.header.nodes, worker)
}

/// Returns since when the key has been wanted without a long break, if a worker that reaches it requests it now.
fn wanted_since(history: &History, past: &[Event], of_key: u32) -> Option<u64> {
    let patience_ns = history.header.progress_within_ms * 1_000_000 / 4;
    let nodes = history.header.nodes;
    let fault_at = past.iter().rposition(is_fault);
    let is_in_reach = |worker| reaches(past, nodes, worker);
    let mut waiting: Vec<usize> = Vec::new();
    let (mut since_ns, mut denied_ns) = (None, None);
    for (index, event) in past.iter().enumerate() {
        match event.what {
            EventKind::Acquire { worker, key, .. } if key == of_key && is_in_reach(worker) => {
                let is_soon =
                    denied_ns.is_some_and(|denied: u64| event.at_ns - denied <= patience_ns);
                if waiting.is_empty() && !is_soon {
                    since_ns = Some(event.at_ns);
                }
                waiting.push(worker);
            }
            EventKind::Refused { worker, .. } | EventKind::AcquireFailed { worker, .. }
                if waiting.contains(&worker) =>
            {
                waiting.retain(|other| *other != worker);
                denied_ns = Some(event.at_ns);
            }
            EventKind::Granted { worker, .. } | EventKind::WorkerDown { worker, .. }
                if waiting.contains(&worker) =>
            {
                waiting.retain(|other| *other != worker);
                denied_ns = None;
            }
            _ => {}
        }
        if fault_at == Some(index) {
            since_ns = Some(event.at_ns);
            denied_ns = None;
        }
    }
    since_ns.filter(|_| !waiting.is_empty())
}
