//! How long the lock took and how much got through, phase by phase.

use hdrhistogram::Histogram;

use super::operation::{Asked, Outcome, Request};
use super::phase::{Phase, Phases};

/// The longest latency that is told apart, microseconds.
const LONGEST_US: u64 = 3_600_000_000;

/// Latency and throughput of one phase.
#[derive(Debug, Clone)]
pub struct Speed {
    /// Which phase.
    pub phase: Phase,
    /// How long the run was in it, nanoseconds.
    pub length_ns: u64,
    /// Acquisitions, from request to grant; in an open loop from the buyer's coming.
    pub acquire: Operation,
    /// In an open loop: latencies of the same acquisitions from the request, microseconds; else
    /// nothing is in it.
    pub asked_us: Histogram<u64>,
    /// Releases, from request to answer.
    pub release: Operation,
}

/// One kind of request.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Latencies of those that succeeded, microseconds.
    pub latency_us: Histogram<u64>,
    /// How many were refused.
    pub refused: u64,
    /// How many ended in an error.
    pub failed: u64,
    /// How many were never answered: their worker died, or the run ended.
    pub unanswered: u64,
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, 3)
        .expect("the bounds are constants that the histogram accepts")
}

impl Operation {
    fn new() -> Self {
        Operation {
            latency_us: empty(),
            refused: 0,
            failed: 0,
            unanswered: 0,
        }
    }

    fn take(&mut self, request: &Request) {
        match request.outcome {
            Outcome::Done => {
                let took_ns = request.over_ns.saturating_sub(request.wanted_ns());
                self.latency_us.saturating_record(took_ns / 1_000);
            }
            Outcome::Refused => self.refused += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Unanswered => self.unanswered += 1,
        }
    }
}

impl Speed {
    fn take_asked(&mut self, request: &Request) {
        if request.intended_ns.is_some() && request.outcome == Outcome::Done {
            let took_ns = request.over_ns.saturating_sub(request.asked_ns);
            self.asked_us.saturating_record(took_ns / 1_000);
        }
    }

    /// Grants a second while the phase lasted; `None` if it had no length.
    pub fn grants_per_s(&self) -> Option<f64> {
        let grants = self.acquire.latency_us.len();
        (self.length_ns > 0).then(|| grants as f64 / (self.length_ns as f64 / 1e9))
    }
}

/// One for each phase that lasted, or in which something was asked.
///
/// What belongs to which phase goes by all of the time in which it was wanted: whoever stood in the
/// line of an open loop while a fault was on has met it.
pub(super) fn speeds(requests: &[Request], phases: &Phases) -> Vec<Speed> {
    let mut speeds = Phase::ALL.map(|phase| Speed {
        phase,
        length_ns: phases.length_ns(phase),
        acquire: Operation::new(),
        asked_us: empty(),
        release: Operation::new(),
    });
    for request in requests {
        let phase = phases.of_span(request.wanted_ns(), request.over_ns);
        let speed = &mut speeds[phase as usize];
        match request.asked {
            Asked::ToAcquire => {
                speed.acquire.take(request);
                speed.take_asked(request);
            }
            Asked::ToRelease => speed.release.take(request),
        }
    }
    let seen = |speed: &Speed| {
        let met = |of: &Operation| of.latency_us.len() + of.refused + of.failed + of.unanswered > 0;
        speed.length_ns > 0 || met(&speed.acquire) || met(&speed.release)
    };
    speeds.into_iter().filter(seen).collect()
}
