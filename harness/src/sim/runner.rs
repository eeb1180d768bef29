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

/// A simulation: the specification of a run, and the lock's code, which a specification cannot contain.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The specification of the run.
    pub spec: RunSpec,
    /// The code of the lock.
    pub lock: LockFactory,
    /// Whether to log the commands, and to list the events for which a fault can wait. A simulation without a log is
    /// faster.
    pub logs_commands: bool,
}

/// An error that prevents a simulation from producing a history.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The code of a lock neither returned nor yielded.
    #[error(
        "stuck: client {worker} has not yielded for {} s of real time; a lock that loops or blocks without ever reaching an `.await` cannot be simulated", patience.as_secs_f64()
    )]
    Stuck {
        /// The worker whose turn did not end.
        worker: usize,
        /// The CPU time plus sleeping time for which the watchdog waited.
        patience: Duration,
    },
    /// A worker could not be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The simulation itself failed, which is a defect of Picklock.
    #[error("internal error of the simulation: {0}")]
    Internal(String),
}

/// Runs a simulation on this thread, and marks its turns in `watchdog`.
pub(super) fn run_here(simulation: Simulation, watchdog: Watchdog) -> Result<RunResult, SimError> {
    let budget = RunBudget::for_spec(&simulation.spec);
    run_within(budget, simulation, watchdog, None)
}

/// Runs a simulation on a separate thread, without a watchdog but with observers of the nodes.
///
/// # Errors
/// See [`SimError`].
pub fn run_observed(
    simulation: Simulation,
    observers: NodeObservers,
) -> Result<RunResult, SimError> {
    let thread = std::thread::spawn(move || {
        let watchdog = Watchdog::default();
        watchdog.claim_thread();
        let budget = RunBudget::for_spec(&simulation.spec);
        run_within(budget, simulation, watchdog, Some(observers))
    });
    let result = thread.join();
    result.unwrap_or_else(|_| Err(SimError::Internal("its thread panicked".into())))
}

fn run_within(
    budget: RunBudget,
    simulation: Simulation,
    watchdog: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<RunResult, SimError> {
    watchdog.begin_simulation();
    match turns::block_on(play(budget, simulation, watchdog, observers)) {
        Ok(Ok(played)) => played,
        Ok(Err(error)) => Err(SimError::Internal(error.to_string())),
        Err(error) => Err(SimError::Internal(error.to_string())),
    }
}

async fn play(
    budget: RunBudget,
    simulation: Simulation,
    watchdog: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<RunResult, SimError> {
    let spec = Rc::new(simulation.spec);
    let clock = Clock::start();
    let (triggers, due) = Triggers::for_plans(&spec.scenario.faults, spec.needed_nodes());
    let triggers = triggers.for_renewals(spec.lock.renews);
    let triggers = Arc::new(if simulation.logs_commands {
        triggers.listing_events()
    } else {
        triggers
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
        watchdog,
        observers,
        budget: Rc::clone(&budget),
    }));
    let network = backend.network();
    let network_task = tokio::task::spawn_local(Rc::clone(&network).run());
    let counted = Rc::clone(&budget);
    let context = RunContext::new(
        Rc::new(backend),
        Rc::clone(&spec),
        clock,
        Arc::clone(&triggers),
        Box::new(move |event| counted.count_event(event)),
    );
    let budget_task = tokio::task::spawn_local(end_when_spent(budget, Rc::clone(&context)));
    let result = driver::run(context, due, std::future::pending()).await;
    budget_task.abort();
    network_task.abort();
    let mut result = result?;
    record_unknown_commands(&mut result.history, network.unknown_commands());
    // Only real servers need time to start.
    result.phases.setup_ms = 0;
    Ok(RunResult {
        redis: Redis {
            server: format!("model of {}", spec.model().server()),
            version: spec.model().number().to_owned(),
        },
        // A lock whose code is part of this process reports no version.
        lock_version: None,
        command_log: log,
        seen_events: triggers.seen_events(),
        ..result
    })
}

/// Ends a run that has exhausted a budget. The events up to that time are judged.
async fn end_when_spent<B>(budget: Rc<RunBudget>, context: Rc<RunContext<B>>) {
    let (budget, max) = budget.spent().await;
    let what = EventKind::BudgetSpent { budget, most: max };
    context.recorder.write(what);
    context.early_end.request(EndReason::BudgetSpent);
}

/// Records the commands that the model does not support. Their replies were errors that a real server would not have
/// returned, so the whole run is unreliable.
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

    use picklock_scenarios::catalog;

    use super::*;
    use crate::check::{InconclusiveReason, Property, Status, judge};
    use crate::history::Budget;

    fn run_with(budget: RunBudget, lock: &str) -> History {
        let lock = LockFactory::built_in(picklock_impls::find(lock).unwrap());
        let scenario = catalog::named("gc-pause").unwrap();
        let simulation = Simulation {
            spec: RunSpec::simulated(lock.spec().clone(), scenario, 1),
            lock,
            logs_commands: false,
        };
        run_within(budget, simulation, Watchdog::default(), None)
            .unwrap()
            .history
    }

    fn end_reason(history: &History) -> EndReason {
        match &history.events.last().unwrap().what {
            EventKind::End { reason, .. } => *reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn run_that_spends_its_budget_ends_reproducibly() {
        for (events, steps, budget, max) in [
            (20, u64::MAX, Budget::Events, 20),
            (u64::MAX, 50, Budget::Steps, 50),
        ] {
            let run = || run_with(RunBudget::new(events, u64::MAX, steps), "set-nx-px");
            let history = run();
            assert_eq!(history, run());
            assert_eq!(end_reason(&history), EndReason::BudgetSpent);
            for (property, verdict) in judge(&history) {
                assert_ne!(verdict.status, Status::Held, "{property}");
                if verdict.status == Status::Unknown {
                    let reason = InconclusiveReason::BudgetSpent { budget, most: max };
                    assert!(verdict.reasons.contains(&reason), "{property}: {verdict:?}");
                }
            }
        }
    }

    /// A violation that happened before the run was cut short remains proven.
    #[test]
    fn violation_before_the_budget_is_spent_stays() {
        let budget = || RunBudget::new(u64::MAX, u64::MAX, u64::MAX);
        let whole = run_with(budget(), "set-nx-px");
        let is_counted = |event: &&Event| !matches!(event.what, EventKind::KeyChanged { .. });
        let counted: Vec<&Event> = whole.events.iter().filter(is_counted).collect();
        let is_sale = |event: &&Event| matches!(event.what, EventKind::StockChanged { .. });
        // This budget ends the run at its last sale, a few events before its end.
        let max = counted.iter().rposition(is_sale).unwrap() as u64;
        let cut = run_with(RunBudget::new(max, u64::MAX, u64::MAX), "set-nx-px");
        assert_eq!(end_reason(&cut), EndReason::BudgetSpent);
        let verdicts = judge(&cut);
        assert_eq!(verdicts[&Property::Exclusion].status, Status::Violated);
        assert_eq!(verdicts[&Property::Lease].status, Status::Unknown);
    }
}
