//! When each attempt of a history was requested, answered and ended.

use std::collections::HashMap;

use crate::history::{EventKind, History};
use crate::timeline::ns_from_ms;

/// An attempt to take a lock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AttemptTimes {
    pub(super) worker: usize,
    pub(super) lock: u32,
    pub(super) ttl_ns: u64,
    pub(super) requested_at_ns: u64,
    /// When it was refused, or ended in an error.
    pub(super) denied_ns: Option<u64>,
    /// Whether it was answered without a command to any node.
    pub(super) is_silent: bool,
    /// Whether it ended without a definite answer.
    pub(super) in_doubt: bool,
    pub(super) refused_ns: Option<u64>,
    pub(super) granted_ns: Option<u64>,
    /// When its release was requested.
    pub(super) released_ns: Option<u64>,
    /// When the release was answered, with whatever result.
    pub(super) answered_ns: Option<u64>,
    /// Whether that answer had no result.
    pub(super) is_answer_silent: bool,
    /// When its client died, if no release had been requested before.
    pub(super) ended_ns: Option<u64>,
    /// When the run ended its client, if it had no answer by then.
    pub(super) stopped_ns: Option<u64>,
}

/// Returns the attempts of a history by their numbers.
pub(super) fn attempt_times(history: &History) -> HashMap<u64, AttemptTimes> {
    let mut attempts: HashMap<u64, AttemptTimes> = HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire {
                worker,
                op,
                key,
                ttl_ms,
                ..
            } => {
                let attempt = AttemptTimes {
                    worker,
                    lock: key,
                    ttl_ns: ns_from_ms(ttl_ms),
                    requested_at_ns: event.at_ns,
                    ..AttemptTimes::default()
                };
                attempts.insert(op, attempt);
            }
            EventKind::WorkerDown { worker, .. } => {
                let own = attempts.values_mut().filter(|it| it.worker == worker);
                for attempt in own.filter(|attempt| attempt.released_ns.is_none()) {
                    attempt.ended_ns.get_or_insert(event.at_ns);
                }
            }
            EventKind::CommandsSent { .. } => {
                for attempt in attempts.values_mut() {
                    let answered_ns = attempt.denied_ns.or(attempt.granted_ns);
                    attempt.stopped_ns = answered_ns.is_none().then_some(event.at_ns);
                }
            }
            _ => {
                let id = event.what.attempt();
                let Some(attempt) = id.and_then(|(_, op)| attempts.get_mut(&op)) else {
                    continue;
                };
                let at_ns = Some(event.at_ns);
                match event.what {
                    EventKind::AcquireFailed { definite, .. } => {
                        attempt.in_doubt |= !definite;
                        attempt.denied_ns = at_ns;
                    }
                    EventKind::Refused { .. } => {
                        (attempt.refused_ns, attempt.denied_ns) = (at_ns, at_ns);
                    }
                    EventKind::IdleWhileWaiting {
                        no_command: true, ..
                    } => attempt.is_silent = true,
                    EventKind::Granted { .. } => attempt.granted_ns = at_ns,
                    EventKind::Release { .. } => attempt.released_ns = at_ns,
                    EventKind::Released { released, .. } => {
                        attempt.answered_ns = at_ns;
                        attempt.is_answer_silent = released.is_none();
                    }
                    _ => {}
                }
            }
        }
    }
    attempts
}
