//! One simulated run.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::backend::{Parts, SimBackend};
use super::node_observer::NodeObservers;
use super::run_budget::RunBudget;
use super::turns;
use super::watchdog::Watchdog;
use crate::clock::Clock;
use crate::context::{RunContext, Triggers};
use crate::driver::{self, RunError};
use crate::history::{EndReason, Event, EventKind, History};
use crate::lock_factory::LockFactory;
use crate::proxy::CommandLog;
use crate::record::Redis;
use crate::run_result::RunResult;
use crate::spec::RunSpec;

/// What shall be simulated: a specification, with the code that data cannot hold.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// What is run.
    pub spec: RunSpec,
    /// The code of the lock.
    pub lock: LockFactory,
    /// True to log the commands and to list the events that faults can wait for; without a log a simulation is faster.
    pub logs_commands: bool,
}

/// Why a simulation gave no history.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A lock's code neither ends nor gives way.
    #[error(
        "stuck: worker {worker} has not given way for {} s of real time; a lock that loops or blocks without ever reaching an `.await` cannot be simulated", patience.as_secs_f64()
    )]
    Stuck {
        /// The worker whose turn it is.
        worker: usize,
        /// How long it was waited for.
        patience: Duration,
    },
    /// A worker could not be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The simulation itself broke down: a defect of Picklock.
    #[error("the simulation broke down: {0}")]
    RequestAborted(String),
}

/// Simulates on this thread. `monitor`: what others can see of it meanwhile.
pub(super) fn run_here(simulation: Simulation, monitor: Watchdog) -> Result<RunResult, SimError> {
    let budget = RunBudget::for_spec(&simulation.spec);
    run_within(budget, simulation, monitor, None)
}

/// Simulates on a thread of its own, without a watchdog, and lets somebody observe the nodes.
///
/// # Errors
/// See [`SimError`].
pub fn run_observed(
    simulation: Simulation,
    observers: NodeObservers,
) -> Result<RunResult, SimError> {
    let running = std::thread::spawn(move || {
        let monitor = Watchdog::default();
        monitor.claim_thread();
        let budget = RunBudget::for_spec(&simulation.spec);
        run_within(budget, simulation, monitor, Some(observers))
    });
    let ran = running.join();
    ran.unwrap_or_else(|_| Err(SimError::RequestAborted("its thread panicked".into())))
}

