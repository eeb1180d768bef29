//! One run, from the start of the workers to the final examination of the nodes.

use std::future::Future;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::client_driver::ClientDriver;
use super::probe::probe;
use super::requests::record_idle_wait;
use super::shutdown::Shutdown;
use super::work::record_untested_extensions;
use super::{stall, stock_store};
use crate::backend::{Backend, Refusal};
use crate::clock::millis;
use crate::context::{DueFault, RunContext};
use crate::history::{EndReason, Event, EventKind, FORMAT, Header, History, KeyName};
use crate::key_history::name_clients;
use crate::nemesis::Nemesis;
use crate::proxy::CommandsSent;
use crate::run_result::RunResult;
use crate::spec::RunSpec;

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A worker could not be started.
    #[error("{refusal}")]
    Worker {
        /// Which.
        worker: usize,
        /// Why not.
        refusal: Refusal,
    },
    /// The user interrupted it before the buyers began.
    #[error("interrupted before the buyers began")]
    Interrupted,
}

/// Runs the buyers under the lock until they are done, the limit is reached, or `interrupt` is
/// ready; then ends all faults, runs the probe, and records what is left. After an interrupt there is no
/// probe, and what does not end soon is left to the end of the backend. `due` has the faults that are
/// due, from the triggers of the context. What only the backend knows is not in the result yet.
///
/// # Errors
/// A worker could not be started: there was no run.
pub async fn run<B: Backend>(
    context: Rc<RunContext<B>>,
    due: mpsc::UnboundedReceiver<DueFault>,
    interrupt: impl Future<Output = ()>,
) -> Result<RunResult, RunError> {
    let mut interrupt = std::pin::pin!(interrupt.fuse());
    let buyers = tokio::select! {
        biased;
        hired = start_workers(&context) => match hired {
            Err(RunError::Worker { refusal: Refusal::NoSentinels(message), .. }) => {
                return Ok(without_sentinels(&context, message));
            }
            hired => hired?,
        },
        () = &mut interrupt => return Err(RunError::Interrupted),
    };
    let capabilities = context.backend.capabilities().await;
    let setup = context.clock.elapsed();
    begin(&context);
    must_be_a_backend_of_the_scenario(&context);

    stock_store::fill(&context).await;
    let nemesis = Nemesis::new(&context, &capabilities);
    let (ready, faults_ready) = oneshot::channel();
    let faults = tokio::task::spawn_local(Rc::clone(&nemesis).run(due, ready));
    // If the nemesis has ended, there is nothing to wait for.
    faults_ready.await.unwrap_or_default();
    let watches = capabilities.can_stall().then(|| stall::begin(&context));
    let mut reason = run_workload(&context, buyers, interrupt.as_mut()).await;
    let mut end = Shutdown::begin(interrupt);
    record_arrivals(&context);
    record_untested(&context);
    record_traffic(&context);
    faults.abort();
    nemesis.settle();
    end.step(nemesis.undo_all()).await;
    // Most workers have ended. The others must not hold a lock during the probe.
    end.step(context.backend.kill_all_workers()).await;
    if end.step(stock_store::count(&context)).await.is_none() {
        stock_store::record_uncounted(&context);
    }
    let (stock_left, sold) = {
        let stock = context.stock.borrow();
        (stock.left(), stock.sold())
    };
    if end.is_interrupted()
        || end
            .until_interrupted(probe(&context, reason))
            .await
            .is_none()
    {
        reason = EndReason::Interrupted;
    }
    nemesis.close_endless_links();
    watches.iter().flatten().for_each(JoinHandle::abort);
    stall::record_incidents(&context);
    end.step(stall::record_liveness_events(&context, true))
        .await;
    context.recorder.write(EventKind::End {
        reason,
        stock_left,
        sold,
    });
    let workload = context.clock.elapsed();
    let identity = context.identity.take().unwrap_or_default();
    // A label stands even if the lock reports a name.
    let lock = &context.spec.lock;
    let name = identity.name.filter(|_| lock.typed.is_none());
    let name = name.unwrap_or_else(|| lock.name.clone());
    let mut result = RunResult::from_history(history(&context, &name, &mut end).await);
    result.lock_version = identity.version;
    result.phases.setup_ms = millis(setup);
    result.phases.workload_ms = millis(workload);
    Ok(result)
}

/// The buyers begin, at the time zero.
fn begin<B: Backend>(context: &RunContext<B>) {
    context.recorder.begin();
    context.backend.begin();
}

