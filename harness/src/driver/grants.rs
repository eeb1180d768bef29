//! The grants of one worker, and the events of its lock that belong to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tokio::sync::Notify;

use crate::adapter::message::Notification;
use crate::adapter::protocol_fault::ProtocolFault;
use crate::context::RunContext;
use crate::history::{EventKind, Misbehaviour};

/// The grants that the listener has received. With them, it finds the operation that an event belongs to.
#[derive(Default)]
pub(super) struct Grants {
    /// Operations by the hash of their token. The token itself may be as long as a line.
    pub(super) by_token: BTreeMap<u64, u64>,
    pub(super) lost: Vec<u64>,
    pub(super) pending: Option<(u64, u64)>,
    /// The latest request that was answered.
    pub(super) answered: u64,
    /// The latest operation whose grant is in the history.
    pub(super) recorded: u64,
    /// Events that came before the answer to a request, or before its grant was recorded. A thread that renews can be
    /// faster than the one that writes the answer.
    pub(super) early: Vec<Notification>,
}

impl Grants {
    pub(super) fn operation(&self, token: &str) -> Option<u64> {
        self.by_token.get(&digest(token)).copied()
    }

    /// Returns the id of the pending request, if there is one.
    pub(super) fn pending_id(&self) -> Option<u64> {
        self.pending
            .map(|(id, _)| id)
            .filter(|id| *id > self.answered)
    }

    /// Returns `true` if the grant of this operation is in the history.
    pub(super) fn is_recorded(&self, op: u64) -> bool {
        op <= self.recorded
    }

    /// Returns `true` if the event may belong to a grant that is not yet in the history.
    pub(super) fn is_early(&self, notification: &Notification) -> bool {
        match self.operation(notification.token()) {
            Some(op) => !self.is_recorded(op),
            None => self.pending_id().is_some(),
        }
    }
}

/// Returns a hash of a token. In practice, two tokens have the same hash only if they are equal.
pub(super) fn digest(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    hasher.finish()
}

/// Records an event of the lock. An event about a token that was never granted is a misbehaviour.
pub(super) fn record_notification<B>(
    context: &RunContext<B>,
    worker: usize,
    grants: &RefCell<Grants>,
    loss_report: &Notify,
    notification: Notification,
) {
    let known = grants.borrow().operation(notification.token());
    let Some(op) = known else {
        let event = notification.event();
        let fault = ProtocolFault::UnknownToken { event };
        record_misbehaviour(context, worker, Misbehaviour::OutOfTurn, fault.to_string());
        return;
    };
    // Events of the probe's own lease are not part of the run.
    if !is_worker_of_the_run(context, worker) {
        return;
    }
    let what = match notification {
        Notification::Extended {
            valid_ms,
            elapsed_ms,
            ..
        } => EventKind::Extended {
            worker,
            op,
            valid_ms,
            elapsed_ms,
        },
        Notification::Lost { .. } => {
            grants.borrow_mut().lost.push(op);
            EventKind::Lost { worker, op }
        }
    };
    let is_lost = matches!(what, EventKind::Lost { .. });
    context.recorder.write(what);
    if is_lost {
        loss_report.notify_one();
    }
}

/// Returns `false` for the client that takes the locks after the run. Its number comes after the numbers of the
/// workers.
fn is_worker_of_the_run<B>(context: &RunContext<B>, worker: usize) -> bool {
    worker < context.spec.scenario.workload.workers
}

/// Records misbehaviour of a worker. The client that takes the locks after the run does not belong
/// to the run's workers: if it misbehaves, the final inspection has failed.
pub(super) fn record_misbehaviour<B>(
    context: &RunContext<B>,
    worker: usize,
    kind: Misbehaviour,
    detail: String,
) {
    let what = if is_worker_of_the_run(context, worker) {
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        }
    } else {
        EventKind::FinalInspectionFailed { reason: detail }
    };
    context.recorder.write(what);
}
