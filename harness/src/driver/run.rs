//! One run, from the start of the workers to the final examination of the nodes.

use std::future::Future;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use picklock_scenarios::LockKind;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::client_driver::ClientDriver;
use super::probe::probe;
use super::requests::record_idle_wait;
use super::shutdown::Shutdown;
use super::work::record_untested_extensions;
use super::{stall, stock_store};
use crate::backend::{Backend, MissingKeyHistory, Refusal};
use crate::clock::{millis, nanos};
use crate::context::{DueFault, RunContext};
use crate::history::{EndReason, Event, EventKind, FORMAT, Header, History, KeyName};
use crate::key_history::attribute;
use crate::nemesis::Nemesis;
use crate::proxy::CommandsSent;
use crate::run_result::RunResult;
use crate::spec::RunSpec;

/// The reason why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A worker could not be started.
    #[error("{refusal}")]
    Worker {
        /// The worker's number.
        worker: usize,
        /// The backend's or worker's reason.
        refusal: Refusal,
    },
    /// The user interrupted the run before the clients started.
    #[error("interrupted before the clients started")]
    Interrupted,
}

/// Runs the clients until they are done, the limit is reached, or `interrupt` is ready. Then it ends all faults, runs
/// the probe, and records the rest. After an interrupt there is no probe, and steps that do not end soon are cancelled,
/// because the backend cleans up at its end anyway. `due` receives the faults whose triggers in the context have fired.
/// The result does not yet contain the data that only the backend has.
///
/// # Errors
/// Returns an error if a worker could not be started. In that case no client ran.
pub async fn run<B: Backend>(
    context: Rc<RunContext<B>>,
    due: mpsc::UnboundedReceiver<DueFault>,
    interrupt: impl Future<Output = ()>,
) -> Result<RunResult, RunError> {
    let mut interrupt = std::pin::pin!(interrupt.fuse());
    let clients = tokio::select! {
        biased;
        started = start_workers(&context) => match started {
            Err(RunError::Worker { refusal: Refusal::NoSentinels(message), .. }) => {
                return Ok(record_missing_sentinels(&context, message));
            }
            started => started?,
        },
        () = &mut interrupt => return Err(RunError::Interrupted),
    };
    let capabilities = context.backend.capabilities().await;
    let setup = context.clock.elapsed();
    begin(&context);
    check_backend_support(&context);

    stock_store::fill(&context).await;
    let nemesis = Nemesis::new(&context, &capabilities);
    let (ready, faults_ready) = oneshot::channel();
    let faults = tokio::task::spawn_local(Rc::clone(&nemesis).run(due, ready));
    // If the nemesis has ended, there is nothing to wait for.
    faults_ready.await.unwrap_or_default();
    let watches = capabilities.can_stall().then(|| stall::begin(&context));
    let mut reason = run_workload(&context, clients, interrupt.as_mut()).await;
    let mut end = Shutdown::begin(interrupt);
    record_arrivals(&context);
    record_untested(&context);
    record_traffic(&context);
    faults.abort();
    nemesis.settle();
    end.step(nemesis.undo_all()).await;
    // Workers that are still running must not hold a lock during the probe.
    end.step(context.backend.kill_all_workers()).await;
    if end.step(stock_store::count(&context)).await.is_none() {
        stock_store::record_uncounted(&context);
    }
    let stock_left = context.stock.borrow().remaining();
    let sold = context.stock.borrow().sold();
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
    // The user's label takes precedence over the name that the lock reports.
    let lock = &context.spec.lock;
    let reported_name = identity.name.filter(|_| lock.typed.is_none());
    let name = reported_name.unwrap_or_else(|| lock.name.clone());
    let mut result = RunResult::from_history(history(&context, &name, &mut end).await);
    result.lock_version = identity.version;
    result.phases.setup_ms = millis(setup);
    result.phases.workload_ms = millis(workload);
    Ok(result)
}

/// Starts the run's clock at zero, when the clients begin.
fn begin<B: Backend>(context: &RunContext<B>) {
    context.recorder.begin();
    context.backend.begin();
}