/// What came out of a run that is about Sentinels, with a lock that knows none: nobody bought anything.
fn without_sentinels<B: Backend>(context: &RunContext<B>, message: String) -> RunResult {
    begin(context);
    let refused = EventKind::SentinelsRefused { message };
    context.recorder.write(refused);
    let stock = context.stock.borrow();
    context.recorder.write(EventKind::End {
        reason: EndReason::Declined,
        stock_left: stock.left(),
        sold: stock.sold(),
    });
    let lock = &context.spec.lock.name;
    RunResult::from_history(History {
        header: header(context.backend.as_ref(), &context.spec, lock),
        events: context.recorder.take(),
    })
}

/// In an open loop: writes down how many buyers came.
fn record_arrivals<B>(context: &RunContext<B>) {
    if let Some(arrivals) = &context.arrivals {
        context.recorder.write(EventKind::Arrivals {
            came: arrivals.came(),
            unserved: arrivals.waiting(),
        });
    }
}

/// Writes down what the workers have sent to acquire, and who slept until the end.
fn record_traffic<B: Backend>(context: &RunContext<B>) {
    for worker in 0..context.spec.scenario.workload.workers {
        if !context.live_workers.is_down(worker) {
            record_idle_wait(context, worker);
        }
        record_slow_start(context, worker);
    }
    let CommandsSent { acquiring, holding } = context.backend.commands_sent();
    context.recorder.write(EventKind::CommandsSent {
        acquiring,
        holding: Some(holding),
    });
}

/// Writes down when a worker sent its first command, if that was late.
fn record_slow_start<B: Backend>(context: &RunContext<B>, worker: usize) {
    let shortest_ns = context.spec.shortest_delay().as_nanos() as u64;
    let silence = context.backend.first_silence(worker);
    let late =
        silence.filter(|(from_ns, until_ns)| until_ns.saturating_sub(*from_ns) > shortest_ns);
    if let Some((from_ns, until_ns)) = late {
        context.recorder.write(EventKind::SlowStart {
            worker,
            from_ns,
            until_ns,
        });
    }
}

/// What the driver has seen, with what the servers have.
async fn history<B: Backend>(
    context: &RunContext<B>,
    lock: &str,
    end: &mut Shutdown<'_, impl FusedFuture<Output = ()>>,
) -> History {
    let mut header = header(context.backend.as_ref(), &context.spec, lock);
    let mut events = context.recorder.take();
    let changes = end.step(context.backend.key_changes()).await;
    let changes = changes.unwrap_or_else(|| Err("the user did not wait for it".into()));
    let named = changes.and_then(|mut changes| {
        if context.spec.lock.command.is_some() {
            let warm_up = context.spec.warm_up_prefix();
            changes.retain(|change| !is_of_key_with(&warm_up, change));
        }
        events = merge(std::mem::take(&mut events), changes);
        name_clients_of_changes(context, &mut events)
    });
    match named {
        Ok(()) => {
            header.key_history = true;
            header.key_history_check = context.backend.key_history_check().await;
        }
        // Verdicts rest on what the driver saw, then, and the report says so.
        Err(reason) => {
            events.retain(|event| !matches!(event.what, EventKind::KeyChanged { .. }));
            record_missing_key_history(&mut events, reason);
        }
    }
    History { header, events }
}

/// True if it is about a key whose name contains this.
fn is_of_key_with(part: &str, event: &Event) -> bool {
    let (EventKind::KeyChanged { key, .. } | EventKind::UndeclaredKey { key, .. }) = &event.what
    else {
        return false;
    };
    matches!(key, KeyName::Other(name) if name.contains(part))
}

/// Where the clients of a process share its connections: whose command each change was.
fn name_clients_of_changes<B: Backend>(
    context: &RunContext<B>,
    events: &mut [Event],
) -> Result<(), String> {
    if !context.backend.shares_connections() {
        return Ok(());
    }
    let workload = &context.spec.scenario.workload;
    name_clients(events, &context.spec.keys(), workload).map_err(|unnamed| unnamed.to_string())
}

fn record_missing_key_history(events: &mut Vec<Event>, reason: String) {
    let end = events.pop();
    events.extend(end.as_ref().map(|end| Event {
        at_ns: end.at_ns,
        what: EventKind::KeyHistoryIncomplete { reason },
    }));
    events.extend(end);
}

