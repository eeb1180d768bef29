//! One run on real Redis servers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{FusedFuture, LocalBoxFuture};
use picklock_scenarios::{Capability, StockPlace};

use super::error::RunFailure;
use super::observer::{Observer, RunPhase};
use crate::adapter::capped_log::last_lines;
use crate::adapter::worker_command::WorkerCommand;
use crate::clock::{Clock, millis};
use crate::context::{RunContext, Triggers};
use crate::driver::{self, RunError, Shutdown};
use crate::external_servers::SharedServers;
use crate::proxy::Proxy;
use crate::record::Redis;
use crate::run_result::RunResult;
use crate::server_backend::{Parts, ServerBackend};
use crate::servers::{
    Adoption, BackendError, DescriptorNeed, Layout, Reaper, RunDir, ServerKind, Servers,
    WallClockShim, WorkerContainers, adopt_orphans, sweep,
};
use crate::spec::RunSpec;

/// This many of the last lines of a worker's log explain why it did not start.
const LAST_LINES: usize = 8;

/// How long an interrupted setup waits for its clean-up. Its user wants an answer within a second.
const ANSWER: Duration = Duration::from_millis(500);

/// What a run on real servers starts.
#[derive(Debug, Clone)]
pub struct ServerSetup {
    /// The servers: an image or a binary.
    pub servers: ServerKind,
    /// What starts a worker process. It speaks the adapter protocol.
    pub worker: WorkerCommand,
    /// The program of the clean-up helper, which calls
    /// [`run_reaper`](crate::servers::run_reaper).
    pub reaper: PathBuf,
    /// The helper's arguments.
    pub reaper_args: Vec<OsString>,
    /// True in a process that starts nothing but runs, one at a time: every child that it has after one was
    /// started by a worker, and is ended with it.
    pub starts_only_runs: bool,
}

/// Starts servers and workers, runs the scenario, and takes everything down again.
pub(super) async fn run(
    spec: &RunSpec,
    backend: ServerSetup,
    observer: Rc<dyn Observer>,
    interrupt: LocalBoxFuture<'_, ()>,
) -> Result<RunResult, RunFailure> {
    let mut interrupt = std::pin::pin!(interrupt.fuse());
    let clock = Clock::start();
    let (triggers, due) = Triggers::for_plans(&spec.scenario.faults, spec.needed_nodes());
    let triggers = Arc::new(triggers);
    let proxy = Proxy::new(clock.clone(), spec.keys(), spec.seed, triggers.clone());
    observer.phase(RunPhase::Setup);
    let adoption = adopt_orphans();
    let adoption = backend.starts_only_runs.then_some(adoption);
    let reaper = Reaper::spawn(&backend.reaper, &backend.reaper_args)?;
    let (backend, redis, dir) = tokio::select! {
        () = &mut interrupt => {
            // What had begun to start is dropped by now. An engine may take seconds to remove it.
            reaper.finish_within(ANSWER).await;
            return Err(RunFailure::Interrupted);
        }
        prepared = prepare(spec, backend, &reaper, (&proxy, &clock)) => prepared?,
    };
    let listener = Rc::clone(&observer);
    let backend = Rc::new(backend);
    let context = RunContext::new(
        Rc::clone(&backend),
        Rc::new(spec.clone()),
        clock.clone(),
        triggers,
        Box::new(move |event| listener.event(event)),
    );
    let ran = driver::run(context, due, interrupt.as_mut()).await;
    observer.phase(RunPhase::Teardown);
    let before = clock.elapsed();
    let end = Shutdown::begin(interrupt);
    let down = take_down(spec, &backend, &reaper, adoption, end).await;
    let mut result = ran.map_err(|error| {
        let shortages = proxy.take_incidents();
        if shortages.is_empty() {
            return with_log(error, dir.path());
        }
        let words: Vec<String> = shortages.iter().map(ToString::to_string).collect();
        RunFailure::ResourceExhausted(words.join("; "))
    })?;
    let left_behind = down?;
    result.phases.teardown_ms = millis(clock.elapsed().saturating_sub(before));
    Ok(RunResult {
        redis,
        command_log: Some(proxy.log().clone()),
        logs: Some(dir),
        left_behind,
        ..result
    })
}

