//! The cells of a matrix for another command, which plans them first, runs them as often as it
//! needs, and reports on them itself.

use std::sync::Arc;

use picklock_harness::record::{MatrixRecord, SkippedCell};
use picklock_reports::gate::CellKey;
use picklock_scenarios::BackendName;

use super::matrix_run::MatrixRun;
use super::request::MatrixRequest;
use super::selection::{self, Task};
use super::{choose, frame, jobs};
use crate::backend_choice::ChosenBackend;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Cells that can be run.
pub struct MatrixPlan {
    request: MatrixRequest,
    backends: Vec<ChosenBackend>,
    tasks: Vec<Task>,
    skipped: Vec<SkippedCell>,
}

impl MatrixPlan {
    /// Plans the cells of the request.
    ///
    /// # Errors
    /// Wrong usage, no backend to run in, nothing to run.
    pub async fn of(request: MatrixRequest, interrupt: &Interrupt) -> Result<MatrixPlan, Failure> {
        let selection = selection::select(&request)?;
        let backends = tokio::select! {
            () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
            backends = choose(&request, selection.can_simulate()) => backends?,
        };
        let (tasks, skipped) = selection.cells(&request, &backends)?;
        Ok(MatrixPlan {
            request,
            backends,
            tasks,
            skipped,
        })
    }

    /// The cells in the order of the tables, each with the name or path of its scenario.
    pub fn cells(&self) -> impl Iterator<Item = (CellKey, &str)> {
        self.tasks
            .iter()
            .map(|task| (key_of(task), task.spec.scenario_named()))
    }

    /// The skipped cells.
    pub fn skipped(&self) -> &[SkippedCell] {
        &self.skipped
    }

    /// The backends, each with the reason for its choice.
    pub fn backends(&self) -> impl Iterator<Item = (BackendName, &str)> {
        let backends = self.backends.iter();
        backends.map(|backend| (backend.name(), backend.reason.as_str()))
    }

    /// Runs the wanted cells as often as planned.
    ///
    /// # Errors
    /// As [`MatrixRun::run_backend`].
    pub async fn run(
        &self,
        wanted: impl Fn(&CellKey) -> bool,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        self.run_as(&self.request, wanted, quiet, interrupt).await
    }

    /// Runs the wanted cells once, with this seed, and without progress.
    ///
    /// # Errors
    /// As [`MatrixRun::run_backend`].
    pub async fn run_once(
        &self,
        seed: u64,
        wanted: impl Fn(&CellKey) -> bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        let request = MatrixRequest {
            seed,
            seeds: 1,
            ..self.request.clone()
        };
        self.run_as(&request, wanted, true, interrupt).await
    }

    async fn run_as(
        &self,
        request: &MatrixRequest,
        wanted: impl Fn(&CellKey) -> bool,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        let tasks = self.tasks.iter().filter(|task| wanted(&key_of(task)));
        let tasks = tasks.map(|task| {
            Arc::new(Task {
                spec: task.spec.with_seed(request.seed),
                ..task.clone()
            })
        });
        let mut run = MatrixRun::new(request, tasks.collect(), None, quiet);
        for backend in &self.backends {
            let jobs = request.jobs.unwrap_or_else(|| jobs(backend));
            run.run_backend(backend, jobs, interrupt).await?;
        }
        let cells = run.finish().cells;
        Ok(MatrixRecord {
            interrupted: interrupt.is_wanted(),
            cells,
            ..frame(request, &self.backends, self.skipped.clone())
        })
    }
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