/// Returns the result, in which no client bought anything, of a scenario with Sentinels for a lock that does not
/// support them.
fn record_missing_sentinels<B: Backend>(context: &RunContext<B>, message: String) -> RunResult {
    begin(context);
    let refused = EventKind::SentinelsRefused { message };
    context.recorder.write(refused);
    let stock = context.stock.borrow();
    context.recorder.write(EventKind::End {
        reason: EndReason::Declined,
        stock_left: stock.remaining(),
        sold: stock.sold(),
    });
    let lock = &context.spec.lock.name;
    RunResult::from_history(History {
        header: header(context.backend.as_ref(), &context.spec, lock),
        events: context.recorder.take(),
    })
}

/// In an open loop, records the number of arrivals.
fn record_arrivals<B>(context: &RunContext<B>) {
    if let Some(arrivals) = &context.arrivals {
        context.recorder.write(EventKind::Arrivals {
            came: arrivals.arrived(),
            unserved: arrivals.waiting(),
        });
    }
}

/// Records the workers' acquire traffic, and the workers that were idle until the end.
fn record_traffic<B: Backend>(context: &RunContext<B>) {
    for worker in 0..context.spec.scenario.workload.workers {
        if !context.live_workers.is_down(worker) {
            record_idle_wait(context, worker, false);
        }
        record_slow_start(context, worker);
    }
    let CommandsSent { acquiring, holding } = context.backend.commands_sent();
    context.recorder.write(EventKind::CommandsSent {
        acquiring,
        holding: Some(holding),
    });
}

/// Records when a worker sent its first command, if that was notably later than its first request.
fn record_slow_start<B: Backend>(context: &RunContext<B>, worker: usize) {
    let shortest_ns = nanos(context.spec.shortest_delay());
    let first_wait = context.backend.first_idle_wait(worker);
    let late =
        first_wait.filter(|(from_ns, until_ns)| until_ns.saturating_sub(*from_ns) > shortest_ns);
    if let Some((from_ns, until_ns)) = late {
        context.recorder.write(EventKind::SlowStart {
            worker,
            from_ns,
            until_ns,
        });
    }
}

/// Assembles the history from the driver's events and the servers' key changes. `key_history::attribute` then
/// determines whose changes they are.
async fn history<B: Backend>(
    context: &RunContext<B>,
    lock: &str,
    end: &mut Shutdown<'_, impl FusedFuture<Output = ()>>,
) -> History {
    let mut header = header(context.backend.as_ref(), &context.spec, lock);
    header.declares = header.declares.or(context.declared.get());
    let mut events = context.recorder.take();
    let changes = end.step(context.backend.key_changes()).await;
    let changes = changes.unwrap_or_else(|| {
        Err("the user interrupted the run before it happened"
            .to_owned()
            .into())
    });
    let merged = changes.and_then(|mut changes| {
        if context.spec.lock.command.is_some() {
            let warm_up = context.spec.warm_up_prefix();
            changes.retain(|change| !is_change_of_key_with(&warm_up, change));
        }
        events = merge(std::mem::take(&mut events), changes);
        attribute_changes(context, &mut events).map_err(MissingKeyHistory::from)
    });
    match merged {
        Ok(()) => {
            header.key_history = true;
            header.key_history_check = context.backend.key_history_check().await;
        }
        // The verdicts then rest only on the driver's events, and the report states this.
        Err(missing) => {
            events.retain(|event| !matches!(event.what, EventKind::KeyChanged { .. }));
            record_missing_key_history(&mut events, missing);
        }
    }
    History { header, events }
}

/// Returns `true` if the event concerns a key whose name contains `part`.
fn is_change_of_key_with(part: &str, event: &Event) -> bool {
    let (EventKind::KeyChanged { key, .. } | EventKind::UndeclaredKey { key, .. }) = &event.what
    else {
        return false;
    };
    matches!(key, KeyName::Other(name) if name.contains(part))
}

