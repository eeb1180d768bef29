//! Requests that ended in an error, although no fault and no stall can be the reason.
//!
//! Such an error violates no property: the protocol allows a lock to fail, and Picklock then assumes nothing about the
//! request. But users of the lock get the error as well, so a run reports these errors as warnings.
//!
//! An error counts if all of this holds:
//!
//! - It is not definite. A lock that states that its request had no effect has decided so.
//! - Nothing disturbed the client: no fault, no stall and no wait for a CPU overlaps the request. For a holder's
//!   request, the time since it requested the lock counts.
//! - If there was a fault before, the client has since been answered without an error. Its connections may have been
//!   broken until then.
//! - The holder's lease was not over. A lock may answer with an error that its client no longer holds it.
//! - The client did not cancel its request, and its section did not fail.
//!
//! If something went wrong at an unknown time, for example a node was lost, no error counts.

use std::collections::{BTreeMap, HashMap};

use crate::check::inconclusive::FailedRequests;
use crate::check::stalls::disturbances::Disturbances;
use crate::check::warning::{WarnedRequest, Warning, WarningKind};
use crate::history::{EventKind, History};
use crate::timeline::Timeline;

/// Returns the warnings about failed requests, by request.
pub fn failures_without_fault(history: &History) -> Vec<Warning> {
    let is_unclear = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::NodeLost { .. }
                | EventKind::ResourceExhausted { .. }
                | EventKind::ClientRefused { .. }
                | EventKind::ClientGone { .. }
                | EventKind::FaultNotUndone { .. }
                | EventKind::UnrequestedFailover { .. }
                | EventKind::CommandUnknown { .. }
                | EventKind::SentinelsRefused { .. }
                | EventKind::BackendUnsupported { .. }
        )
    };
    let kinds = || history.events.iter().map(|event| &event.what);
    let has_failed = |kind: &EventKind| failure(kind).is_some_and(|(_, definite)| !definite);
    if !kinds().any(has_failed) || kinds().any(is_unclear) {
        return Vec::new();
    }
    let timeline = Timeline::new(history);
    let holds = timeline.holds().iter();
    let mut counter = Counter {
        disturbances: Disturbances::new(&timeline),
        lease_ends_ns: holds.map(|hold| (hold.op, hold.deadline_ns)).collect(),
        open: HashMap::new(),
        answered_since_ns: vec![0; history.header.workers],
        counts: BTreeMap::new(),
    };
    for event in &history.events {
        counter.event(event.at_ns, &event.what);
    }
    counter.counts.into_iter().filter_map(warning).collect()
}

/// Returns the message of an error, and whether it is definite.
fn failure(kind: &EventKind) -> Option<(&str, bool)> {
    match kind {
        EventKind::AcquireFailed {
            message, definite, ..
        }
        | EventKind::ExtendFailed {
            message, definite, ..
        }
        | EventKind::ActFailed {
            message, definite, ..
        }
        | EventKind::ReleaseFailed {
            message, definite, ..
        } => Some((message, *definite)),
        _ => None,
    }
}

/// Returns the request that an event answers.
fn answered(kind: &EventKind) -> Option<WarnedRequest> {
    match kind {
        EventKind::Granted { .. } | EventKind::Refused { .. } | EventKind::AcquireFailed { .. } => {
            Some(WarnedRequest::Acquire)
        }
        EventKind::ExtendGranted { .. }
        | EventKind::ExtendRefused { .. }
        | EventKind::ExtendFailed { .. } => Some(WarnedRequest::Extend),
        EventKind::MayAct { .. } | EventKind::ActFailed { .. } => Some(WarnedRequest::Act),
        EventKind::Released { .. } | EventKind::ReleaseFailed { .. } => {
            Some(WarnedRequest::Release)
        }
        _ => None,
    }
}

/// An attempt that has not ended.
#[derive(Debug, Clone, Copy)]
struct OpenAttempt {
    acquire_ns: u64,
    /// When its latest request was sent.
    requested_at_ns: u64,
    /// Whether the client cancelled its request, or its section failed.
    is_abandoned: bool,
}

