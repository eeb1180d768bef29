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

/// Number of lines at the end of a worker's log to show if the worker did not start.
const LAST_LINES: usize = 8;

/// How long an interrupted setup waits for its clean-up. The user expects a response within a second.
const CLEAN_UP_PATIENCE: Duration = Duration::from_millis(500);

/// The programs and servers that a run on real servers uses.
#[derive(Debug, Clone)]
pub struct ServerSetup {
    /// An image, a binary or external servers.
    pub servers: ServerKind,
    /// The command that starts a worker process. It speaks the adapter protocol.
    pub worker: WorkerCommand,
    /// The program of the clean-up helper, which calls [`run_reaper`](crate::servers::run_reaper).
    pub reaper: PathBuf,
    /// The helper's arguments.
    pub reaper_args: Vec<OsString>,
    /// Whether this process runs only one run at a time and starts nothing else. If so, every child process that is
    /// left after a run was started by a worker, and is killed.
    pub starts_only_runs: bool,
}

/// Starts servers and workers, runs the scenario, and shuts everything down.
pub(super) async fn run(
    spec: &RunSpec,
    backend: ServerSetup,
    observer: Rc<dyn Observer>,
    interrupt: LocalBoxFuture<'_, ()>,
) -> Result<RunResult, RunFailure> {
    let mut interrupt = std::pin::pin!(interrupt.fuse());
    let clock = Clock::start();
    let (triggers, due) = Triggers::for_plans(&spec.scenario.faults, spec.needed_nodes());
    let triggers = triggers.for_renewals(spec.lock.renews);
    let triggers = Arc::new(triggers);
    let proxy = Proxy::new(clock.clone(), spec.keys(), spec.seed, triggers.clone());
    observer.phase(RunPhase::Setup);
    let adoption = Some(adopt_orphans()).filter(|_| backend.starts_only_runs);
    let reaper = Reaper::spawn(&backend.reaper, &backend.reaper_args)?;
    let (backend, redis, dir) = tokio::select! {
        () = &mut interrupt => {
            // Servers that were being started have been dropped by now. An engine may take seconds to remove them.
            reaper.finish_within(CLEAN_UP_PATIENCE).await;
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
    let outcome = driver::run(context, due, interrupt.as_mut()).await;
    observer.phase(RunPhase::Teardown);
    let before = clock.elapsed();
    let end = Shutdown::begin(interrupt);
    let down = take_down(spec, &backend, &reaper, adoption, end).await;
    let mut result = outcome.map_err(|error| {
        let incidents = proxy.take_incidents();
        if incidents.is_empty() {
            return with_log(error, dir.path());
        }
        let messages: Vec<String> = incidents.iter().map(ToString::to_string).collect();
        RunFailure::ResourceExhausted(messages.join("; "))
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

/// Stops everything that the run has started. After an interrupt, steps that take too long are left to the reaper.
/// Returns a description of the keys that remain on external servers, or `None` if there are none.
async fn take_down(
    spec: &RunSpec,
    backend: &ServerBackend,
    reaper: &Reaper,
    adoption: Option<Adoption>,
    mut end: Shutdown<'_, impl FusedFuture<Output = ()>>,
) -> Result<Option<String>, BackendError> {
    let mut shutdown = std::pin::pin!(async {
        let stray = backend.stray_keys().await;
        let down = backend.take_down().await;
        if let Some(adoption) = adoption {
            adoption.end_strays(reaper.process_id()).await;
        }
        match down {
            Err(error @ BackendError::External { .. }) => Ok(Some(error.to_string())),
            down => down.map(|()| describe_stray_keys(&stray)),
        }
    });
    end.step(shutdown.as_mut()).await.unwrap_or_else(|| {
        reaper.leave();
        let prefix = spec.key_prefix();
        let left = || format!("keys with {prefix} in their names may still be on the servers");
        Ok(spec.servers.external.as_ref().map(|_| left()))
    })
}

/// Describes the keys that a lock has written without the run's prefix in their names.
fn describe_stray_keys(stray: &[String]) -> Option<String> {
    let first = stray.first()?;
    Some(format!(
        "the lock changed {} keys whose names do not contain the run's prefix, such as {}; they are still on the server",
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
    // Remove processes and containers of earlier runs that were not cleaned up.
    sweep().await;
    let dir = RunDir::create(reaper)?;
    let scenario = &spec.scenario;
    let needs = |capability| {
        let mut faults = scenario.faults.iter();
        faults.any(|fault| fault.needs().contains(&capability))
    };
    // The stock is stored on a separate server without links.
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
    // A connection to an external server passes through more sockets.
    let sockets_per_link = if external.is_some() { 3 } else { 1 };
    DescriptorNeed {
        workers: scenario.workload.workers,
        nodes,
        servers: layout.nodes * (1 + layout.replicas) + layout.sentinels,
        links: sockets_per_link * (nodes * servers_of_a_node + layout.sentinels),
    }
    .ensure()?;
    let name = backend.servers.backend();
    let servers = Servers::start(&backend.servers, layout, dir.path(), reaper).await?;
    let redis = servers.server().clone();
    let clock_shim = if needs(Capability::WorkerClocks) {
        WallClockShim::install(dir.path())?
    } else {
        None
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
    let keys = spec.keys();
    backend.observe(layout.replicas, &keys, clock).await?;
    Ok((backend, redis, dir))
}

/// Adds the last lines of the worker's log, which often explain more than the error does.
fn with_log(error: RunError, dir: &Path) -> RunFailure {
    let RunError::Worker { worker, .. } = &error else {
        return RunFailure::Interrupted;
    };
    let log = last_lines(&dir.join(format!("worker-{worker}.log")), LAST_LINES);
    RunFailure::Worker { log, error }
}
