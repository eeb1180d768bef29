//! Which lock is for what: computed from what came out, and said with what it rests on.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::slice;

use picklock_scenarios::{BackendName, Cause, Family};
use serde::Serialize;

use super::lock_score::LockScore;
use super::outcome::ScenarioScore;

/// What somebody needs a lock for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// What the lock protects must not come to harm, whatever a client does.
    Money,
    /// Work that should not be done twice, and may be now and then.
    CronJob,
    /// Work that must go on while some of the servers are gone.
    Uptime,
}

/// Which lock is named.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// This one.
    Lock {
        /// Its name, with its options.
        #[serde(rename = "impl")]
        lock: String,
        /// What Redis must not do, because the stock came to harm by it.
        given_no: BTreeSet<Cause>,
        /// How many other locks were tried enough to be named.
        others: usize,
        /// How many of these are not good enough.
        unfit: usize,
        /// What it rests on.
        basis: Basis,
    },
    /// None of those that were tried is good enough.
    NoneFits {
        /// The one that comes closest.
        closest: String,
    },
    /// What decides it was not tried with any lock.
    NotTried {
        /// Families of scenarios that are missing. None: the scenarios that measure it are.
        missing: Vec<Family>,
    },
}

/// What an advice rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// Scenarios in which the lock was judged.
    pub scenarios: usize,
    /// Runs of them.
    pub runs: u64,
    /// Where they took place.
    pub backends: BTreeSet<BackendName>,
    /// Families of scenarios in which it was not tried.
    pub untested: Vec<Family>,
}

impl Purpose {
    /// All purposes, in the order of reports.
    pub const ALL: [Purpose; 3] = [Purpose::Money, Purpose::CronJob, Purpose::Uptime];

    /// Without scenarios of each of these families nothing is advised.
    fn needs(self) -> &'static [Family] {
        match self {
            Purpose::Money => &[Family::Clients, Family::Nodes, Family::Network],
            Purpose::CronJob => &[Family::Load, Family::Clients, Family::Network],
            Purpose::Uptime => &[],
        }
    }

    /// True if enough was tried with the lock.
    fn is_tried(self, score: &LockScore) -> bool {
        let mut needs = self.needs().iter();
        let is_measured = score.costs.granted_without_minority.is_some();
        needs.all(|family| score.judged_in(*family) > 0) && (self != Purpose::Uptime || is_measured)
    }

    /// True if the lock is good enough.
    fn fits(self, score: &LockScore) -> bool {
        let harmed_by =
            |whose: &[ScenarioScore]| whose.iter().any(|it| score.harmed.contains_key(it));
        let is_its_own = harmed_by(&[ScenarioScore::Lock, ScenarioScore::Undetermined]);
        match self {
            Purpose::Money => !is_its_own && !harmed_by(&[ScenarioScore::Client]),
            Purpose::CronJob => !is_its_own && score.progresses,
            Purpose::Uptime => !is_its_own && score.costs.granted_without_minority > Some(0.0),
        }
    }

    /// Among the locks that are good enough, the smallest is the best, the first number first.
    fn order(self, score: &LockScore) -> [f64; 4] {
        let harmed: usize = score.harmed.values().map(Vec::len).sum();
        let [lost, own, price] = score.rank();
        match self {
            Purpose::Money => [harmed as f64, lost, own, price],
            // The cheapest suffices.
            Purpose::CronJob => [own, price, lost, 0.0],
            Purpose::Uptime => {
                let granted = score.costs.granted_without_minority.unwrap_or(0.0);
                [-granted, lost, own, price]
            }
        }
    }
}

/// Which lock is named for a purpose, and its score if one is. The scores are in the order of the matrix, and
/// the first of equals is taken.
pub(super) fn choose(purpose: Purpose, scores: &[LockScore]) -> (Choice, Option<&LockScore>) {
    let tried = || scores.iter().filter(|score| purpose.is_tried(score));
    let best = |fits: &dyn Fn(&LockScore) -> bool| -> Option<&LockScore> {
        let fitting = tried().filter(|score| fits(score));
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
            others: tried().count() - 1,
            unfit: tried().filter(|score| !purpose.fits(score)).count(),
            basis: basis(score),
        },
        (None, Some(closest)) => Choice::NoneFits {
            closest: closest.lock.clone(),
        },
        (None, None) => {
            let missing = untested(purpose.needs(), scores);
            Choice::NotTried { missing }
        }
    };
    (choice, chosen)
}

fn basis(score: &LockScore) -> Basis {
    Basis {
        scenarios: score.all.judged,
        runs: score.runs,
        backends: score.backends.clone(),
        untested: untested(&Family::ALL, slice::from_ref(score)),
    }
}

/// Those of the families in which none of these locks was judged.
pub(super) fn untested(families: &[Family], scores: &[LockScore]) -> Vec<Family> {
    let is_untried = |family: &Family| scores.iter().all(|it| it.judged_in(*family) == 0);
    families.iter().copied().filter(is_untried).collect()
}
