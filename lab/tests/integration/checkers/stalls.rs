//! Stalls, found by examining every moment from the beginning of the history.
//!
//! Not for histories with wrong clocks, and nothing is known here of what was found after the run.

use std::collections::HashSet;

use super::pairs::{asked, words};
use picklock_verdicts::history::{Event, EventKind, History};

/// How many times a lock was wanted for longer than the bound by workers that reached what the lock
/// needs, while no client could hold it, and was not granted.
pub(super) fn stalls(history: &History) -> u64 {
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
    let faults = past.iter().rev();
    let mut faults = faults.filter(|event| is_fault(event));
    faults.next().map(|event| event.at_ns)
}

fn is_fault(event: &Event) -> bool {
    matches!(
        event.what,
        EventKind::FaultBegan { .. } | EventKind::FaultEnded { .. }
    )
}

/// True if the worker reaches more than half of the nodes.
fn reaches(past: &[Event], nodes: usize, worker: usize) -> bool {
    let reached = (0..nodes).filter(|node| {
        !is_affected(past, worker, |nodes, fault| {
            fault != "crash-client" && (nodes.is_empty() || nodes.contains(node))
        })
    });
    reached.count() * 2 > nodes
}

/// True if the worker does not reach more than half of the nodes, and what it sends is delayed.
fn is_late(past: &[Event], nodes: usize, worker: usize) -> bool {
    is_affected(past, worker, |_, fault| fault == "delay") && !reaches(past, nodes, worker)
}

/// True if a fault of this kind is on that strikes the worker.
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
        let over =
            |event: &Event| matches!(event.what, EventKind::FaultEnded { id: ended } if ended == *id);
        kind(nodes, fault)
            && (workers.is_empty() || workers.contains(&worker))
            && !past[index..].iter().any(over)
    })
}

fn ops(past: &[Event], of_key: u32) -> Vec<u64> {
    let asked = past.iter().filter_map(|event| match event.what {
        EventKind::Acquire { op, key, .. } if key == of_key => Some(op),
        _ => None,
    });
    asked.collect()
}

fn grants(past: &[Event], key: u32) -> usize {
    let ops = ops(past, key);
    let granted =
        |event: &&Event| matches!(event.what, EventKind::Granted { op, .. } if ops.contains(&op));
    past.iter().filter(granted).count()
}

/// Since when no client can hold the lock any more. `None`: one can.
fn free_since(history: &History, past: &[Event], key: u32) -> Option<u64> {
    let mut free_ns = 0;
    for op in ops(past, key) {
        free_ns = free_ns.max(left_until(history, past, key, op)?);
    }
    Some(free_ns)
}

/// Until when an attempt may have the lock. `None`: it is not known.
fn left_until(history: &History, past: &[Event], key: u32, op: u64) -> Option<u64> {
    let asked_at = past.iter().position(
        |event| matches!(event.what, EventKind::Acquire { op: asked, .. } if asked == op),
    )?;
    let EventKind::Acquire { worker: of, .. } = past[asked_at].what else {
        return None;
    };
    let (_, _, ttl_ms) = asked(past, op)?;
    let told = words(past, op).into_iter();
    let longest_ns = told
        .map(|word| word.until_ns.1.saturating_sub(word.arrived_ns))
        .fold(ttl_ms * 1_000_000, u64::max);
    let mut granted = false;
    let mut release_ns = None;
    for (index, event) in past.iter().enumerate().skip(asked_at) {
        let lease_over_ns = event.at_ns + longest_ns;
        match event.what {
            EventKind::Granted { op: o, .. } if o == op => granted = true,
            EventKind::Refused { op: o, .. } if o == op => return Some(0),
            EventKind::AcquireFailed {
                op: o, definite, ..
            } if o == op => {
                let again = || {
                    is_own_doubt(history, past, index) && {
                        (0..index)
                            .rev()
                            .take_while(|before| !breaks(past, *before, key))
                            .any(|before| {
                                is_of(past, before, key) && is_own_doubt(history, past, before)
                            })
                    }
                };
                return Some(if definite || again() {
                    0
                } else {
                    lease_over_ns
                });
            }
            EventKind::Release { op: o, .. } if o == op => release_ns = Some(event.at_ns),
            EventKind::Released {
                op: o, released, ..
            } if o == op => {
                // Who does not say that it is free may have left it.
                // A late answer does not make the lease longer, unless commands are late, too.
                let ended_at_ns = release_ns.map_or(u64::MAX, |sent_ns| sent_ns + longest_ns);
                let free_ns = match is_late(&past[..index], history.header.nodes, of) {
                    true => event.at_ns,
                    false => event.at_ns.min(ended_at_ns),
                };
                return Some(released.map_or(lease_over_ns, |_| free_ns));
            }
            EventKind::ReleaseFailed { op: o, .. } if o == op => return Some(lease_over_ns),
            EventKind::WorkerDown { worker, .. } if worker == of => return Some(lease_over_ns),
            _ => {}
        }
    }
    match release_ns {
        Some(_) if is_late(past, history.header.nodes, of) => None,
        Some(sent_ns) => Some(sent_ns + longest_ns),
        None => (!granted).then_some(0),
    }
}

/// A grant of the key, or a fault: doubts before it do not count any more.
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

/// An attempt that ended in doubt although nothing kept its worker from the nodes.
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
    let since_ns = asked(past, op).map_or(0, |(requested_at_ns, _, _)| requested_at_ns);
    last_fault_ns(before).is_none_or(|fault_ns| fault_ns < since_ns)
        && reaches(before, history.header.nodes, worker)
}

/// Since when the key has been wanted without a long break, if a worker that reaches it asks for it now.
fn wanted_since(history: &History, past: &[Event], of_key: u32) -> Option<u64> {
    let patience_ns = history.header.progress_within_ms * 1_000_000 / 4;
    let nodes = history.header.nodes;
    let fault_at = past.iter().rposition(is_fault);
    let reached = |worker| reaches(past, nodes, worker);
    let mut asking: Vec<usize> = Vec::new();
    let (mut since_ns, mut denied_ns) = (None, None);
    for (index, event) in past.iter().enumerate() {
        match event.what {
            EventKind::Acquire { worker, key, .. } if key == of_key && reached(worker) => {
                let soon = denied_ns.is_some_and(|denied: u64| event.at_ns - denied <= patience_ns);
                if asking.is_empty() && !soon {
                    since_ns = Some(event.at_ns);
                }
                asking.push(worker);
            }
            EventKind::Refused { worker, .. } | EventKind::AcquireFailed { worker, .. }
                if asking.contains(&worker) =>
            {
                asking.retain(|other| *other != worker);
                denied_ns = Some(event.at_ns);
            }
            EventKind::Granted { worker, .. } | EventKind::WorkerDown { worker, .. }
                if asking.contains(&worker) =>
            {
                asking.retain(|other| *other != worker);
                denied_ns = None;
            }
            _ => {}
        }
        if fault_at == Some(index) {
            since_ns = Some(event.at_ns);
            denied_ns = None;
        }
    }
    since_ns.filter(|_| !asking.is_empty())
}
