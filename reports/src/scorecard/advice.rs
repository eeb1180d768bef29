//! Recommends a lock for each purpose, based on the results, and explains the recommendation.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::slice;

use picklock_scenarios::{BackendName, Cause, Family, LockKind};
use serde::Serialize;

use super::lock_score::LockScore;
use super::outcome::ScenarioScore;

/// The purpose of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The protected resource must never be damaged, whatever a client does.
    Money,
    /// Work that should not be done twice, but occasionally may be.
    CronJob,
    /// Work that must continue while some of the servers are unavailable.
    Uptime,
}

/// The recommendation for a purpose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// This lock is recommended.
    Lock {
        /// Its name, with its options.
        #[serde(rename = "impl")]
        lock: String,
        /// Causes in Redis that must not occur, because they damaged the stock.
        given_no: BTreeSet<Cause>,
        /// Number of other locks that were tested enough to be considered.
        others: usize,
        /// Number of these other locks that are not good enough.
        unfit: usize,
        /// The basis of the recommendation.
        basis: Basis,
    },
    /// None of the tested locks is good enough.
    NoneFits {
        /// The lock that comes closest.
        closest: String,
    },
    /// No lock was tested in the decisive scenarios.
    NotTried {
        /// Families of scenarios that are missing. Empty if the scenarios that measure the property are
        /// missing.
        missing: Vec<Family>,
    },
}

/// The basis of a recommendation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// Number of scenarios in which the lock was judged.
    pub scenarios: usize,
    /// Number of runs of these scenarios.
    pub runs: u64,
    /// Backends in which the runs took place.
    pub backends: BTreeSet<BackendName>,
    /// Families of scenarios in which the lock was not tested.
    pub untested: Vec<Family>,
}

impl Purpose {
    /// All purposes, in the order of reports.
    pub const ALL: [Purpose; 3] = [Purpose::Money, Purpose::CronJob, Purpose::Uptime];

    /// Returns the families that must be tested before a lock is recommended.
    fn required_families(self) -> &'static [Family] {
        match self {
            Purpose::Money => &[Family::Clients, Family::Nodes, Family::Network],
            Purpose::CronJob => &[Family::Load, Family::Clients, Family::Network],
            Purpose::Uptime => &[],
        }
    }

    /// Returns `true` if the lock lets one client in at a time, and was tested enough. Each purpose needs such a lock.
    fn is_tested(self, score: &LockScore) -> bool {
        let mut families = self.required_families().iter();
        let is_measured = score.costs.granted_without_minority.is_some();
        score.kind == LockKind::Mutex
            && families.all(|family| score.is_judged_in(*family))
            && (self != Purpose::Uptime || is_measured)
    }

    /// Returns `true` if the lock is good enough.
    fn fits(self, score: &LockScore) -> bool {
        let harmed_by =
            |whose: &[ScenarioScore]| whose.iter().any(|it| score.harmed.contains_key(it));
        let is_its_own = !score.scenarios(ScenarioScore::Lock).is_empty()
            || harmed_by(&[ScenarioScore::Lock, ScenarioScore::Undetermined]);
        match self {
            Purpose::Money => !is_its_own && !harmed_by(&[ScenarioScore::Client]),
            Purpose::CronJob => !is_its_own && score.progresses,
            Purpose::Uptime => !is_its_own && score.costs.granted_without_minority > Some(0.0),
        }
    }

    /// Returns the sort key of locks that are good enough. The smallest key is the best.
    fn order(self, score: &LockScore) -> [f64; 4] {
        let of_lock = |(whose, _): &(&ScenarioScore, _)| **whose != ScenarioScore::Outside;
        let harmed = score.harmed.iter().filter(of_lock);
        let harmed: usize = harmed.map(|(_, names)| names.len()).sum();
        let [own, lost, price] = score.rank();
        match self {
            Purpose::Money => [harmed as f64, lost, own, price],
            // The price counts before the number of lost scenarios.
            Purpose::CronJob => [own, price, lost, 0.0],
            Purpose::Uptime => {
                let granted = score.costs.granted_without_minority.unwrap_or(0.0);
                [-granted, lost, own, price]
            }
        }
    }
}

/// Chooses a lock for a purpose, and returns its score if one is chosen. The scores are in the order of the
/// matrix, and the first of equals wins.
pub(super) fn choose(purpose: Purpose, scores: &[LockScore]) -> (Choice, Option<&LockScore>) {
    let tested = || scores.iter().filter(|score| purpose.is_tested(score));
    let best = |fits: &dyn Fn(&LockScore) -> bool| -> Option<&LockScore> {
        let fitting = tested().filter(|score| fits(score));
        fitting.min_by(|one, other| {
            let [one, other] = [one, other].map(|score| purpose.order(score));
            one.partial_cmp(&other).unwrap_or(Ordering::Equal)
        })
    };
    let chosen = best(&|score| purpose.fits(score));
    let choice = match (chosen, best(&|_| true)) {
        (Some(score), _) => Choice::Lock {
            lock: score.lock.clone(),
            given_no: match purpose {
                Purpose::Money => score.harmed_by.clone(),
                Purpose::CronJob | Purpose::Uptime => BTreeSet::new(),
            },
            others: tested().count() - 1,
            unfit: tested().filter(|score| !purpose.fits(score)).count(),
            basis: basis(purpose, score),
        },
        (None, Some(closest)) => Choice::NoneFits {
            closest: closest.lock.clone(),
        },
        (None, None) => {
            let missing = untested(purpose.required_families(), scores);
            Choice::NotTried { missing }
        }
    };
    (choice, chosen)
}

fn basis(purpose: Purpose, score: &LockScore) -> Basis {
    let (scenarios, runs) = match purpose {
        Purpose::Money => (score.checked, score.checked_runs),
        Purpose::CronJob | Purpose::Uptime => (score.all.judged, score.runs),
    };
    Basis {
        scenarios,
        runs,
        backends: score.backends.clone(),
        untested: untested(&Family::ALL, slice::from_ref(score)),
    }
}

/// Returns the families in which none of these locks was judged.
pub(super) fn untested(families: &[Family], scores: &[LockScore]) -> Vec<Family> {
    let is_untested = |family: &Family| !scores.iter().any(|it| it.is_judged_in(*family));
    families.iter().copied().filter(is_untested).collect()
}
