//! The number of grants per worker, and the longest wait.

use picklock_verdicts::timeline::{Operation, OperationKind, OperationOutcome};

use super::waits::{LongestWait, Waits};

/// How evenly the lock was shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Fairness {
    /// Number of grants per worker.
    pub grants: Vec<u64>,
    /// Number of workers that requested a lock.
    pub requesters: usize,
    /// Jain's index over the workers that requested the lock: 1 for equal shares, 1/n if one worker got every
    /// grant (R. Jain, D. Chiu, W. Hawe, 1984). `None` if there was no grant.
    pub jain: Option<f64>,
    /// The longest wait of a worker for one key.
    pub longest_wait: Option<LongestWait>,
}

pub(super) fn fairness(workers: usize, operations: &[Operation]) -> Fairness {
    let mut grants = vec![0_u64; workers];
    let mut has_requested = vec![false; workers];
    let mut waits = Waits::default();
    let mut longest: Option<LongestWait> = None;
    let operations = operations.iter();
    for operation in operations.filter(|one| one.kind == OperationKind::Acquire) {
        let worker = operation.worker;
        if let (Some(grants), Some(requested)) =
            (grants.get_mut(worker), has_requested.get_mut(worker))
        {
            *requested = true;
            *grants += u64::from(operation.outcome == OperationOutcome::Done);
        }
        let wait = waits.end_request(operation);
        if longest.is_none_or(|longest| wait.waited_ns > longest.waited_ns) {
            longest = Some(wait);
        }
    }
    let sharers: Vec<u64> = (grants.iter().zip(&has_requested))
        .filter_map(|(grants, requested)| requested.then_some(*grants))
        .collect();
    Fairness {
        requesters: sharers.len(),
        jain: jain(&sharers),
        grants,
        longest_wait: longest,
    }
}

/// Returns Jain's fairness index, or `None` if all shares are 0.
fn jain(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