fn run_within(
    budget: RunBudget,
    simulation: Simulation,
    monitor: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<RunResult, SimError> {
    monitor.begin_simulation();
    match turns::block_on(play(budget, simulation, monitor, observers)) {
        Ok(Ok(played)) => played,
        Ok(Err(error)) => Err(SimError::RequestAborted(error.to_string())),
        Err(error) => Err(SimError::RequestAborted(error.to_string())),
    }
}

async fn play(
    budget: RunBudget,
    simulation: Simulation,
    monitor: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<RunResult, SimError> {
    let spec = Rc::new(simulation.spec);
    let clock = Clock::start();
    let (triggers, due) = Triggers::for_plans(&spec.scenario.faults, spec.needed_nodes());
    let triggers = Arc::new(match simulation.logs_commands {
        true => triggers.listing_events(),
        false => triggers,
    });
    let log = simulation
        .logs_commands
        .then(|| CommandLog::new(&spec.keys()));
    let budget = Rc::new(budget);
    let backend = Rc::new(SimBackend::new(Parts {
        spec: &spec,
        lock: simulation.lock,
        run_clock: clock.clone(),
        interceptor: triggers.clone(),
        log: log.clone(),
        monitor,
        observers,
        budget: Rc::clone(&budget),
    }));
    let network = backend.network();
    let carrying = tokio::task::spawn_local(Rc::clone(&network).run());
    let counted = Rc::clone(&budget);
    let context = RunContext::new(
        Rc::new(backend),
        Rc::clone(&spec),
        clock,
        Arc::clone(&triggers),
        Box::new(move |event| counted.count_event(event)),
    );
    let bounding = tokio::task::spawn_local(end_when_spent(budget, Rc::clone(&context)));
    let ran = driver::run(context, due, std::future::pending()).await;
    bounding.abort();
    carrying.abort();
    let mut result = ran?;
    record_unknown_commands(&mut result.history, network.unknown_commands());
    // Only real servers take time to set up.
    result.phases.setup_ms = 0;
    Ok(RunResult {
        redis: Redis {
            server: format!("model of {}", spec.model().server()),
            version: spec.model().number().to_owned(),
        },
        // Nobody asks for the version of code that is in this process.
        lock_version: None,
        command_log: log,
        seen_events: triggers.seen_events(),
        ..result
    })
}

/// Ends a run that has used up a budget. What it has shown until then is judged.
async fn end_when_spent<B>(budget: Rc<RunBudget>, context: Rc<RunContext<B>>) {
    let (budget, most) = budget.spent().await;
    let what = EventKind::BudgetSpent { budget, most };
    context.recorder.write(what);
    context.early_end.request(EndReason::BudgetSpent);
}

/// A command that the model does not know was answered with an error, which no real server would
/// have given: nothing about the run can be believed.
fn record_unknown_commands(history: &mut History, unknown: BTreeSet<String>) {
    let Some(end) = history.events.pop() else {
        return;
    };
    let at_ns = end.at_ns;
    for command in unknown {
        let what = EventKind::CommandUnknown { command };
        history.events.push(Event { at_ns, what });
    }
    history.events.push(end);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use picklock_scenarios::catalog;

    use super::*;
    use crate::check::{InconclusiveReason, Property, Status, judge};
    use crate::history::Budget;

    fn run_with(budget: RunBudget, lock: &str) -> History {
        let lock = LockFactory::built_in(picklock_impls::find(lock).unwrap());
        let scenario = catalog::named("gc-pause").unwrap();
        let simulation = Simulation {
            spec: RunSpec::simulated(lock.spec(&BTreeMap::new()), scenario, 1),
            lock,
            logs_commands: false,
        };
        run_within(budget, simulation, Watchdog::default(), None)
            .unwrap()
            .history
    }

    fn end_of(history: &History) -> EndReason {
        match &history.events.last().unwrap().what {
            EventKind::End { reason, .. } => *reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn run_without_budget_left_ends_and_holds_nothing_and_is_the_same_each_time() {
        for (events, steps, budget, most) in [
            (20, u64::MAX, Budget::Events, 20),
            (u64::MAX, 50, Budget::Steps, 50),
        ] {
            let run = || run_with(RunBudget::new(events, u64::MAX, steps), "set-nx-px");
            let history = run();
            assert_eq!(history, run());
            assert_eq!(end_of(&history), EndReason::BudgetSpent);
            for (property, verdict) in judge(&history) {
                assert_ne!(verdict.status, Status::Held, "{property}");
                if verdict.status == Status::Unknown {
                    let reason = InconclusiveReason::BudgetSpent { budget, most };
                    assert!(verdict.reasons.contains(&reason), "{property}: {verdict:?}");
                }
            }
        }
    }

    /// What the run has shown before is proven.
    #[test]
    fn violation_before_the_budget_is_spent_stays() {
        let budget = || RunBudget::new(u64::MAX, u64::MAX, u64::MAX);
        let whole = run_with(budget(), "set-nx-px");
        let is_counted = |event: &&Event| !matches!(event.what, EventKind::KeyChanged { .. });
        let counted: Vec<&Event> = whole.events.iter().filter(is_counted).collect();
        let is_sale = |event: &&Event| matches!(event.what, EventKind::StockChanged { .. });
        // The last sale of the run is its last but a few events.
        let most = counted.iter().rposition(is_sale).unwrap() as u64;
        let cut = run_with(RunBudget::new(most, u64::MAX, u64::MAX), "set-nx-px");
        assert_eq!(end_of(&cut), EndReason::BudgetSpent);
        let verdicts = judge(&cut);
        assert_eq!(verdicts[&Property::Exclusion].status, Status::Violated);
        assert_eq!(verdicts[&Property::Lease].status, Status::Unknown);
    }
}
