//! One simulated run.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use picklock_scenarios::StockPlace;

use super::backend::{Parts, SimBackend};
use super::node_observer::NodeObservers;
use super::run_budget::RunBudget;
use super::watchdog::Watchdog;
use crate::clock::{self, Clock};
use crate::context::{Plan, Triggers};
use crate::driver::{self, RunError, Setup};
use crate::history::{Event, EventKind, History};
use crate::lock_factory::LockFactory;
use crate::wire::WireLog;

/// What shall be simulated.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The run's numbers.
    pub plan: Plan,
    /// The lock.
    pub lock: LockFactory,
    /// Where to write down what passes between workers and nodes; `None`: nowhere, at no cost.
    pub log: Option<WireLog>,
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
    /// It goes on and on.
    #[error(
        "the simulated run has used up its budget of {0}, and is not judged; shorten its `limit`, or let it sell less"
    )]
    Exhausted(String),
    /// A worker could not be started.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The simulation itself broke down: a defect of Picklock.
    #[error("the simulation broke down: {0}")]
    Broken(String),
}

/// Simulates on this thread, without a watchdog.
pub(super) fn run_here(simulation: Simulation, monitor: Watchdog) -> Result<History, SimError> {
    run_on_runtime(simulation, monitor, None)
}

/// Simulates on a thread of its own, without a watchdog, and lets somebody observe the nodes.
///
/// # Errors
/// See [`SimError`].
pub fn run_observed(simulation: Simulation, observers: NodeObservers) -> Result<History, SimError> {
    let running = std::thread::spawn(move || {
        let monitor = Watchdog::default();
        monitor.claim_thread();
        run_on_runtime(simulation, monitor, Some(observers))
    });
    let ran = running.join();
    ran.unwrap_or_else(|_| Err(SimError::Broken("its thread panicked".into())))
}

fn run_on_runtime(
    simulation: Simulation,
    monitor: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<History, SimError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| SimError::Broken(error.to_string()))?;
    monitor.begin_simulation();
    let tasks = tokio::task::LocalSet::new();
    // As a task: what is run on a set of tasks is polled whenever any of them is.
    let playing = async move {
        let played = tokio::task::spawn_local(play(simulation, monitor, observers)).await;
        played.unwrap_or_else(|error| Err(SimError::Broken(error.to_string())))
    };
    let mut played = std::pin::pin!(tasks.run_until(playing));
    // Time moves between two polls of everything, and at no other moment.
    let turns = std::future::poll_fn(|context| clock::holding(|| played.as_mut().poll(context)));
    runtime.block_on(turns)
}

async fn play(
    simulation: Simulation,
    monitor: Watchdog,
    observers: Option<NodeObservers>,
) -> Result<History, SimError> {
    let Simulation { plan, lock, log } = simulation;
    let clock = Clock::start();
    let (triggers, due) = Triggers::of(&plan.scenario.faults);
    let triggers = Arc::new(triggers);
    let backend = Rc::new(SimBackend::new(Parts {
        version: plan.model,
        nodes: plan.nodes,
        store: plan.scenario.workload.stock_in == StockPlace::Redis,
        replicas: plan.scenario.topology.replicas,
        persistence: plan.scenario.topology.persistence,
        keys: plan.keys.clone(),
        seed: plan.seed,
        run_clock: clock.clone(),
        interceptor: triggers.clone(),
        log,
        monitor,
        observers,
        lock: lock.clone(),
    }));
    let network = backend.network();
    let carrying = tokio::task::spawn_local(Rc::clone(&network).run());
    let budget = Rc::new(RunBudget::default());
    let counted = Rc::clone(&budget);
    let setup = Setup {
        plan,
        lock: lock.name().to_owned(),
        is_labelled: false,
        clock,
        triggers,
        due,
        listener: Box::new(move |_| counted.count_event()),
    };
    let ran = tokio::select! {
        biased;
        ran = driver::run(Rc::new(backend), setup, std::future::pending()) => ran,
        what = budget.spent() => return Err(SimError::Exhausted(what)),
    };
    carrying.abort();
    let mut history = ran?.history;
    note_unknown_commands(&mut history, &network.unknown_commands());
    Ok(history)
}

/// A command that the model does not know was answered with an error, which no real server would
/// have given: nothing about the run can be believed.
fn note_unknown_commands(history: &mut History, unknown: &std::collections::BTreeSet<String>) {
    let Some(end) = history.events.pop() else {
        return;
    };
    for command in unknown {
        history.events.push(Event {
            at_ns: end.at_ns,
            what: EventKind::FaultMissed {
                fault: "model".into(),
                reason: format!(
                    "the simulated Redis does not know `{command}`; run it on a real one (--backend process)"
                ),
                optional: false,
            },
        });
    }
    history.events.push(end);
}