/// Ends what the run has started. What takes too long after an interrupt is left to the reaper. Returns in words
/// what is still on servers that somebody else has started.
async fn take_down(
    spec: &RunSpec,
    backend: &ServerBackend,
    reaper: &Reaper,
    adoption: Option<Adoption>,
    mut end: Shutdown<'_, impl FusedFuture<Output = ()>>,
) -> Result<Option<String>, BackendError> {
    let mut taking = std::pin::pin!(async {
        let stray = backend.stray_keys().await;
        let down = backend.take_down().await;
        if let Some(adoption) = adoption {
            adoption.end_strays(reaper.process_id()).await;
        }
        match down {
            Err(error @ BackendError::External { .. }) => Ok(Some(error.to_string())),
            down => down.map(|()| written_beside(&stray)),
        }
    });
    let down = end.step(taking.as_mut()).await;
    down.unwrap_or_else(|| {
        reaper.leave();
        let prefix = spec.key_prefix();
        let left = || format!("keys with {prefix} in their names may still be on the servers");
        Ok(spec.servers.external.as_ref().map(|_| left()))
    })
}

/// Keys that a lock has written under names of its own.
fn written_beside(stray: &[String]) -> Option<String> {
    let first = stray.first()?;
    Some(format!(
        "the lock changed {} keys whose names do not contain the one that it was given, such as {}: they are still on \
         the server",
        stray.len(),
        first.escape_debug()
    ))
}

async fn prepare(
    spec: &RunSpec,
    backend: ServerSetup,
    reaper: &Reaper,
    (proxy, clock): (&Proxy, &Clock),
) -> Result<(ServerBackend, Redis, RunDir), RunFailure> {
    let nodes = spec.nodes();
    // Removes what an earlier run left behind.
    sweep().await;
    let dir = RunDir::create(reaper)?;
    let scenario = &spec.scenario;
    let needs = |one| (scenario.faults.iter()).any(|fault| fault.needs().contains(&one));
    // The stock has a server of its own, to which no link leads.
    let has_store = scenario.workload.stock_in == StockPlace::Redis;
    let external = spec.servers.external.as_ref();
    let cluster = external.filter(|external| external.is_cluster);
    let layout = Layout {
        nodes: match cluster {
            Some(cluster) => cluster.servers.len(),
            None => nodes + usize::from(has_store),
        },
        replicas: scenario.topology.replicas,
        sentinels: scenario.topology.sentinels,
        persistence: scenario.topology.persistence,
        clocks_shift: needs(Capability::NodeClocks),
    };
    let servers_of_a_node = match layout.sentinels {
        0 if cluster.is_some() => layout.nodes,
        0 => 1,
        _ => 1 + layout.replicas,
    };
    // A connection to a server that is not ours has more ends.
    let ends = match (external, cluster) {
        (_, Some(_)) => 3,
        (Some(_), _) => 2,
        _ => 1,
    };
    DescriptorNeed {
        workers: scenario.workload.workers,
        nodes,
        servers: layout.nodes * (1 + layout.replicas) + layout.sentinels,
        links: ends * (nodes * servers_of_a_node + layout.sentinels),
    }
    .ensure()?;
    let name = backend.servers.backend();
    let servers = Servers::start(&backend.servers, layout, dir.path(), reaper).await?;
    let redis = servers.server().clone();
    let clock_shim = match needs(Capability::WorkerClocks) {
        true => WallClockShim::install(dir.path())?,
        false => None,
    };
    let (image, environment) = (&backend.worker.image, &backend.worker.environment);
    let containers = WorkerContainers::prepare(image.as_deref(), environment, reaper).await?;
    let parts = Parts {
        shared: external.map(|external| Rc::new(SharedServers::from_servers(external))),
        clock_shim,
        name,
        nodes,
        workload: spec.scenario.workload.clone(),
        blocks_tasks: spec.scenario.blocks_tasks(),
        proxy: proxy.clone(),
        clock: clock.clone(),
        command: backend.worker,
        logs: dir.path().to_owned(),
        reaper: reaper.clone(),
    };
    let backend = ServerBackend::new(servers, containers, parts);
    backend
        .observe(layout.replicas, &spec.keys(), clock)
        .await?;
    Ok((backend, redis, dir))
}

/// Adds the last words of the worker, which often say more than the error does.
fn with_log(error: RunError, dir: &Path) -> RunFailure {
    let RunError::Worker { worker, .. } = &error else {
        return RunFailure::Interrupted;
    };
    let log = last_lines(&dir.join(format!("worker-{worker}.log")), LAST_LINES);
    RunFailure::Worker { log, error }
}
