//! Who got the lock how often, and who waited longest.

use picklock_verdicts::timeline::{Operation, OperationKind, OperationOutcome};

use super::waits::{LongestWait, Waits};

/// How evenly the lock was shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Fairness {
    /// Grants of each worker, by number.
    pub grants: Vec<u64>,
    /// How many workers asked for a lock at all.
    pub asked: usize,
    /// Jain's index over the workers that asked: 1 for equal shares, 1/n if one got everything (R.
    /// Jain, D. Chiu, W. Hawe, 1984). `None` if no worker got anything.
    pub jain: Option<f64>,
    /// The longest wait of a worker for one key.
    pub longest_wait: Option<LongestWait>,
}

pub(super) fn of(workers: usize, operations: &[Operation]) -> Fairness {
    let mut grants = vec![0_u64; workers];
    let mut asked = vec![false; workers];
    let mut waits = Waits::default();
    let mut longest: Option<LongestWait> = None;
    let operations = operations.iter();
    for operation in operations.filter(|one| one.kind == OperationKind::Acquire) {
        let worker = operation.worker;
        if let (Some(grants), Some(asked)) = (grants.get_mut(worker), asked.get_mut(worker)) {
            *asked = true;
            *grants += u64::from(operation.outcome == OperationOutcome::Done);
        }
        let wait = waits.over(operation);
        if longest.is_none_or(|longest| wait.waited_ns > longest.waited_ns) {
            longest = Some(wait);
        }
    }
    let sharers = grants.iter().zip(&asked);
    let sharers = sharers.filter_map(|(grants, asked)| asked.then_some(*grants));
    let sharers: Vec<u64> = sharers.collect();
    Fairness {
        asked: sharers.len(),
        jain: jain(&sharers),
        grants,
        longest_wait: longest,
    }
}

/// Jain's fairness index; `None` if all shares are 0.
fn jain(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
