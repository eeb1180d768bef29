//! Runs plans, and keeps of each only what a search needs.

use std::sync::Arc;

use picklock_scenarios::Property;

use super::injection_points::{InjectionPoint, injection_points};
use super::novelty::{Features, features};
use super::plan::{Plan, Target};
use crate::check::{Status, Verdicts, judge};
use crate::counterexamples::{Violation, ViolationFilter};
use crate::history::{EventKind, History};
use crate::run_result::RunResult;
use crate::sim::run_many;

/// What a run has shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Its finds.
    pub violations: Vec<Violation>,
    /// The properties that were neither held nor violated, although they apply.
    pub inconclusive: Vec<Property>,
    /// A fault of the plan did not strike.
    pub missed: bool,
    /// Its moments in order, if they were asked for.
    pub injection_points: Vec<InjectionPoint>,
    /// What steers a hunt, if it was asked for.
    pub(super) features: Features,
}

/// What to keep of a run besides its finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// Its moments.
    InjectionPoints,
    /// What steers a hunt: patterns of key history and protocol.
    Features,
}

/// Runs the plans one after the other, and says of each what it has shown; `None`: its simulation did not end, or it
/// does not fit the lock.
pub fn show(
    target: &Target,
    wanted: &ViolationFilter,
    plans: &[Plan],
    keep: Keep,
) -> Vec<Option<Shown>> {
    let logs = keep == Keep::InjectionPoints;
    let simulations = plans.iter().map(|plan| target.simulation(plan, logs));
    let simulations: Vec<_> = simulations.collect();
    let fits: Vec<bool> = simulations.iter().map(Option::is_some).collect();
    let simulations = simulations.into_iter().flatten().collect();
    let wanted = Arc::new(wanted.clone());
    let ran = run_many(simulations, move |result| shown(&result, &wanted, keep));
    let mut ran = ran.into_iter();
    let shown = fits.into_iter().map(|fits| match fits {
        true => ran.next().and_then(Result::ok),
        false => None,
    });
    shown.collect()
}

/// The same for one plan.
pub fn show_one(
    target: &Target,
    wanted: &ViolationFilter,
    plan: &Plan,
    keep: Keep,
) -> Option<Shown> {
    let mut shown = show(target, wanted, std::slice::from_ref(plan), keep);
    shown.pop().flatten()
}

impl Shown {
    /// What a history and its verdicts show.
    pub fn new(history: &History, verdicts: &Verdicts, wanted: &ViolationFilter) -> Shown {
        let inconclusive = verdicts.iter().filter(|(property, verdict)| {
            verdict.status == Status::Unknown && wanted.counts(**property)
        });
        Shown {
            violations: wanted.among(verdicts),
            inconclusive: inconclusive.map(|(property, _)| *property).collect(),
            missed: missed(history),
            ..Shown::default()
        }
    }
}

fn shown(result: &RunResult, wanted: &ViolationFilter, keep: Keep) -> Shown {
    let history = &result.history;
    Shown {
        injection_points: injection_points(result),
        features: match keep {
            Keep::Features => features(history),
            _ => Features::default(),
        },
        ..Shown::new(history, &judge(history), wanted)
    }
}

fn missed(history: &History) -> bool {
    let mut events = history.events.iter();
    events.any(|event| matches!(event.what, EventKind::FaultMissed { .. }))
}