/// Two lists of events as one, in the order of time. At one time the driver's events come first: a
/// fault begins before it changes a key.
fn merge(driver: Vec<Event>, keys: Vec<Event>) -> Vec<Event> {
    if keys.is_empty() {
        return driver;
    }
    let mut merged = Vec::with_capacity(driver.len() + keys.len());
    // The end of the run is the last event, whatever a server did at that time.
    let end_ns = driver.last().map_or(0, |end| end.at_ns);
    let mut keys = keys.into_iter().peekable();
    for event in driver {
        while let Some(key) = keys.next_if(|key| key.at_ns.min(end_ns) < event.at_ns) {
            merged.push(key);
        }
        if matches!(event.what, EventKind::End { .. }) {
            merged.extend(keys.by_ref().map(|key| Event {
                at_ns: key.at_ns.min(end_ns),
                ..key
            }));
        }
        merged.push(event);
    }
    merged.extend(keys);
    merged
}

/// A run in a backend that the scenario is not made for is not judged.
fn must_be_a_backend_of_the_scenario<B: Backend>(context: &RunContext<B>) {
    let scenario = &context.spec.scenario;
    let backend = context.backend.name();
    if !scenario.runs_in(backend) {
        let supported = scenario.backends.clone();
        let unsupported = EventKind::BackendUnsupported { backend, supported };
        context.recorder.write(unsupported);
    }
}

async fn start_workers<B: Backend>(
    context: &Rc<RunContext<B>>,
) -> Result<Vec<ClientDriver<B>>, RunError> {
    let workers = 0..context.spec.scenario.workload.workers;
    let starts = workers.map(|worker| async move {
        let started = ClientDriver::start(context, worker, 0).await;
        started.map_err(|refusal| RunError::Worker { worker, refusal })
    });
    futures_util::future::try_join_all(starts).await
}

/// What nobody came to ask of the lock, or what it does not offer.
fn record_untested<B: Backend>(context: &RunContext<B>) {
    record_untested_extensions(context);
    if let Some(feature) = context.applicability.not_offered() {
        context.recorder.write(EventKind::NotOffered { feature });
    }
}

/// Runs the buyers, and returns why they ended.
async fn run_workload<B: Backend>(
    context: &Rc<RunContext<B>>,
    buyers: Vec<ClientDriver<B>>,
    interrupt: impl Future<Output = ()>,
) -> EndReason {
    let workload = &context.spec.scenario.workload;
    let limit = workload.limit.resolve(context.spec.ttl());
    // The first buyer arrives before a worker is ready to serve it.
    let mut coming = tokio::task::JoinSet::new();
    if context.arrivals.is_some() {
        coming.spawn_local(generate_arrivals(Rc::clone(context)));
    }
    let mut trading = tokio::task::JoinSet::new();
    let mut served = Vec::new();
    for buyer in buyers {
        trading.spawn_local(buyer.run());
    }
    // If one of the others finishes first, the buyers are dropped.
    tokio::select! {
        biased;
        () = context.applicability.declined() => EndReason::Declined,
        () = async { while let Some(buyer) = trading.join_next().await { served.push(buyer) } } => {
            let sold_out = context.stock.borrow().left().iter().all(|left| *left <= 0);
            let mut workers = 0..workload.workers;
            let all_gone = workers.all(|worker| context.live_workers.is_down(worker));
            match (sold_out, all_gone) {
                (true, _) => EndReason::SoldOut,
                (false, true) => EndReason::NoWorkers,
                (false, false) => EndReason::Served,
            }
        }
        reason = context.early_end.requested() => reason,
        () = tokio::time::sleep(limit) => EndReason::Limit,
        () = interrupt => EndReason::Interrupted,
    }
}

async fn generate_arrivals<B>(context: Rc<RunContext<B>>) {
    if let Some(arrivals) = &context.arrivals {
        arrivals.come(&context.clock).await;
    }
}

fn header<B: Backend>(backend: &B, spec: &RunSpec, lock: &str) -> Header {
    let scenario = &spec.scenario;
    Header {
        format: FORMAT.to_owned(),
        scenario: scenario.name.clone(),
        lock: lock.to_owned(),
        backend: backend.name().to_owned(),
        seed: spec.seed,
        workers: scenario.workload.workers,
        nodes: spec.nodes(),
        quorum: spec.quorum(),
        keys: spec.keys(),
        ttl_ms: spec.ttl_ms(),
        stock_start: scenario.workload.stock,
        update: scenario.workload.update,
        min_grants: scenario.judge.min_grants,
        progress_within_ms: millis(scenario.judge.progress_within.resolve(spec.ttl())),
        renews: spec.lock.renews,
        key_history: false,
        key_history_check: None,
    }
}
