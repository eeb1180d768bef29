//! The cells of a matrix for another command, which plans them first, runs them as often as it
//! needs, and reports on them itself.

use std::sync::Arc;

use picklock_harness::record::{MatrixRecord, SkippedCell};
use picklock_reports::gate::CellKey;
use picklock_scenarios::WorldName;

use super::matrix_run::MatrixRun;
use super::request::MatrixRequest;
use super::selection::{self, Task};
use super::{choose, frame, jobs};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::world_choice::ChosenWorld;

/// Cells that can be run.
pub struct MatrixPlan {
    request: MatrixRequest,
    worlds: Vec<ChosenWorld>,
    tasks: Vec<Task>,
    skipped: Vec<SkippedCell>,
}

impl MatrixPlan {
    /// Plans the cells of the request.
    ///
    /// # Errors
    /// Wrong usage, no world to run in, nothing to run.
    pub async fn of(request: MatrixRequest, interrupt: &Interrupt) -> Result<MatrixPlan, Failure> {
        let selection = selection::select(&request)?;
        let worlds = tokio::select! {
            () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
            worlds = choose(&request, selection.can_simulate()) => worlds?,
        };
        let (tasks, skipped) = selection.cells(&request, &worlds)?;
        Ok(MatrixPlan {
            request,
            worlds,
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

    /// The worlds, each with the reason for its choice.
    pub fn worlds(&self) -> impl Iterator<Item = (WorldName, &str)> {
        let worlds = self.worlds.iter();
        worlds.map(|world| (world.name(), world.reason.as_str()))
    }

    /// Runs the wanted cells as often as planned.
    ///
    /// # Errors
    /// As [`MatrixRun::run_world`].
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
    /// As [`MatrixRun::run_world`].
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
        for world in &self.worlds {
            let jobs = request.jobs.unwrap_or_else(|| jobs(world));
            run.run_world(world, jobs, interrupt).await?;
        }
        let cells = run.finish().cells;
        Ok(MatrixRecord {
            interrupted: interrupt.is_wanted(),
            cells,
            ..frame(request, &self.worlds, self.skipped.clone())
        })
    }
}

fn key_of(task: &Task) -> CellKey {
    let spec = &task.spec;
    CellKey {
        subject: spec.subject.name.clone(),
        options: spec.subject.options_by_name(),
        scenario: spec.scenario.name.clone(),
        backend: spec.world,
    }
}
