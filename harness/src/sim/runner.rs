//! One simulated run, on a thread of its own.

use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::subject::Subject;
use super::watchdog::Beat;
use super::world::{Parts, SimWorld};
use crate::clock::Clock;
use crate::driver::{self, RunError, Setup};
use crate::history::{History, What};
use crate::stage::{Moments, Plan};

/// A turn that lasts longer than this in real time will not end. Time in which other threads kept
/// ours from running does not count.
const PATIENCE: Duration = Duration::from_secs(20);

/// The watchdog looks so often while its patience lasts.
const LOOKS: u32 = 10;

/// What shall be simulated.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The run's numbers.
    pub plan: Plan,
    /// The lock.
    pub subject: Subject,
}

/// Why a simulation gave no history.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A subject's code neither ends nor gives way.
    #[error(
        "stuck: worker {worker} has not given way for {} s of real time; a subject that loops or blocks without ever reaching an `.await` cannot be simulated", patience.as_secs_f64()
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
    Broken(String),
}

/// Simulates one run. The same simulation gives the same history, byte for byte.
///
/// It runs on a thread of its own, so that a subject that never gives way is an error and not a
/// hang; such a thread cannot be ended and is left behind.
///
/// # Errors
/// See [`SimError`]. A violated property is no error.
pub fn run(simulation: Simulation) -> Result<History, SimError> {
    run_with_patience(simulation, PATIENCE)
}

/// The same; a subject counts as stuck when one of its turns has lasted for `patience` of real
/// time. Time that the thread spent waiting for a processor does not count.
///
/// # Errors
/// See [`SimError`].
pub fn run_with_patience(simulation: Simulation, patience: Duration) -> Result<History, SimError> {
    let beat = Beat::default();
    let watched = beat.clone();
    let (tell, told) = mpsc::channel();
    let begun = std::thread::Builder::new()
        .name("picklock-sim".into())
        .spawn(move || {
            beat.claim_thread();
            // Nobody listens any more once the run counts as stuck.
            tell.send(run_here(simulation, beat)).ok();
        });
    begun.map_err(|error| SimError::Broken(error.to_string()))?;
    wait(&told, &watched, patience)
}

fn wait(
    told: &mpsc::Receiver<Result<History, SimError>>,
    beat: &Beat,
    patience: Duration,
) -> Result<History, SimError> {
    let look = (patience / LOOKS).max(Duration::from_millis(1));
    let (mut seen, mut looks, mut kept_waiting) = (beat.look().0, 0, Duration::ZERO);
    loop {
        match told.recv_timeout(look) {
            Ok(ran) => return ran,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(SimError::Broken("its thread panicked".into()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let (mark, worker) = beat.look();
        if mark != seen {
            (seen, looks, kept_waiting) = (mark, 0, beat.kept_waiting());
            continue;
        }
        looks += 1;
        let excused = beat.kept_waiting().saturating_sub(kept_waiting);
        let Some(worker) = worker.filter(|_| (look * looks).saturating_sub(excused) >= patience)
        else {
            continue;
        };
        return Err(SimError::Stuck { worker, patience });
    }
}

/// Simulates on this thread, without a watchdog.
pub(super) fn run_here(simulation: Simulation, beat: Beat) -> Result<History, SimError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| SimError::Broken(error.to_string()))?;
    tokio::task::LocalSet::new().block_on(&runtime, play(simulation, beat))
}

async fn play(simulation: Simulation, beat: Beat) -> Result<History, SimError> {
    let Simulation { plan, subject } = simulation;
    let clock = Clock::start();
    let (moments, due) = Moments::of(&plan.scenario.faults);
    let moments = Arc::new(moments);
    let world = Rc::new(SimWorld::new(Parts {
        nodes: plan.nodes,
        replicas: plan.scenario.topology.replicas,
        persistence: plan.scenario.topology.persistence,
        keys: plan.keys.clone(),
        seed: plan.seed,
        run_clock: clock.clone(),
        watcher: moments.clone(),
        beat,
        subject: subject.clone(),
    }));
    let network = world.network();
    let carrying = tokio::task::spawn_local(Rc::clone(&network).carry());
    let setup = Setup {
        plan,
        subject: subject.name().to_owned(),
        clock,
        moments,
        due,
        listener: Box::new(|_| ()),
    };
    let ran = driver::run(Rc::new(world), setup, std::future::pending()).await;
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
        history.events.push(crate::history::Event {
            at_ns: end.at_ns,
            what: What::FaultMissed {
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
