//! `picklock scenario`: one run, from the command line to the report.

use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::{judge, machine_too_slow};
use picklock_harness::custody::write_custody;
use picklock_harness::history::write_history;
use picklock_harness::latency;
use picklock_harness::record::RunRecord;
use picklock_harness::run::{self, RunOutput};
use picklock_harness::spec::RunSpec;
use picklock_reports::{repro, run_document, terminal};
use picklock_scenarios::BackendName;

use crate::backend_choice::{self, ChosenBackend, Wanted};
use crate::cli::ScenarioArgs;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::live_progress::LiveProgress;
use crate::matrix::MANY_WORKERS;
use crate::reproduce_command::ReproduceCommand;
use crate::run_directory::RunDirectory;
use crate::run_request::RunRequest;
use crate::{check as verdict, lock, print};

/// How a run is reported and kept.
#[derive(Debug)]
pub struct Reporting {
    /// One JSON document instead of text.
    pub json: bool,
    /// The directory to keep the run in.
    pub out: Option<PathBuf>,
    /// Do not show live progress.
    pub quiet: bool,
    /// Do not make the run again when the machine was too slow for it.
    pub once: bool,
}

/// Runs the scenario, judges it, prints the report, and keeps the run.
///
/// # Errors
/// Wrong usage, or a machine that cannot run it. A violated property is not an error.
pub async fn run(args: ScenarioArgs) -> Result<u8, Failure> {
    let request = RunRequest::of_args(&args)?;
    let backend = args.backend.backend();
    let reporting = Reporting {
        json: args.json,
        out: args.out,
        quiet: args.quiet,
        once: args.once,
    };
    Ok(code_of(&execute(request, backend, &reporting).await?))
}

/// The exit code for a run.
pub fn code_of(record: &RunRecord) -> u8 {
    match record.interrupted {
        true => exit::INTERRUPTED,
        false => verdict::code_of(&record.verdicts),
    }
}

/// Like [`run`], for a checked request. `backend`: `None` for the best available one.
///
/// # Errors
/// As [`run`].
pub async fn execute(
    request: RunRequest,
    backend: Option<BackendName>,
    reporting: &Reporting,
) -> Result<RunRecord, Failure> {
    let out = match &reporting.out {
        Some(path) => Some(RunDirectory::create(path)?),
        None => None,
    };
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Environment(format!("cannot listen for signals: {error}")))?;
    let choosing = backend_choice::choose(Wanted {
        backend,
        servers: &request.servers,
        can_simulate: request.lock.is_in_process(),
        scenario: Some(&request.scenario),
    });
    let chosen = tokio::select! {
        () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
        chosen = choosing => chosen?,
    };
    let spec = request.in_backend(chosen.name());
    announce(&spec, &chosen, reporting);
    let (mut output, mut record) = run_once(&spec, &chosen, reporting, &interrupt).await?;
    if !reporting.once && !record.interrupted && machine_too_slow(&record.verdicts) {
        let line = "this machine was too slow for the run, so it is made once more\n";
        match reporting.json {
            true => print::err(line),
            false => print::out(line),
        }
        (output, record) = run_once(&spec, &chosen, reporting, &interrupt).await?;
    }
    if let Some(out) = &out {
        keep(out, &spec, &output, &record)?;
    }
    if reporting.json {
        print::out(&format!("{}\n", run_document::run_json(&record)));
    } else {
        print::out(&terminal::run(&record, &output.history, print::width()));
    }
    Ok(record)
}

/// One run, and its judged record.
async fn run_once(
    spec: &RunSpec,
    chosen: &ChosenBackend,
    reporting: &Reporting,
    interrupt: &Interrupt,
) -> Result<(RunOutput, RunRecord), Failure> {
    let backend = chosen.backend(spec, reporting.out.is_some())?;
    let progress = Rc::new(LiveProgress::new(
        reporting.quiet || chosen.servers.is_none(),
    ));
    let output = run::run(spec, backend, progress, interrupt.clone().wanted())
        .await
        .map_err(Failure::of_run)?;
    let record = record(spec, chosen, &output);
    Ok((output, record))
}

/// The first line says which backend was chosen and why.
fn announce(spec: &RunSpec, chosen: &ChosenBackend, reporting: &Reporting) {
    let line = format!(
        "backend {} ({}), seed {}\n",
        spec.backend, chosen.reason, spec.seed
    );
    match reporting.json {
        true => print::err(&line),
        false => print::out(&line),
    }
    let workers = spec.scenario.workload.workers;
    if workers > MANY_WORKERS && !spec.lock.is_in_process() && !reporting.quiet {
        print::err(&format!(
            "starting {workers} processes of {}\n",
            spec.lock.name
        ));
    }
}

/// The judged record of the run.
pub fn record(spec: &RunSpec, chosen: &ChosenBackend, output: &RunOutput) -> RunRecord {
    let version = output.lock_version.clone();
    let about = About {
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        lock_version: version.unwrap_or_else(|| lock::version(&spec.lock).to_owned()),
        summary: spec.scenario.summary.clone(),
        backend_reason: chosen.reason.clone(),
        redis: output.redis.clone(),
        latency: latency::of_history(&output.history),
        phases: output.phases,
        reproduce: ReproduceCommand::of_run(spec).to_string(),
    };
    assemble(&output.history, judge(&output.history), about)
}

/// Writes the run into its directory.
///
/// # Errors
/// The disk is full, or the directory is gone.
pub fn keep(
    out: &RunDirectory,
    spec: &RunSpec,
    output: &RunOutput,
    record: &RunRecord,
) -> Result<(), Failure> {
    if let Some(logs) = &output.logs {
        out.copy_logs(logs.path())?;
    }
    if let Some(wire) = &output.wire_log {
        out.write("wire.jsonl", |file| wire.write(file))?;
    }
    out.write("history.jsonl", |file| write_history(&output.history, file))?;
    if output.history.header.custody {
        out.write("custody.jsonl", |file| write_custody(&output.history, file))?;
    }
    let text = repro::text(&crate::repro::of(spec, record))
        .map_err(|error| Failure::Environment(format!("cannot write {}: {error}", repro::FILE)))?;
    out.write(repro::FILE, |file| file.write_all(text.as_bytes()))?;
    // Last: a directory with a run.json is complete.
    out.write("run.json", |file| {
        writeln!(file, "{}", run_document::run_json(record))
    })
}
