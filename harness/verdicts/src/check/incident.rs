//! Incidents: events that show that the harness, the machine, the lock or its adapter did not work as planned.
//!
//! An incident can make a run inconclusive ([`reason_for`]), and reports list it ([`describe_incident`]). Both use the
//! words of [`inconclusive`](super::inconclusive).

use crate::history::{EndReason, EndedBy, EventKind, Misbehaviour};

use super::inconclusive::{Component, InconclusiveReason, stalled};

/// Returns why a run with this event is inconclusive, or `None` if the event alone does not make it so.
pub fn reason_for(what: &EventKind) -> Option<InconclusiveReason> {
    Some(match what.clone() {
        EventKind::FaultMissed {
            fault,
            reason,
            optional: false,
            because,
        } => InconclusiveReason::FaultMissed {
            fault,
            reason,
            because,
        },
        EventKind::FaultNotUndone { what, reason } => {
            InconclusiveReason::FaultNotUndone { what, reason }
        }
        EventKind::BackendUnsupported { backend, supported } => {
            InconclusiveReason::BackendUnsupported { backend, supported }
        }
        EventKind::CommandUnknown { command } => InconclusiveReason::CommandUnknown { command },
        EventKind::ExtensionUntested { unsupported } => {
            InconclusiveReason::ExtensionUntested { unsupported }
        }
        EventKind::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        } => InconclusiveReason::LeaseRefused {
            ttl_ms,
            granted_ms,
            message,
        },
        EventKind::NotOffered { feature } => InconclusiveReason::NotOffered { feature },
        EventKind::SentinelsRefused { message } => InconclusiveReason::SentinelsRefused { message },
        EventKind::StockUnknown { reason } => InconclusiveReason::StockUnknown { reason },
        EventKind::FinalInspectionFailed { reason } => {
            InconclusiveReason::FinalInspectionFailed { reason }
        }
        EventKind::NodeLost { node, reason } => InconclusiveReason::NodeLost { node, reason },
        EventKind::GrantWithoutCommand { worker, nodes, .. } => {
            InconclusiveReason::OtherServers { worker, nodes }
        }
        EventKind::UnrequestedFailover { node } => InconclusiveReason::UnrequestedFailover { node },
        EventKind::FreezeBreach {
            worker,
            node,
            arrived_at_ns,
            ..
        } => InconclusiveReason::FreezeBreach {
            worker,
            node,
            arrived_at_ns,
        },
        EventKind::ResourceExhausted { reason } => {
            InconclusiveReason::ResourceExhaustion { reason }
        }
        EventKind::ClientGone { worker, sent } => InconclusiveReason::ClientGone { worker, sent },
        EventKind::ClientRefused {
            worker,
            user,
            served,
        } => InconclusiveReason::ClientRefused {
            worker,
            user,
            served,
        },
        EventKind::BudgetSpent { budget, most } => InconclusiveReason::BudgetSpent { budget, most },
        EventKind::End {
            reason: EndReason::Interrupted,
            ..
        } => InconclusiveReason::Interrupted,
        _ => return None,
    })
}

/// Describes an incident for a list, or returns `None` if the event is not an incident. `locks` has the names of the locks.
pub fn describe_incident(event: &EventKind, locks: &[String]) -> Option<String> {
    Some(match event {
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        } => match kind {
            Misbehaviour::Garbage | Misbehaviour::OutOfTurn => {
                format!("worker {worker} broke the adapter protocol: {detail}")
            }
            Misbehaviour::Hung => format!("worker {worker} hung: {detail}"),
        },
        EventKind::WorkerDown {
            worker,
            by_fault: false,
            reason,
            ended_by,
        } => EndedBy::describe(*ended_by, *worker, reason),
        EventKind::UndeclaredKey { command, key, .. } => format!(
            "a script of {command} changed the undeclared key {}: Redis Cluster and Dragonfly reject that",
            key.text(locks)
        ),
        EventKind::HarnessStalled { late_ms } => stalled("the harness", *late_ms),
        EventKind::NodeStalled {
            node, stalled_ms, ..
        } => without_a_fault(Component::Node(*node), *stalled_ms),
        EventKind::WorkerStalled {
            worker, stalled_ms, ..
        } => without_a_fault(Component::Worker(*worker), *stalled_ms),
        EventKind::KeyHistoryIncomplete { reason } => {
            format!("the key history is incomplete: {reason}")
        }
        // Faults and delays have their own lists, and an interruption by the user is not an incident.
        EventKind::FaultMissed { .. } | EventKind::WorkerDelayed { .. } | EventKind::End { .. } => {
            return None;
        }
        other => reason_for(other)?.to_string(),
    })
}

fn without_a_fault(who: Component, length_ms: u64) -> String {
    format!("{} without a fault", stalled(who, length_ms))
}
