//! Runs plans, and keeps of each only what a search needs.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use picklock_scenarios::{Direction, Property};

use super::moments::{Moment, moments};
use super::novelty::{Features, features};
use super::plan::{Plan, Target};
use crate::check::{Status, Verdicts, judge};
use crate::finds::{Violation, Wanted};
use crate::history::{EventKind, History};
use crate::run_result::RunResult;
use crate::sim::run_many;

/// What a run has shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Its finds.
    pub violations: Vec<Violation>,
    /// The properties that were neither held nor violated, although they apply.
    pub unjudged: Vec<Property>,
    /// A fault of the plan did not strike.
    pub missed: bool,
    /// Its moments in order, if they were asked for.
    pub moments: Vec<Moment>,
    /// What steers a hunt, if it was asked for.
    pub(super) features: Features,
    /// Everything that happened, if the moments were asked for: see [`course`].
    pub course: u64,
}

/// What to keep of a run besides its finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    #[default]
    Nothing,
    /// Its moments.
    Moments,
    /// What steers a hunt: patterns of custody and protocol.
    Features,
}

/// Runs the plans one after the other, and says of each what it has shown; `None`: its simulation did not end, or it
/// does not fit the lock.
pub fn show(target: &Target, wanted: &Wanted, plans: &[Plan], keep: Keep) -> Vec<Option<Shown>> {
    let logs = keep == Keep::Moments;
    let mut simulations = Vec::with_capacity(plans.len());
    let fits: Vec<bool> = plans
        .iter()
        .map(|plan| {
            let simulation = target.simulation(plan, logs);
            let fits = simulation.is_some();
            simulations.extend(simulation);
            fits
        })
        .collect();
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
pub fn show_one(target: &Target, wanted: &Wanted, plan: &Plan, keep: Keep) -> Option<Shown> {
    show(target, wanted, std::slice::from_ref(plan), keep)
        .pop()
        .flatten()
}

impl Shown {
    /// What a history and its verdicts show.
    pub fn of(history: &History, verdicts: &Verdicts, wanted: &Wanted) -> Shown {
        let unjudged = verdicts.iter().filter(|(property, verdict)| {
            verdict.status == Status::Unknown && wanted.counts(**property)
        });
        Shown {
            violations: wanted.among(verdicts),
            unjudged: unjudged.map(|(property, _)| *property).collect(),
            missed: missed(history),
            ..Shown::default()
        }
    }
}

fn shown(result: &RunResult, wanted: &Wanted, keep: Keep) -> Shown {
    let history = &result.history;
    Shown {
        moments: moments(result),
        course: match keep {
            Keep::Moments => course(result),
            _ => 0,
        },
        features: match keep {
            Keep::Features => features(history),
            _ => Features::default(),
        },
        ..Shown::of(history, &judge(history), wanted)
    }
}

/// A hash of everything that was recorded and logged, with its times, but for faults and for the deaths of clients that
/// never came back. Of such a client only its commands count, without their times: when they changed a key is recorded.
///
/// Each frame's time on the way is drawn from one stream. So runs with the same course have drawn as many.
fn course(result: &RunResult) -> u64 {
    let mut dead = BTreeSet::new();
    for event in &result.history.events {
        match event.what {
            EventKind::WorkerDown { worker, .. } => dead.insert(worker),
            EventKind::WorkerUp { worker, .. } => dead.remove(&worker),
            _ => false,
        };
    }
    let mut hasher = DefaultHasher::new();
    let events = result
        .history
        .events
        .iter()
        .filter(|event| match event.what {
            EventKind::FaultBegan { .. } | EventKind::FaultStruck { .. } => false,
            EventKind::WorkerDown { worker, .. } => !dead.contains(&worker),
            _ => true,
        });
    events.for_each(|event| format!("{event:?}").hash(&mut hasher));
    let log = result.wire_log.as_ref();
    let entries = log.map(|log| log.entries()).unwrap_or_default();
    let (of_the_dead, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| dead.contains(&entry.worker));
    others
        .iter()
        .for_each(|entry| format!("{entry:?}").hash(&mut hasher));
    let commands = of_the_dead
        .into_iter()
        .filter(|it| it.direction == Direction::Request);
    let mut commands: Vec<_> = commands
        .map(|it| (it.conn, it.node, it.worker, it.outcome, it.preview))
        .collect();
    // The order of those of one connection stays.
    commands.sort_by_key(|command| command.0);
    format!("{commands:?}").hash(&mut hasher);
    hasher.finish()
}

fn missed(history: &History) -> bool {
    let mut events = history.events.iter();
    events.any(|event| matches!(event.what, EventKind::FaultMissed { .. }))
}
