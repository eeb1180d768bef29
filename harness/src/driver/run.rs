//! One run, from the first worker to the last look at what is left.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::buyer::Buyer;
use super::probe::probe;
use super::{shelf, stall};
use crate::clock::Clock;
use crate::history::{EndReason, FORMAT, Header, History, What};
use crate::nemesis::Nemesis;
use crate::stage::{Listener, Moments, Plan, Recorder, Stage, Strike, millis};
use crate::world::{Refusal, World};

/// Everything that a run needs besides its world.
pub struct Setup {
    /// The run's numbers.
    pub plan: Plan,
    /// The name of the subject, for the history, unless it gives itself one.
    pub subject: String,
    /// The run's clock: the one that the wire reads.
    pub clock: Clock,
    /// What sets faults off: the same that watches the wire.
    pub moments: Arc<Moments>,
    /// Where the strikes come out.
    pub due: mpsc::UnboundedReceiver<Strike>,
    /// Who wants to see events as they happen.
    pub listener: Listener,
}

/// What a run leaves.
pub struct Ran {
    /// What happened.
    pub history: History,
    /// The version that the subject gave itself.
    pub subject_version: Option<String>,
    /// How long it took from the start of the clock until the buyers began.
    pub setup: Duration,
    /// How long the buyers, and the probe after them, took.
    pub workload: Duration,
}

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A worker could not be started.
    #[error("{refusal}")]
    Worker {
        /// Which.
        worker: usize,
        /// Why not.
        refusal: Refusal,
        /// What it said instead of `ready`, if it said anything that is no message.
        heard: Option<String>,
    },
    /// The user interrupted it before the buyers began.
    #[error("interrupted before the buyers began")]
    Interrupted,
}

/// Runs the buyers under the lock until they are done, the limit is reached, or `interrupt` is
/// ready; then ends all faults, probes, and writes down what is left.
///
/// # Errors
/// A worker could not be started: there was no run.
pub async fn run<W: World>(
    world: Rc<W>,
    setup: Setup,
    interrupt: impl Future<Output = ()>,
) -> Result<Ran, RunError> {
    let clock = setup.clock.clone();
    let recorder = Recorder::new(clock.clone(), setup.listener);
    let stage = Stage::new(world, setup.plan, clock.clone(), recorder, setup.moments);
    let mut interrupt = std::pin::pin!(interrupt);
    let buyers = tokio::select! {
        biased;
        hired = hire(&stage) => hired?,
        () = &mut interrupt => return Err(RunError::Interrupted),
    };
    let ready = clock.elapsed();
    stage.recorder.begin();
    must_be_a_world_of_the_scenario(&stage);

    shelf::fill(&stage).await;
    let nemesis = Nemesis::new(&stage);
    let (open, opened) = oneshot::channel();
    let haunting = tokio::task::spawn_local(Rc::clone(&nemesis).haunt(setup.due, open));
    // A nemesis that is gone has nothing to wait for.
    opened.await.unwrap_or_default();
    let watching = tokio::task::spawn_local(stall::watch(Rc::clone(&stage)));
    let reason = trade(&stage, buyers, interrupt).await;
    if let Some(arrivals) = &stage.arrivals {
        stage.recorder.write(What::Arrivals {
            came: arrivals.came(),
            unserved: arrivals.waiting(),
        });
    }
    haunting.abort();
    nemesis.rest().await;
    for worker in 0..stage.plan.scenario.workload.workers {
        // Most are gone already; what is left must not hold a lock through the probe.
        stage.world.kill_worker(worker).await.ok();
    }
    shelf::count(&stage).await;
    let (stock_left, sold) = {
        let stock = stage.stock.borrow();
        (stock.left(), stock.sold())
    };
    if reason != EndReason::Interrupted {
        probe(&stage).await;
    }
    watching.abort();
    stage.recorder.write(What::End {
        reason,
        stock_left,
        sold,
    });
    let workload = clock.elapsed();
    let introduction = stage.introduction.take().unwrap_or_default();
    let subject = introduction.name.unwrap_or(setup.subject);
    let history = History {
        header: header(stage.world.as_ref(), &stage.plan, &subject),
        events: stage.recorder.take(),
    };
    Ok(Ran {
        history,
        subject_version: introduction.version,
        setup: ready,
        workload,
    })
}

/// A run in a world that the scenario is not for shows nothing.
fn must_be_a_world_of_the_scenario<W: World>(stage: &Stage<W>) {
    let scenario = &stage.plan.scenario;
    let here = stage.world.name();
    if scenario.runs_in(here) {
        return;
    }
    let worlds: Vec<&str> = scenario.worlds.iter().map(|world| world.word()).collect();
    stage.recorder.write(What::FaultMissed {
        fault: "worlds".into(),
        reason: format!(
            "the {here} world is none of the scenario's, which are: {}",
            worlds.join(", ")
        ),
        optional: false,
    });
}

async fn hire<W: World>(stage: &Rc<Stage<W>>) -> Result<Vec<Buyer<W>>, RunError> {
    let workers = 0..stage.plan.scenario.workload.workers;
    let starts = workers.map(|worker| async move {
        let started = Buyer::start(stage, worker, 0).await;
        started.map_err(|refusal| RunError::Worker {
            worker,
            refusal,
            heard: stage.recorder.garbage_of(worker),
        })
    });
    futures_util::future::try_join_all(starts).await
}

/// Lets the buyers trade, and says why it ended.
async fn trade<W: World>(
    stage: &Rc<Stage<W>>,
    buyers: Vec<Buyer<W>>,
    interrupt: impl Future<Output = ()>,
) -> EndReason {
    let limit = stage.plan.scenario.workload.limit.resolve(stage.plan.ttl);
    // The first buyer stands in the line before anybody is there to serve him.
    let mut coming = tokio::task::JoinSet::new();
    if stage.arrivals.is_some() {
        coming.spawn_local(let_them_come(Rc::clone(stage)));
    }
    let mut trading = tokio::task::JoinSet::new();
    for buyer in buyers {
        trading.spawn_local(buyer.run());
    }
    // The buyers are dropped with the sets when one of the others wins.
    tokio::select! {
        biased;
        _ = async { while trading.join_next().await.is_some() {} } => {
            let sold_out = stage.stock.borrow().left().iter().all(|left| *left <= 0);
            let workers = stage.plan.scenario.workload.workers;
            let all_gone = (0..workers).all(|worker| stage.roster.is_down(worker));
            match (sold_out, all_gone) {
                (true, _) => EndReason::SoldOut,
                (false, true) => EndReason::NoWorkers,
                (false, false) => EndReason::Served,
            }
        }
        () = tokio::time::sleep(limit) => EndReason::Limit,
        () = interrupt => EndReason::Interrupted,
    }
}

async fn let_them_come<W>(stage: Rc<Stage<W>>) {
    if let Some(arrivals) = &stage.arrivals {
        arrivals.come(&stage.clock).await;
    }
}

fn header<W: World>(world: &W, plan: &Plan, subject: &str) -> Header {
    let scenario = &plan.scenario;
    Header {
        format: FORMAT.to_owned(),
        scenario: scenario.name.clone(),
        subject: subject.to_owned(),
        backend: world.name().to_owned(),
        seed: plan.seed,
        workers: scenario.workload.workers,
        nodes: plan.nodes,
        keys: plan.keys.clone(),
        ttl_ms: plan.ttl_ms(),
        stock_start: scenario.workload.stock,
        update: scenario.workload.update,
        min_grants: scenario.judge.min_grants,
        progress_within_ms: millis(scenario.judge.progress_within.resolve(plan.ttl)),
    }
}
