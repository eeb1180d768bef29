//! Cells for another command: planned first, run as often as it likes, and told by it.

use picklock_scenarios::WorldName;
use std::sync::Arc;

use picklock_harness::record::{MatrixRecord, SkippedCell};
use picklock_reports::gate::CellKey;

use super::cli::MatrixArgs;
use super::keeping::Key;
use super::running::Running;
use super::selection::{self, Task};
use super::{choose, frame, jobs};
use crate::backend::Chosen;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Cells that can be run.
pub struct Planned {
    args: MatrixArgs,
    worlds: Vec<Chosen>,
    tasks: Vec<Task>,
    skipped: Vec<SkippedCell>,
}

impl Planned {
    /// Plans what the arguments name.
    ///
    /// # Errors
    /// Wrong usage, no world to run in, nothing to run.
    pub async fn of(args: MatrixArgs, interrupt: &Interrupt) -> Result<Planned, Failure> {
        let named = selection::named(&args)?;
        let worlds = tokio::select! {
            () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
            worlds = choose(&args, named.can_simulate()) => worlds?,
        };
        let (tasks, skipped) = named.cells(&args, &worlds)?;
        Ok(Planned {
            args,
            worlds,
            tasks,
            skipped,
        })
    }

    /// The cells, in the order of the tables, each with its scenario as it was typed.
    pub fn cells(&self) -> impl Iterator<Item = (CellKey, &str)> {
        self.tasks
            .iter()
            .map(|task| (key_of(task), task.order.args.scenario.as_str()))
    }

    /// What is left out because it makes no sense.
    pub fn skipped(&self) -> &[SkippedCell] {
        &self.skipped
    }

    /// The worlds, each with the reason why it was chosen.
    pub fn worlds(&self) -> impl Iterator<Item = (WorldName, &str)> {
        let worlds = self.worlds.iter();
        worlds.map(|world| (world.name(), world.reason.as_str()))
    }

    /// Runs the cells that are wanted, as often as was planned.
    ///
    /// # Errors
    /// As [`Running::run_world`].
    pub async fn run(
        &self,
        wanted: impl Fn(&CellKey) -> bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        self.run_as(self.args.clone(), wanted, interrupt).await
    }

    /// Runs the cells that are wanted once, with this seed, and says nothing meanwhile.
    ///
    /// # Errors
    /// As [`Running::run_world`].
    pub async fn run_once(
        &self,
        seed: u64,
        wanted: impl Fn(&CellKey) -> bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        let args = MatrixArgs {
            seed,
            seeds: 1,
            quiet: true,
            ..self.args.clone()
        };
        self.run_as(args, wanted, interrupt).await
    }

    async fn run_as(
        &self,
        args: MatrixArgs,
        wanted: impl Fn(&CellKey) -> bool,
        interrupt: &Interrupt,
    ) -> Result<MatrixRecord, Failure> {
        let tasks = self.tasks.iter().filter(|task| wanted(&key_of(task)));
        let tasks = tasks.map(|task| {
            Arc::new(Task {
                order: task.order.with_seed(args.seed),
                ..task.clone()
            })
        });
        let mut running = Running::new(&args, tasks.collect(), None, Key::of(&args));
        for world in &self.worlds {
            let jobs = args.jobs.unwrap_or_else(|| jobs(world));
            running.run_world(world, jobs, interrupt).await?;
        }
        let (_, cells) = running.finish();
        Ok(MatrixRecord {
            interrupted: interrupt.is_wanted(),
            cells,
            ..frame(&args, &self.worlds, self.skipped.clone())
        })
    }
}

fn key_of(task: &Task) -> CellKey {
    CellKey {
        subject: task.order.subject.name.clone(),
        options: task.order.args.options.iter().cloned().collect(),
        scenario: task.order.scenario.name.clone(),
        backend: task.backend,
    }
}
