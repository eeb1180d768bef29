//! One run, for `picklock scenario` and `picklock replay`: chooses the backend, runs, judges, prints and saves.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::judge;
use picklock_harness::expectation::{Expected, MAX_RERUNS};
use picklock_harness::external_servers::ExternalServers;
use picklock_harness::latency;
use picklock_harness::record::RunRecord;
use picklock_harness::run::{self, RunResult};
use picklock_harness::servers::ServerKind;
use picklock_harness::spec::RunSpec;
use picklock_reports::escape::quoted;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::terminal::Detail;
use picklock_reports::units::time_ns;
use picklock_reports::{documents, terminal};
use picklock_scenarios::BackendName;

use crate::backend_choice::{self, BackendRequest, ChosenBackend};
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::live_progress::LiveProgress;
use crate::reproduce_command::ReproduceCommand;
use crate::run_directory::RunDirectory;
use crate::specification::MANY_WORKERS;
use crate::{check as verdict, lock, print, worker_stderr};

/// How a run is reported and saved.
#[derive(Debug)]
pub struct Reporting {
    /// Print one JSON document instead of text.
    pub json: bool,
    /// Directory to save the run to.
    pub out: Option<PathBuf>,
    /// How much of the run the report shows.
    pub detail: Detail,
    /// Do not show live progress.
    pub quiet: bool,
    /// Do not rerun an inconclusive run.
    pub no_rerun: bool,
}

/// Runs the specification in the backend `wanted`, judges the run, prints the report, and saves the run. If `wanted` is
/// `None`, the best available backend is selected and stored in the specification. A violated property is not an error.
///
/// # Errors
/// Returns an error if the machine cannot run the scenario, or if the run is interrupted before there is anything to
/// report.
pub async fn execute(
    mut spec: RunSpec,
    wanted: Option<BackendName>,
    reporting: &Reporting,
) -> Result<RunRecord, Failure> {
    let out = reporting.out.as_deref();
    let out = out.map(RunDirectory::create).transpose()?;
    let interrupt = Interrupt::listen()?;
    let choosing = backend_choice::choose(BackendRequest {
        backend: wanted,
        servers: &spec.servers,
        can_simulate: spec.lock.is_in_process(),
        scenario: Some(&spec.scenario),
    });
    let chosen = interrupt.unless_wanted(choosing).await?;
    spec.backend = chosen.name();
    if let Some(ServerKind::External(servers)) = &chosen.servers {
        spec.servers.external = Some(ExternalServers::clone(servers));
    }
    if let Some(reason) = chosen.inapplicable(&spec.scenario, &spec.lock) {
        return Err(Failure::NotApplicable(inert!(
            "{}: {}",
            spec.scenario.name,
            reason
        )));
    }
    if !reporting.no_rerun {
        announce(&spec, &chosen, reporting);
    }
    let (mut result, mut record) = run_once(&spec, &chosen, reporting, &interrupt).await?;
    let max_reruns = if reporting.no_rerun { 0 } else { MAX_RERUNS };
    for _ in 0..max_reruns {
        if record.interrupted || !Expected::default().is_spoiled(&record.verdicts) {
            break;
        }
        let line = "the run was inconclusive because this machine was too slow: rerunning it\n";
        print::note(reporting.json, &Inert::literal(line));
        (result, record) = run_once(&spec, &chosen, reporting, &interrupt).await?;
    }
    if let Some(left) = &result.left_behind {
        print::err(&inert!("picklock: {}\n", Inert::lines(left)));
    }
    if let Some(out) = &out {
        out.keep(&spec, &result, &record)?;
    }
    if reporting.json {
        print::document(&documents::json(&record));
    } else {
        let text = terminal::run(&record, &result.history, print::width(), reporting.detail);
        print::out(&text);
        if let Some(out) = &reporting.out {
            print::out(&inspection_advice(out, &record).unwrap_or_default());
        }
    }
    Ok(record)
}

/// Returns advice on inspecting a saved run with a violation.
fn inspection_advice(out: &Path, record: &RunRecord) -> Option<Inert> {
    let dir = out.display().to_string();
    let dir = quoted(&dir);
    let at_ns = record.verdicts.values().filter_map(|it| it.at_ns).min()?;
    let around = time_ns(at_ns).replace(' ', "");
    Some(inert!(
        "  log: picklock log {} --around {}\n  page: picklock report {}\n",
        dir,
        around,
        dir
    ))
}

/// Performs one run and returns it with its judged record.
async fn run_once(
    spec: &RunSpec,
    chosen: &ChosenBackend,
    reporting: &Reporting,
    interrupt: &Interrupt,
) -> Result<(RunResult, RunRecord), Failure> {
    let backend = chosen.backend(spec, reporting.out.is_some())?;
    let quiet = reporting.quiet || chosen.servers.is_none();
    let workers = spec.scenario.workload.workers;
    let progress = Rc::new(LiveProgress::new(quiet, workers));
    let result = run::run(spec, backend, progress, interrupt.clone().wanted()).await?;
    let record = record(spec, chosen, &result);
    Ok((result, record))
}

/// Prints which backend was chosen and why.
fn announce(spec: &RunSpec, chosen: &ChosenBackend, reporting: &Reporting) {
    let line = inert!(
        "backend {} ({}), seed {}\n",
        spec.backend,
        chosen.reason,
        spec.seed
    );
    print::note(reporting.json, &line);
    for note in &chosen.notes {
        print::note(reporting.json, &inert!("  {}\n", note));
    }
    let workers = spec.scenario.workload.workers;
    if workers > MANY_WORKERS && !spec.lock.is_in_process() && !reporting.quiet {
        print::err(&inert!(
            "starting {} processes of {}\n",
            workers,
            spec.lock.name
        ));
    }
}

/// Creates the judged record of a run, which reports read.
pub fn record(spec: &RunSpec, chosen: &ChosenBackend, result: &RunResult) -> RunRecord {
    let history = &result.history;
    let version = result.lock_version.clone();
    let about = About {
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        lock_version: version.unwrap_or_else(|| lock::version(&spec.lock).to_owned()),
        summary: spec.scenario.summary.clone(),
        backend_reason: chosen.reason.clone(),
        redis: result.redis.clone(),
        latency: latency::from_history(history),
        phases: result.phases,
        reproduce: ReproduceCommand::for_run(spec).to_string(),
    };
    let mut record = assemble(history, judge(history), about);
    if let Some(logs) = &result.logs {
        record
            .trouble
            .extend(worker_stderr::explain_failures(history, logs.path()));
    }
    record
}

/// Returns the exit code for a run.
pub fn code_of(record: &RunRecord) -> u8 {
    if record.interrupted {
        exit::INTERRUPTED
    } else {
        verdict::code_of(&record.verdicts)
    }
}
