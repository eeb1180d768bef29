//! One run of a plan on servers, in a process of its own, as in a matrix: the work of one run must not delay others.

use std::fs;
use std::path::{Path, PathBuf};

use picklock_harness::history::History;
use picklock_harness::record::RunRecord;
use picklock_harness::search::Plan;
use picklock_harness::spec::{RunSpec, ScenarioSource};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::matrix::child_run;
use crate::run_directory::make_private;
use crate::saved_run::{self, HISTORY};

/// A finished run of a plan.
pub struct PlanRun {
    pub record: RunRecord,
    pub history: History,
    /// Directory of the saved run.
    pub directory: PathBuf,
}

/// Runs the plan, and saves its run below `directory`. Returns `None` if the user interrupted it, or if it could not be
/// run to its end, which is no evidence about the lock.
///
/// # Errors
/// Returns an error if the directory cannot be written, or if the program of the lock does not start.
pub async fn run(
    spec: RunSpec,
    plan: &Plan,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<Option<PlanRun>, Failure> {
    make_private(directory).map_err(Failure::at("make", directory))?;
    let file = directory.join("plan.toml");
    let text = toml::to_string(&plan.scenario)
        .map_err(|error| Failure::Environment(inert!("cannot write a plan: {}", error)))?;
    fs::write(&file, text).map_err(Failure::at("write", &file))?;
    let spec = RunSpec {
        source: ScenarioSource::Named(file.display().to_string()),
        ..spec
    };
    let out = directory.join("run");
    let mut command = child_run::command(&spec)
        .map_err(|problem| Failure::Environment(Inert::lines(&problem)))?;
    command.arg("--out").arg(&out);
    let record = match child_run::finish(command, interrupt).await {
        Ok(Some(record)) => record,
        Err(failed) if failed.is_not_started => {
            return Err(Failure::Environment(Inert::lines(&failed.reason)));
        }
        Ok(None) | Err(_) => return Ok(None),
    };
    if record.interrupted {
        return Ok(None);
    }
    Ok(Some(PlanRun {
        history: saved_run::history(&out.join(HISTORY))?,
        record,
        directory: out,
    }))
}