/// The undisturbed requests of one kind.
#[derive(Debug, Default)]
struct Count {
    requests: u64,
    /// The failed requests, and when the first error arrived.
    failed: Option<(FailedRequests, u64)>,
}

struct Counter {
    disturbances: Disturbances,
    /// The last known end of each holder's lease, by attempt.
    lease_ends_ns: HashMap<u64, u64>,
    open: HashMap<u64, OpenAttempt>,
    /// For each worker, when the latest request was sent that was answered without an error.
    answered_since_ns: Vec<u64>,
    counts: BTreeMap<WarnedRequest, Count>,
}

impl Counter {
    fn event(&mut self, at_ns: u64, kind: &EventKind) {
        let Some((worker, op)) = kind.attempt() else {
            return;
        };
        match kind {
            EventKind::Acquire { .. } => {
                let attempt = OpenAttempt {
                    acquire_ns: at_ns,
                    requested_at_ns: at_ns,
                    is_abandoned: false,
                };
                self.open.insert(op, attempt);
            }
            EventKind::Extend { .. } | EventKind::Act { .. } | EventKind::Release { .. } => {
                if let Some(attempt) = self.open.get_mut(&op) {
                    attempt.requested_at_ns = at_ns;
                }
            }
            EventKind::Cancel { .. } | EventKind::SectionFailed { .. } => {
                if let Some(attempt) = self.open.get_mut(&op) {
                    attempt.is_abandoned = true;
                }
            }
            _ => {}
        }
        let (Some(request), Some(attempt)) = (answered(kind), self.open.get(&op).copied()) else {
            return;
        };
        self.answer(at_ns, (worker, op), request, &attempt, failure(kind));
        let is_over = match kind {
            EventKind::Refused { .. } | EventKind::AcquireFailed { .. } => true,
            _ => request == WarnedRequest::Release,
        };
        if is_over {
            self.open.remove(&op);
        }
    }

    fn answer(
        &mut self,
        at_ns: u64,
        (worker, op): (usize, u64),
        request: WarnedRequest,
        attempt: &OpenAttempt,
        failure: Option<(&str, bool)>,
    ) {
        let answered_since_ns = self.answered_since_ns.get(worker).copied().unwrap_or(0);
        if failure.is_none()
            && let Some(since_ns) = self.answered_since_ns.get_mut(worker)
        {
            *since_ns = (*since_ns).max(attempt.requested_at_ns);
        }
        let lease_end_ns = self.lease_ends_ns.get(&op).copied();
        let is_holders = request != WarnedRequest::Acquire;
        let is_lease_over = is_holders && lease_end_ns.is_none_or(|end_ns| end_ns <= at_ns);
        let span = (attempt.acquire_ns, at_ns);
        let is_recovered = self
            .disturbances
            .last_fault_end_ns(attempt.acquire_ns)
            .is_none_or(|end_ns| end_ns <= answered_since_ns || failure.is_none());
        if attempt.is_abandoned
            || is_lease_over
            || !is_recovered
            || self.disturbances.overlap(worker, span)
        {
            return;
        }
        let count = self.counts.entry(request).or_default();
        count.requests += 1;
        if let Some((message, false)) = failure {
            let first = || (FailedRequests::new(message), at_ns);
            count.failed.get_or_insert_with(first).0.count += 1;
        }
    }
}

