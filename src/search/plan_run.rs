//! One run of a plan on servers, in a separate process, as in a matrix, so that the work of one run does not delay
//! others.

use std::io::Write;
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
use crate::output_directory::OutputDirectory;
use crate::saved_run::{self, HISTORY};

/// A finished run of a plan.
pub struct PlanRun {
    pub record: RunRecord,
    pub history: History,
    /// Directory of the saved run, below the directory of the search.
    pub directory: PathBuf,
}

/// Runs the plan, and saves its run below `inside`, a path below the directory of the search. Returns `None` if the
/// user interrupted it, or if it could not be run to its end, which says nothing about the lock.
///
/// # Errors
/// Returns an error if the directory cannot be written, or if the program of the lock does not start.
pub async fn run(
    spec: RunSpec,
    plan: &Plan,
    (output, inside): (&OutputDirectory, &Path),
    interrupt: &Interrupt,
) -> Result<Option<PlanRun>, Failure> {
    output.make().map_err(Failure::at("make", output.root()))?;
    let plan_file = inside.join("plan.toml");
    let file = output.root().join(&plan_file);
    let text = toml::to_string(&plan.scenario)
        .map_err(|error| Failure::Environment(inert!("cannot write a plan: {}", error)))?;
    let written = output.write(&plan_file, |to| to.write_all(text.as_bytes()));
    written.map_err(Failure::at("write", &file))?;
    let spec = RunSpec {
        source: ScenarioSource::Named(file.display().to_string()),
        ..spec
    };
    let directory = inside.join("run");
    let out = output.root().join(&directory);
    let handed = (output.hand_over(&directory)).map_err(Failure::at("make", &out))?;
    let mut command = child_run::command(&spec)
        .map_err(|problem| Failure::Environment(Inert::lines(&problem)))?;
    command.arg("--out").arg(handed.path());
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
        directory,
    }))
}