/// Determines the client and the attempt behind each change of a key.
fn attribute_changes<B: Backend>(
    context: &RunContext<B>,
    events: &mut Vec<Event>,
) -> Result<(), String> {
    let (spec, backend) = (&context.spec, &context.backend);
    let workload = &spec.scenario.workload;
    let kind = match spec.lock.kind {
        None | Some(LockKind::Mutex) => workload.kind.lock_kind(),
        Some(kind) => kind,
    };
    attribute(
        events,
        &spec.keys(),
        workload,
        kind,
        backend.shares_connections(),
    )
    .map_err(|unnamed| unnamed.to_string())
}

fn record_missing_key_history(events: &mut Vec<Event>, missing: MissingKeyHistory) {
    let end = events.pop();
    events.extend(end.as_ref().map(|end| Event {
        at_ns: end.at_ns,
        what: EventKind::KeyHistoryIncomplete {
            reason: missing.reason,
            has_gap: missing.is_gap,
        },
    }));
    events.extend(end);
}

/// Merges two lists of events in chronological order. If times are equal, the driver's events come first, because a
/// fault begins before it changes a key.
fn merge(driver: Vec<Event>, keys: Vec<Event>) -> Vec<Event> {
    if keys.is_empty() {
        return driver;
    }
    let mut merged = Vec::with_capacity(driver.len() + keys.len());
    // The end of the run stays the last event, even if a server did something at the same time.
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

/// Records the fact that the scenario does not support the backend, if this is the case. The run is then inconclusive.
fn check_backend_support<B: Backend>(context: &RunContext<B>) {
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

/// Records the features that no client requested, or that the lock does not offer.
fn record_untested<B: Backend>(context: &RunContext<B>) {
    record_untested_extensions(context);
    if let Some(feature) = context.applicability.not_offered() {
        context.recorder.write(EventKind::NotOffered { feature });
    }
}

/// Runs the clients, and returns why they ended.
async fn run_workload<B: Backend>(
    context: &Rc<RunContext<B>>,
    clients: Vec<ClientDriver<B>>,
    interrupt: impl Future<Output = ()>,
) -> EndReason {
    let workload = &context.spec.scenario.workload;
    let limit = workload.limit.resolve(context.spec.ttl());
    // Buyers may arrive before a worker is ready to serve them.
    let mut arrivals_task = tokio::task::JoinSet::new();
    if context.arrivals.is_some() {
        arrivals_task.spawn_local(generate_arrivals(Rc::clone(context)));
    }
    let mut running = tokio::task::JoinSet::new();
    let mut finished = Vec::new();
    for client in clients {
        running.spawn_local(client.run());
    }
    // If another branch finishes first, the futures of the clients are dropped.
    let reason = tokio::select! {
        biased;
        () = context.applicability.declined() => EndReason::Declined,
        () = async { while let Some(client) = running.join_next().await { finished.push(client) } } => {
            let sold_out = context.stock.borrow().remaining().iter().all(|left| *left <= 0);
            let mut workers = 0..workload.workers;
            let all_gone = workers.all(|worker| context.live_workers.is_down(worker));
            if sold_out {
                EndReason::SoldOut
            } else if all_gone {
                EndReason::NoWorkers
            } else {
                EndReason::Served
            }
        }
        reason = context.early_end.requested() => reason,
        () = tokio::time::sleep(limit) => EndReason::Limit,
        () = interrupt => EndReason::Interrupted,
    };
    for client in finished.iter_mut().flatten() {
        client.record_exit().await;
    }
    reason
}

async fn generate_arrivals<B>(context: Rc<RunContext<B>>) {
    if let Some(arrivals) = &context.arrivals {
        arrivals.generate(&context.clock).await;
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
        capacity: scenario.workload.lock_capacity(),
        kind: scenario.workload.kind.lock_kind(),
        ttl_ms: spec.ttl_ms(),
        stock_start: scenario.workload.stock,
        update: scenario.workload.update,
        min_grants: scenario.judge.min_grants,
        progress_within_ms: millis(scenario.judge.progress_within.resolve(spec.ttl())),
        max_overtakes: scenario.judge.max_overtakes,
        schedule: spec.schedule(),
        renews: spec.lock.renews,
        declares: spec.lock.declares,
        key_history: false,
        key_history_check: None,
    }
}
