//! A conformance run: a server, an adapter, and all checks.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_scenarios::Persistence;

use super::checks::CHECKS;
use super::clients::{Clients, ConformanceSetup, State};
use super::finding::{CheckResult, CheckStatus, Mistake};
use super::outcome::ConformanceError;
use crate::adapter::message::Answer;
use crate::clock::Clock;
use crate::proxy::{LinkId, NoInterceptor, Proxy};
use crate::record::Redis;
use crate::servers::{
    BackendError, Layout, Reaper, RunDir, ServerKind, Servers, WorkerContainers, adopt_orphans,
    sweep,
};

/// The result of all checks of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceReport {
    /// Name that the adapter reported.
    pub name: Option<String>,
    /// Version that the adapter reported.
    pub version: Option<String>,
    /// The server of the checks.
    pub redis: Redis,
    /// The results of all checks, in the order of the table.
    pub checks: Vec<CheckResult>,
}

impl ConformanceReport {
    /// Returns `true` if no check failed.
    pub fn passed(&self) -> bool {
        let failed = |result: &CheckResult| result.status == CheckStatus::Failed;
        !self.checks.iter().any(failed)
    }
}

/// The only link of the proxy. Both processes of the adapter use it.
const LINK: LinkId = LinkId { worker: 0, node: 0 };

/// Timeout for the server, which is local and answers at once.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs all checks, and calls `on_result` with each result as soon as it is known.
///
/// Must be called on a thread that lives as long as the process, because children die with the thread that started
/// them. If the future is dropped, all servers and processes that it started are ended.
///
/// # Errors
/// Returns an error if the adapter or the server cannot be started.
pub fn check_adapter<'a>(
    setup: ConformanceSetup,
    on_result: &'a mut dyn FnMut(&CheckResult),
) -> LocalBoxFuture<'a, Result<ConformanceReport, ConformanceError>> {
    Box::pin(async move {
        adopt_orphans();
        let reaper =
            Reaper::spawn(&setup.reaper, &setup.reaper_args).map_err(BackendError::from)?;
        sweep().await;
        let dir = RunDir::create(&reaper)?;
        let (image, environment) = (&setup.worker.image, &setup.worker.environment);
        let containers = WorkerContainers::prepare(image.as_deref(), environment, &reaper).await?;
        let layout = Layout {
            nodes: 1,
            replicas: 0,
            sentinels: 0,
            persistence: Persistence::None,
            clocks_shift: false,
        };
        let kind = ServerKind::Process(setup.server.clone());
        let servers = Servers::start(&kind, layout, dir.path(), &reaper).await?;
        let connection = servers.address(0).connection(REPLY_TIMEOUT).await?;
        let redis = servers.server().clone();
        let clock = Clock::start();
        // The server requires a password that the adapter does not have. The proxy logs in for it.
        let interceptor = Arc::new(NoInterceptor);
        let proxy = Proxy::new(clock.clone(), Vec::new(), setup.seed, interceptor);
        proxy.log_in(&servers.password().text());
        let opened = proxy.open(LINK, servers.address(0).socket()).await;
        let address = opened.map_err(ConformanceError::Link)?;
        let mut clients = Clients {
            setup,
            containers,
            logs: dir.path().to_owned(),
            reaper,
            servers,
            proxy,
            address,
            connection,
            clock,
            state: State::default(),
        };
        let checks = all_checks(&mut clients, on_result).await;
        let ready = clients.state.ready.take();
        let ended = clients.end().await;
        let checks = checks?;
        ended?;
        let (name, version) = match ready {
            Some(Answer::Ready { name, version, .. }) => (name, version),
            _ => (None, None),
        };
        Ok(ConformanceReport {
            name,
            version,
            redis,
            checks,
        })
    })
}

async fn all_checks(
    clients: &mut Clients,
    on_result: &mut dyn FnMut(&CheckResult),
) -> Result<Vec<CheckResult>, ConformanceError> {
    let mut results: Vec<CheckResult> = Vec::new();
    let mut mistakes: Vec<(&'static str, Mistake)> = Vec::new();
    for check in CHECKS {
        let is_failed = |first: &CheckResult| first.status == CheckStatus::Failed;
        // If the first check fails, no process is ready for the others.
        let result = if results.first().is_some_and(is_failed) {
            check.not_run("it did not get ready")
        } else {
            let (mut result, mistake) = check.run(clients).await?;
            let mut earlier = mistakes.iter();
            // One mistake can stop many checks. Report it only in the first of them.
            if let Some((earlier, _)) = earlier.find(|(_, earlier)| mistake.is_same(earlier)) {
                let why = format!("stopped by the same fault as `{earlier}`");
                let doc = result.doc;
                result = CheckResult {
                    doc,
                    ..check.not_run(&why)
                };
            } else {
                mistakes.push((check.name, mistake));
            }
            result
        };
        on_result(&result);
        results.push(result);
    }
    Ok(results)
}
