//! Runs plans, and extracts from each run only the results that a search needs.

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

/// The result of a plan: what a search needs to know about its run.
#[derive(Debug, Clone, Default)]
pub struct PlanResult {
    /// The violations that count as counterexamples.
    pub violations: Vec<Violation>,
    /// The violations that do not count as counterexamples because every lock on such servers shows them.
    pub unavoidable: Vec<Violation>,
    /// The applicable properties that were neither held nor violated.
    pub inconclusive: Vec<Property>,
    /// Whether a fault of the plan did not fire.
    pub missed: bool,
    /// The injection points of the run in order; empty if they were not requested.
    pub injection_points: Vec<InjectionPoint>,
    /// The features that guide a hunt; empty if they were not requested.
    pub(super) features: Features,
}

/// Additional results to extract from a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// The injection points.
    InjectionPoints,
    /// The features that guide a hunt: patterns of the key history and of the protocol.
    Features,
}

/// Runs the plans one after the other. The result of a plan is `None` if its simulation did not end, or if the plan
/// does not fit the lock.
pub fn run_plans(
    target: &Target,
    wanted: &ViolationFilter,
    plans: &[Plan],
    keep: Keep,
) -> Vec<Option<PlanResult>> {
    let logs = keep == Keep::InjectionPoints;
    let simulations = plans.iter().map(|plan| target.simulation(plan, logs));
    let simulations: Vec<_> = simulations.collect();
    let fits: Vec<bool> = simulations.iter().map(Option::is_some).collect();
    let simulations = simulations.into_iter().flatten().collect();
    let wanted = Arc::new(wanted.clone());
    let results = run_many(simulations, move |run| result_of(&run, &wanted, keep));
    let mut results = results.into_iter();
    fits.into_iter()
        .map(|fits| if fits { results.next()?.ok() } else { None })
        .collect()
}

/// Runs a single plan like [`run_plans`].
pub fn run_plan(
    target: &Target,
    wanted: &ViolationFilter,
    plan: &Plan,
    keep: Keep,
) -> Option<PlanResult> {
    let mut results = run_plans(target, wanted, std::slice::from_ref(plan), keep);
    results.pop().flatten()
}

impl PlanResult {
    /// Extracts the results from a history and its verdicts.
    pub fn new(history: &History, verdicts: &Verdicts, wanted: &ViolationFilter) -> PlanResult {
        let inconclusive = verdicts.iter().filter(|(property, verdict)| {
            verdict.status == Status::Unknown && wanted.counts(**property)
        });
        PlanResult {
            violations: wanted.among(verdicts),
            unavoidable: wanted.unavoidable(verdicts),
            inconclusive: inconclusive.map(|(property, _)| *property).collect(),
            missed: missed(history),
            ..PlanResult::default()
        }
    }
}

fn result_of(run: &RunResult, wanted: &ViolationFilter, keep: Keep) -> PlanResult {
    let history = &run.history;
    PlanResult {
        injection_points: injection_points(run),
        features: match keep {
            Keep::Features => features(history),
            _ => Features::default(),
        },
        ..PlanResult::new(history, &judge(history), wanted)
    }
}

fn missed(history: &History) -> bool {
    let mut events = history.events.iter();
    events.any(|event| matches!(event.what, EventKind::FaultMissed { .. }))
}
