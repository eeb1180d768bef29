//! A conformance run: a server, an adapter, and all checks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use picklock_scenarios::Persistence;

use super::checks::CHECKS;
use super::conformance_error::ConformanceError;
use super::finding::{CheckResult, CheckStatus, Judgement};
use super::stage::{Played, Stage};
use super::{check::Check, key_look};
use crate::adapter::message::Answer;
use crate::adapter::worker_command::WorkerCommand;
use crate::clock::Clock;
use crate::record::Redis;
use crate::servers::{
    BackendError, Binary, Layout, ProcessServers, Reaper, RunDir, Servers, WorkerContainers,
    adopt_orphans, sweep,
};
use crate::wire::{LinkId, NoInterceptor, Proxy};

/// What is checked, and with what.
#[derive(Debug, Clone)]
pub struct ConformanceSetup {
    /// What starts the adapter.
    pub worker: WorkerCommand,
    /// What the user gave with `--impl-option`.
    pub options: BTreeMap<String, String>,
    /// The lease of the checks.
    pub lease: Duration,
    /// For the seeds that the adapter is given.
    pub seed: u64,
    /// The server program.
    pub server: Binary,
    /// The program of the clean-up helper, which calls [`run_reaper`](crate::servers::run_reaper).
    pub reaper: PathBuf,
    /// The helper's arguments.
    pub reaper_args: Vec<OsString>,
}

/// How an adapter did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceReport {
    /// The name that it reported.
    pub name: Option<String>,
    /// The version that it reported.
    pub version: Option<String>,
    /// The server.
    pub redis: Redis,
    /// All checks, in the order of the table.
    pub checks: Vec<CheckResult>,
}

impl ConformanceReport {
    /// True if no check failed.
    pub fn passed(&self) -> bool {
        let failed = |result: &CheckResult| result.status == CheckStatus::Failed;
        !self.checks.iter().any(failed)
    }
}

/// The only link of the wire. Both processes of the adapter use it.
const LINK: LinkId = LinkId { worker: 0, node: 0 };

/// Makes all checks. `tell` hears how each came out, as soon as it is known.
///
/// Must be called on the thread that lives as long as the process: children die with the thread that
/// started them. Dropping the future ends everything that it started.
///
/// # Errors
/// The adapter or the server cannot be started.
pub async fn check_adapter(
    setup: ConformanceSetup,
    mut tell: impl FnMut(&CheckResult),
) -> Result<ConformanceReport, ConformanceError> {
    adopt_orphans();
    let reaper = Reaper::spawn(&setup.reaper, &setup.reaper_args).map_err(BackendError::from)?;
    sweep().await;
    let dir = RunDir::create(&reaper)?;
    let containers = match &setup.worker.image {
        Some(image) => {
            let environment = &setup.worker.environment;
            Some(WorkerContainers::prepare(image, environment, &reaper).await?)
        }
        None => None,
    };
    let layout = Layout {
        nodes: 1,
        replicas: 0,
        sentinels: 0,
        persistence: Persistence::None,
        clocks_shift: false,
    };
    let servers = ProcessServers::start(&setup.server, layout, dir.path(), &reaper).await?;
    let connection = key_look::connect(servers.address(0)).await?;
    let redis = servers.server().clone();
    let clock = Clock::start();
    // The server wants a password, which the adapter does not know: the wire gives it.
    let wire = Proxy::new(
        clock.clone(),
        Vec::new(),
        setup.seed,
        Arc::new(NoInterceptor),
    );
    if let Some(password) = servers.password() {
        wire.log_in(&password.text());
    }
    let opened = wire.open(LINK, servers.address(0).socket()).await;
    let address = opened.map_err(ConformanceError::Link)?;
    let mut stage = Stage {
        argv: setup.worker.argv,
        containers,
        options: setup.options,
        lease: setup.lease,
        seed: setup.seed,
        logs: dir.path().to_owned(),
        reaper,
        servers,
        wire,
        address,
        connection,
        clock,
        clients: BTreeMap::new(),
        ready: None,
        starts: 0,
        is_frozen: false,
    };
    let checks = all_checks(&mut stage, &mut tell).await;
    stage.clear().await;
    stage.wire.close().await;
    if let Some(containers) = stage.containers.take() {
        containers.end().await;
    }
    let (identity, checks) = checks?;
    stage.servers.stop().await?;
    Ok(ConformanceReport {
        name: identity.0,
        version: identity.1,
        redis,
        checks,
    })
}

/// Name and version.
type Identity = (Option<String>, Option<String>);

async fn all_checks(
    stage: &mut Stage,
    tell: &mut impl FnMut(&CheckResult),
) -> Result<(Identity, Vec<CheckResult>), ConformanceError> {
    let mut results: Vec<CheckResult> = Vec::new();
    let mut identity = (None, None);
    for check in CHECKS {
        // Without the first one there is nobody to ask.
        let is_lost = results
            .first()
            .is_some_and(|first| first.status == CheckStatus::Failed);
        let result = match is_lost {
            true => not_run(check),
            false => {
                let (played, log) = stage.play(check).await?;
                told_once(result_of(check, played, log), &results)
            }
        };
        if results.is_empty()
            && let Some(Answer::Ready { name, version }) = stage.ready.clone()
        {
            identity = (name, version);
        }
        tell(&result);
        results.push(result);
    }
    Ok((identity, results))
}

/// One mistake stops many checks. It is told where it shows first.
fn told_once(result: CheckResult, before: &[CheckResult]) -> CheckResult {
    // A request has another id each time, and a wait another length.
    let words = |result: &CheckResult| result.detail.replace(|c: char| c.is_ascii_digit(), "");
    let same = |earlier: &&CheckResult| {
        earlier.status == CheckStatus::Failed && words(earlier) == words(&result)
    };
    match before.iter().find(same) {
        Some(earlier) if result.status == CheckStatus::Failed => CheckResult {
            status: CheckStatus::NotRun,
            detail: format!(
                "not tried: stopped by the same fault as `{}`",
                earlier.check
            ),
            line: None,
            log: Vec::new(),
            ..result
        },
        _ => result,
    }
}

fn not_run(check: &Check) -> CheckResult {
    CheckResult {
        status: CheckStatus::NotRun,
        detail: "not tried: it did not get ready".into(),
        ..blank(check)
    }
}

fn result_of(check: &Check, played: Played, log: Vec<String>) -> CheckResult {
    match played {
        Ok(Judgement::Passed(remark)) => CheckResult {
            detail: remark,
            ..blank(check)
        },
        Ok(Judgement::NotOffered(reason)) => CheckResult {
            status: CheckStatus::NotOffered,
            detail: reason,
            ..blank(check)
        },
        Err(problem) => CheckResult {
            status: CheckStatus::Failed,
            line: problem.line,
            log,
            doc: doc(problem.paragraph.unwrap_or(check.paragraph)),
            detail: problem.what,
            ..blank(check)
        },
    }
}

fn blank(check: &Check) -> CheckResult {
    CheckResult {
        check: check.name,
        about: check.about,
        status: CheckStatus::Passed,
        detail: String::new(),
        line: None,
        log: Vec::new(),
        doc: doc(check.paragraph),
    }
}

fn doc(paragraph: &str) -> String {
    format!("docs/protocol.md#{paragraph}")
}
