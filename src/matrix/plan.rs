//! The cells of a matrix: planned first, then run. The gate uses the same plan, runs some cells repeatedly, and writes
//! its own report.

use std::sync::Arc;

use picklock_harness::record::{Cell, MATRIX_FORMAT, MatrixRecord, Similarity, SkippedCell};
use picklock_reports::gate::{CellKey, Rules};
use picklock_scenarios::BackendName;

use super::directory::MatrixDirectory;
use super::matrix_run::{MatrixResult, MatrixRun};
use super::request::{MatrixRequest, processors};
use super::selection::{self, Selection, Task};
use crate::backend_choice::{self, BackendRequest, ChosenBackend};
use crate::ci_job;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::reproduce_command::ReproduceCommand;

/// The planned cells of a matrix.
pub struct MatrixPlan {
    request: MatrixRequest,
    selection: Selection,
    backends: Vec<ChosenBackend>,
    tasks: Vec<Arc<Task>>,
    /// The cells that cannot be run.
    pub skipped: Vec<SkippedCell>,
}

impl MatrixPlan {
    /// Plans the cells of the request.
    ///
    /// # Errors
    /// Returns an error for wrong usage, or if there is no backend to run in.
    pub async fn new(request: MatrixRequest, interrupt: &Interrupt) -> Result<MatrixPlan, Failure> {
        let selection = selection::select(&request)?;
        let choosing = choose(&request, selection.can_simulate());
        let backends = interrupt.unless_wanted(choosing).await?;
        let (tasks, skipped) = selection.cells(&request, &backends)?;
        Ok(MatrixPlan {
            request,
            selection,
            backends,
            tasks,
            skipped,
        })
    }

    /// Replaces the expectations of scenarios by those of the rules.
    pub fn overrule(&mut self, rules: &Rules) {
        for task in &mut self.tasks {
            let expects = &rules.for_cell(&key_of(task)).expects;
            let expects = expects
                .iter()
                .map(|(property, one)| (*property, one.clone()));
            let expected = task.expected.clone().overridden(expects);
            Arc::make_mut(task).expected = expected;
        }
    }

    /// Returns the cells in the order of the tables, each with the name or path of its scenario.
    pub fn cells(&self) -> impl Iterator<Item = (CellKey, &str)> {
        self.tasks
            .iter()
            .map(|task| (key_of(task), task.spec.scenario_named()))
    }

    /// Returns the backends, each with the reason for its choice.
    pub fn backends(&self) -> impl Iterator<Item = (BackendName, &str)> {
        let backends = self.backends.iter();
        backends.map(|backend| (backend.name(), backend.reason.as_str()))
    }

    /// Returns notes to print before the runs.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let backends = self.backends.iter();
        backends.flat_map(|backend| backend.notes.iter().map(String::as_str))
    }

    /// Returns `true` if all backends are simulated.
    pub fn is_simulated(&self) -> bool {
        self.backends.iter().all(|one| one.servers.is_none())
    }

    /// Returns the built-in lock that each other lock resembles.
    pub fn similarities(&self, cells: &[Cell]) -> Vec<Similarity> {
        self.selection.similarities(self.request.overrides, cells)
    }

    /// Returns the document without its cells.
    pub fn frame(&self) -> MatrixRecord {
        let (request, backends) = (&self.request, &self.backends);
        let names = backends.iter().map(ChosenBackend::name);
        let jobs = names.clone().map(|backend| request.jobs_in(backend));
        MatrixRecord {
            format: MATRIX_FORMAT.to_owned(),
            picklock: env!("CARGO_PKG_VERSION").to_owned(),
            seed: request.seed,
            seeds: request.seeds,
            processors: processors(),
            similarity: Vec::new(),
            jobs: jobs.max().unwrap_or(1),
            // Cleared at the end of a complete run.
            interrupted: true,
            elapsed_ms: None,
            ci_job: ci_job::from_environment(),
            cells: Vec::new(),
            skipped: self.skipped.clone(),
            reproduce: ReproduceCommand::for_matrix(request, names).to_string(),
        }
    }

    /// Runs all cells that are missing in the directory.
    pub async fn run_all(
        &self,
        directory: Option<MatrixDirectory>,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixResult, Failure> {
        let run = MatrixRun::new(&self.request, self.tasks.clone(), directory, quiet);
        run.run(&self.backends, interrupt).await
    }

    /// Runs the selected cells: as often as planned, or once with the seed `once`. Saves them to the directory, if one
    /// is given, replacing the results of an earlier call. A cell that cannot be run records its own error.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be written.
    pub async fn run(
        &self,
        wanted: impl Fn(&CellKey) -> bool,
        once: Option<u64>,
        directory: Option<MatrixDirectory>,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<Vec<Cell>, Failure> {
        let mut request = self.request.clone();
        if let Some(seed) = once {
            (request.seed, request.seeds) = (seed, 1);
        }
        let tasks = self.tasks.iter().filter(|task| wanted(&key_of(task)));
        let tasks = tasks.map(|task| {
            Arc::new(Task {
                spec: task.spec.with_seed(request.seed),
                ..Task::clone(task)
            })
        });
        let tasks: Vec<Arc<Task>> = tasks.collect();
        if let Some(directory) = &directory {
            tasks.iter().try_for_each(|task| directory.clear(task))?;
        }
        let run = MatrixRun::new(&request, tasks, directory, quiet);
        Ok(run.run(&self.backends, interrupt).await?.cells)
    }
}

/// Chooses the backends of the request, without duplicates.
async fn choose(
    request: &MatrixRequest,
    can_simulate: bool,
) -> Result<Vec<ChosenBackend>, Failure> {
    let mut backends: Vec<ChosenBackend> = Vec::new();
    for backend in &request.backends {
        let chosen = backend_choice::choose(BackendRequest {
            backend: *backend,
            servers: &request.servers,
            can_simulate,
            scenario: None,
        })
        .await?;
        if backends.iter().all(|it| it.name() != chosen.name()) {
            backends.push(chosen);
        }
    }
    Ok(backends)
}

fn key_of(task: &Task) -> CellKey {
    let spec = &task.spec;
    CellKey {
        lock: spec.lock.name.clone(),
        options: spec.lock.options_by_name(),
        scenario: spec.scenario.name.clone(),
        backend: spec.backend,
    }
}
