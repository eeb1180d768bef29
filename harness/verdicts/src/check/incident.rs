//! Incidents: events that show that the harness, the machine, the lock or its adapter did not work as planned.
//!
//! An incident can make a run inconclusive ([`reason_for`]), and reports list it ([`describe_incident`]). Both use the
//! wording of [`inconclusive`](super::inconclusive).

use crate::history::{EndReason, EndedBy, EventKind, Misbehaviour};

use super::inconclusive::{Component, InconclusiveReason, stalled};

/// Declares which events are reasons by themselves. The event and its reason have the same field names.
macro_rules! reasons_of_events {
    ($($event:ident => $reason:ident { $($field:ident),* };)*) => {
        /// Returns the reason that has the fields of this event, or `None` if the event alone is not a reason.
        fn reason_with_same_fields(event: &EventKind) -> Option<InconclusiveReason> {
            match event {
                $(EventKind::$event { $($field,)* .. } => {
                    Some(InconclusiveReason::$reason { $($field: Clone::clone($field)),* })
                })*
                _ => None,
            }
        }
    };
}

reasons_of_events! {
    BackendUnsupported => BackendUnsupported { backend, supported };
    BudgetSpent => BudgetSpent { budget, most };
    ClientGone => ClientGone { worker, sent };
    ClientRefused => ClientRefused { worker, user, served };
    CommandUnknown => CommandUnknown { command };
    ExtensionUntested => ExtensionUntested { unsupported };
    FaultNotUndone => FaultNotUndone { what, reason };
    FinalInspectionFailed => FinalInspectionFailed { reason };
    FreezeBreach => FreezeBreach { worker, node, arrived_at_ns };
    GrantWithoutCommand => OtherServers { worker, nodes };
    LeaseRefused => LeaseRefused { ttl_ms, granted_ms, message };
    NodeLost => NodeLost { node, reason };
    NotOffered => NotOffered { feature };
    ResourceExhausted => ResourceExhaustion { reason };
    SentinelsRefused => SentinelsRefused { message };
    StockUnknown => StockUnknown { reason };
    UnrequestedFailover => UnrequestedFailover { node };
}

/// Returns why a run with this event is inconclusive, or `None` if the event alone does not make it so.
pub(super) fn reason_for(event: &EventKind) -> Option<InconclusiveReason> {
    match event {
        EventKind::FaultMissed {
            fault,
            reason,
            optional: false,
            because,
        } => Some(InconclusiveReason::FaultMissed {
            fault: fault.clone(),
            reason: reason.clone(),
            because: *because,
        }),
        EventKind::Misbehaved {
            worker,
            kind: Misbehaviour::Stopped,
            ..
        } => Some(InconclusiveReason::WorkerStopped { worker: *worker }),
        EventKind::End {
            reason: EndReason::Interrupted,
            ..
        } => Some(InconclusiveReason::Interrupted),
        other => reason_with_same_fields(other),
    }
}

/// Describes an incident for a list, or returns `None` if the event is not an incident. `locks` contains the names of
/// the locks.
pub fn describe_incident(event: &EventKind, locks: &[String]) -> Option<String> {
    Some(match event {
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        } => match kind {
            Misbehaviour::Garbage | Misbehaviour::OutOfTurn => {
                format!("client {worker} broke the adapter protocol: {detail}")
            }
            Misbehaviour::Hung | Misbehaviour::Stopped => {
                format!("client {worker} hung: {detail}")
            }
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
        EventKind::KeyHistoryIncomplete { reason, .. } => {
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
