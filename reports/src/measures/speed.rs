//! Latency and throughput per phase.

use hdrhistogram::Histogram;
use picklock_verdicts::latency::empty_histogram;
use picklock_verdicts::timeline::{Operation, OperationKind, OperationOutcome};

use super::phase::{Phase, Phases};

/// Latency and throughput of one phase.
#[derive(Debug, Clone)]
pub struct Speed {
    /// The phase.
    pub phase: Phase,
    /// Duration of the phase, in nanoseconds.
    pub length_ns: u64,
    /// Acquisitions, from request to grant; in an open loop, from the buyer's arrival.
    pub acquire: Outcomes,
    /// In an open loop, latencies of the same acquisitions from the request, in microseconds. Otherwise
    /// empty.
    pub from_request_us: Histogram<u64>,
    /// Releases, from request to reply.
    pub release: Outcomes,
}

/// The outcomes of one kind of request.
#[derive(Debug, Clone)]
pub struct Outcomes {
    /// Latencies of successful requests, in microseconds.
    pub latency_us: Histogram<u64>,
    /// Number of refused requests.
    pub refused: u64,
    /// Number of requests that ended in an error.
    pub failed: u64,
    /// Number of requests without a reply, because their worker died or the run ended.
    pub unanswered: u64,
}

impl Outcomes {
    fn new() -> Self {
        Outcomes {
            latency_us: empty_histogram(),
            refused: 0,
            failed: 0,
            unanswered: 0,
        }
    }

    fn count(&mut self, operation: &Operation) {
        match operation.outcome {
            OperationOutcome::Done => {
                let took_ns = operation.ended_at_ns.saturating_sub(operation.wanted_ns());
                self.latency_us.saturating_record(took_ns / 1_000);
            }
            OperationOutcome::Refused => self.refused += 1,
            OperationOutcome::Failed => self.failed += 1,
            OperationOutcome::Unanswered => self.unanswered += 1,
        }
    }
}

impl Speed {
    /// Returns the grants per second, or `None` if the phase has no duration.
    pub fn grants_per_s(&self) -> Option<f64> {
        let grants = self.acquire.latency_us.len();
        (self.length_ns > 0).then(|| grants as f64 / (self.length_ns as f64 / 1e9))
    }
}

/// Returns one entry per phase with a duration or with a request.
///
/// An operation belongs to the worst phase that it overlaps from its intended start: a buyer of an open loop
/// who queued during a fault counts as during the fault.
pub(super) fn speeds(operations: &[Operation], phases: &Phases) -> Vec<Speed> {
    let mut speeds = Phase::ALL.map(|phase| Speed {
        phase,
        length_ns: phases.length_ns(phase),
        acquire: Outcomes::new(),
        from_request_us: empty_histogram(),
        release: Outcomes::new(),
    });
    for operation in operations {
        let phase = phases.at(operation.wanted_ns(), operation.ended_at_ns);
        let speed = &mut speeds[phase as usize];
        match operation.kind {
            OperationKind::Acquire => {
                speed.acquire.count(operation);
                if operation.intended_ns.is_some() && operation.outcome == OperationOutcome::Done {
                    let took_ns = operation
                        .ended_at_ns
                        .saturating_sub(operation.requested_at_ns);
                    speed.from_request_us.saturating_record(took_ns / 1_000);
                }
            }
            OperationKind::Release => speed.release.count(operation),
        }
    }
    let seen = |speed: &Speed| {
        let any = |it: &Outcomes| it.latency_us.len() + it.refused + it.failed + it.unanswered > 0;
        speed.length_ns > 0 || any(&speed.acquire) || any(&speed.release)
    };
    speeds.into_iter().filter(seen).collect()
}