fn warning((request, count): (WarnedRequest, Count)) -> Option<Warning> {
    let (failed, first_at_ns) = count.failed?;
    let kind = WarningKind::FailedWithoutFault {
        request,
        count: failed.count,
        of: count.requests,
        first: failed.first,
        first_at_ns,
    };
    Some(kind.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;

    const HEADER: &str = r#"{"format":"picklock-history/1","scenario":"q","lock":"s","backend":"sim","seed":1,"workers":2,"nodes":1,"keys":["k"],"ttl_ms":1000,"stock_start":2,"update":"decrement","min_grants":1,"progress_within_ms":6000}"#;

    /// Returns the warnings about a history. Each event is its time in milliseconds, its attempt and its fields.
    fn texts(events: &[(u64, u64, &str)]) -> Vec<String> {
        let line = |(at_ms, op, fields): &(u64, u64, &str)| {
            format!(r#"{{"at_ns":{at_ms}000000,"worker":0,"op":{op},"event":{fields}}}"#)
        };
        let lines: Vec<String> = events.iter().map(line).collect();
        let text = format!("{HEADER}\n{}", lines.join("\n"));
        let history = read_history(text.as_bytes()).unwrap();
        failures_without_fault(&history)
            .into_iter()
            .map(|one| one.text)
            .collect()
    }

    const ACQUIRE: &str = r#""acquire","key":0,"ttl_ms":1000,"wait_ms":0"#;
    const GRANTED: &str = r#""granted","token":"t""#;
    const RELEASE: &str = r#""release""#;
    const RELEASED: &str = r#""released","released":true"#;
    const FAILED: &str = r#""acquire-failed","message":"null","definite":false"#;
    const RELEASE_FAILED: &str = r#""release-failed","message":"gone","definite":false"#;
    const FAULT: &str = r#""fault-began","id":1,"fault":"cut","detail":"cut""#;
    const FAULT_ENDED: &str = r#""fault-ended","id":1"#;

    #[test]
    fn errors_of_an_undisturbed_client_are_warnings() {
        let found = texts(&[
            (1, 1, ACQUIRE),
            (2, 1, FAILED),
            (3, 2, ACQUIRE),
            (4, 2, GRANTED),
            (5, 2, RELEASE),
            (6, 2, RELEASE_FAILED),
        ]);
        assert_eq!(
            found,
            [
                "1 of 2 acquire requests failed although no fault or stall can be the reason, with: null",
                "the only release request failed although no fault or stall can be the reason, with: gone",
            ]
        );
    }

    #[test]
    fn definite_error_is_not_a_warning() {
        let failed = r#""acquire-failed","message":"odd lease","definite":true"#;
        assert!(texts(&[(1, 1, ACQUIRE), (2, 1, failed)]).is_empty());
    }

    #[test]
    fn error_after_the_end_of_the_lease_is_not_a_warning() {
        let end_at = |at_ms| {
            texts(&[
                (1, 1, ACQUIRE),
                (2, 1, GRANTED),
                (900, 1, RELEASE),
                (at_ms, 1, RELEASE_FAILED),
            ])
        };
        assert_eq!(end_at(950).len(), 1);
        assert!(end_at(1001).is_empty());
    }

    /// A client may find out only at its next request that a fault broke its connection.
    #[test]
    fn fault_excuses_errors_until_the_client_is_answered_again() {
        let after = |first: &'static str, more: &[(u64, u64, &'static str)]| {
            let mut events = vec![
                (1, 0, FAULT),
                (2, 0, FAULT_ENDED),
                (500, 1, ACQUIRE),
                (501, 1, first),
            ];
            events.extend(more);
            texts(&events)
        };
        assert!(after(FAILED, &[]).is_empty());
        let later = [
            (502, 1, RELEASE),
            (503, 1, RELEASED),
            (504, 2, ACQUIRE),
            (505, 2, FAILED),
        ];
        assert_eq!(after(GRANTED, &later).len(), 1);
        assert!(texts(&[(1, 0, FAULT), (2, 1, ACQUIRE), (3, 1, FAILED)]).is_empty());
    }

    #[test]
    fn stall_during_the_request_excuses_its_error() {
        let stalled = r#""harness-stalled","late_ms":20"#;
        let events =
            |stall_ms| texts(&[(100, 1, ACQUIRE), (101, 1, FAILED), (stall_ms, 0, stalled)]);
        assert!(events(110).is_empty());
        assert_eq!(events(200).len(), 1);
    }
}
