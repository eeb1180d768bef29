//! The runs of a matrix: finished cells and cells in progress.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use picklock_harness::record::Cell;
use picklock_harness::run::RunFailure;
use picklock_harness::sim::{self, Simulation};
use picklock_reports::inert;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::cell_builder::{CellBuilder, JudgedRun};
use super::child_run::ChildRuns;
use super::directory::{MatrixDirectory, RunConditions, StoredState};
use super::progress::{MatrixProgress, RunReport};
use super::request::MatrixRequest;
use super::rerun::{Reruns, Spoiled, is_spoiled};
use super::runner::Runner;
use super::selection::Task;
use super::work::Work;
use crate::backend_choice::ChosenBackend;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::lock;
use crate::run::record;

pub struct MatrixRun<'a> {
    request: &'a MatrixRequest,
    tasks: Vec<Arc<Task>>,
    /// The cells in the order of the tasks, with `None` for each unfinished one.
    cells: Vec<Option<Cell>>,
    /// The cells in progress. A builder is dropped when its cell is finished, because the samples of a whole matrix
    /// take much memory.
    builders: BTreeMap<usize, CellBuilder>,
    /// Simulated cells whose shown run is being written in the background, because writing takes longer than a run.
    saving: JoinSet<Result<(usize, Cell), Failure>>,
    directory: Option<MatrixDirectory>,
    conditions: RunConditions,
    progress: MatrixProgress,
}

pub struct MatrixResult {
    /// Number of planned cells.
    pub wanted: usize,
    /// Number of cells without a run.
    pub missing: usize,
    /// Number of cells with fewer runs than requested.
    pub short: usize,
    /// The cells that have runs.
    pub cells: Vec<Cell>,
}

impl<'a> MatrixRun<'a> {
    /// Creates the state before any cell is finished.
    pub fn new(
        request: &'a MatrixRequest,
        tasks: Vec<Arc<Task>>,
        directory: Option<MatrixDirectory>,
        quiet: bool,
    ) -> MatrixRun<'a> {
        let runs = request.seeds.saturating_mul(tasks.len() as u64);
        MatrixRun {
            cells: vec![None; tasks.len()],
            builders: BTreeMap::new(),
            saving: JoinSet::new(),
            request,
            conditions: RunConditions::from_request(request),
            progress: MatrixProgress::new(quiet, tasks.len(), runs),
            tasks,
            directory,
        }
    }

    /// Runs the cells that are missing in the directory, backend by backend, until all are complete or the user
    /// interrupts.
    pub async fn run(
        mut self,
        backends: &[ChosenBackend],
        interrupt: &Interrupt,
    ) -> Result<MatrixResult, Failure> {
        self.recall()?;
        for backend in backends {
            self.run_backend(backend, interrupt).await?;
        }
        Ok(self.finish())
    }

    /// Adopts the cells that an earlier call finished, and reports the outdated ones.
    fn recall(&mut self) -> Result<(), Failure> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        for (task, cell) in self.tasks.iter().zip(&mut self.cells) {
            match directory.find(task, &self.conditions)? {
                StoredState::MatrixResult(cell_of_before) => {
                    self.progress.recalled(self.request.seeds);
                    *cell = Some(*cell_of_before);
                }
                StoredState::Outdated(what) => self.progress.print_line(&inert!(
                    "{}: runs again, because {} changed",
                    task.title(),
                    what
                )),
                StoredState::Missing => {}
            }
        }
        let recalled = self.cells.iter().flatten().count();
        if recalled > 0 {
            let all = self.cells.len();
            self.progress.print_line(&inert!(
                "{} of {} cells were already finished",
                recalled,
                all
            ));
        }
        Ok(())
    }

    /// Runs the missing cells of one backend.
    async fn run_backend(
        &mut self,
        backend: &ChosenBackend,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let tasks = self.tasks.iter().enumerate();
        let missing: Vec<(usize, Arc<Task>)> = tasks
            .filter(|(index, task)| {
                task.spec.backend == backend.name() && self.cells[*index].is_none()
            })
            .map(|(index, task)| (index, Arc::clone(task)))
            .collect();
        if missing.is_empty() || interrupt.is_wanted() {
            return Ok(());
        }
        let is_sim = backend.servers.is_none();
        let runner = Arc::new(if is_sim {
            Runner::Simulation
        } else {
            Runner::Servers(ChildRuns {
                directory: self.directory.clone(),
                interrupt: interrupt.clone(),
                starts: Mutex::default(),
            })
        });
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let work = Work::new(
            Arc::clone(&runner),
            missing.clone(),
            self.request.seeds,
            (
                self.request.jobs_in(backend.name()),
                self.request.max_jobs_in(backend.name()),
            ),
            interrupt.clone(),
            sender,
        );
        tokio::task::spawn_local(work.run());
        let mut spoiled = Vec::new();
        loop {
            let report = tokio::select! {
                biased;
                // Simulations leave nothing behind, so the loop does not wait for them. Runs on real servers end
                // gracefully, and still send their reports.
                () = interrupt.clone().wanted(), if is_sim => break,
                report = receiver.recv() => report,
            };
            match report {
                None => break,
                Some(RunReport::Begun(index)) => self.progress.begun(self.tasks[index].title()),
                Some(RunReport::Ended(index, _, Ok(run)))
                    if is_spoiled(&self.tasks[index], &run) =>
                {
                    spoiled.push((index, Arc::clone(&self.tasks[index]), run));
                }
                Some(RunReport::Ended(index, seed, result)) => {
                    self.take(index, seed, result, backend).await?;
                }
            }
        }
        while self.finish_saving().await? {}
        self.rerun(spoiled, &runner, backend, interrupt).await?;
        if !interrupt.is_wanted() {
            self.give_up(&missing);
        }
        Ok(())
    }

    /// Repeats spoiled runs: first together, then those that are still spoiled one by one, so that no other run
    /// disturbs them.
    async fn rerun(
        &mut self,
        spoiled: Vec<Spoiled>,
        runner: &Arc<Runner>,
        backend: &ChosenBackend,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut reruns = Reruns::default();
        let jobs = self.request.jobs_in(backend.name());
        let spoiled = reruns
            .rerun_together(spoiled, runner, jobs, interrupt)
            .await;
        for (index, task, run) in spoiled {
            let seed = run.seed;
            // After an interruption, the completed reruns still count.
            let Some(result) = reruns.rerun(&task, run, runner, interrupt).await else {
                continue;
            };
            self.take(index, seed, result, backend).await?;
        }
        Ok(())
    }

    /// Returns all cells in order, including those that an interrupt cut short.
    fn finish(mut self) -> MatrixResult {
        let wanted = self.cells.len();
        let whole = self.cells.iter().flatten().count();
        for (index, builder) in std::mem::take(&mut self.builders) {
            self.cells[index] = Some(builder.cell(&self.tasks[index]));
        }
        let cells: Vec<Cell> = self.cells.into_iter().flatten().collect();
        MatrixResult {
            missing: wanted - cells.len(),
            short: cells.len() - whole,
            wanted,
            cells,
        }
    }

    async fn take(
        &mut self,
        index: usize,
        seed: u64,
        result: Result<Box<JudgedRun>, String>,
        backend: &ChosenBackend,
    ) -> Result<(), Failure> {
        let builder = self.builders.entry(index).or_default();
        let task = &self.tasks[index];
        let loser = match result {
            Err(reason) => {
                builder.failed(seed, reason);
                Some(seed)
            }
            Ok(run) => {
                let before = builder.shown_seed();
                let is_shown = builder.add(task, *run);
                if is_shown { before } else { Some(seed) }
            }
        };
        if let (Some(directory), Some(loser)) = (&self.directory, loser) {
            directory.discard(task, loser);
        }
        self.progress.run_ended();
        if builder.runs() == self.request.seeds {
            self.complete(index, backend).await
        } else {
            Ok(())
        }
    }

    /// Completes a cell whose runs have all ended.
    async fn complete(&mut self, index: usize, backend: &ChosenBackend) -> Result<(), Failure> {
        let Some(builder) = self.builders.remove(&index) else {
            return Ok(());
        };
        let task = &self.tasks[index];
        let mut cell = builder.cell(task);
        match &self.directory {
            None => {}
            // The next call runs the cell again.
            Some(directory) if cell.error.is_some() => directory.discard(task, cell.seed),
            Some(directory) if backend.servers.is_none() => {
                let (directory, task) = (directory.clone(), Arc::clone(task));
                let (conditions, backend) = (self.conditions.clone(), backend.clone());
                // At most one cell per parallel run is being written, because each of them holds a whole run in memory.
                let jobs = self.request.jobs_in(backend.name());
                while self.saving.len() >= jobs {
                    self.finish_saving().await?;
                }
                self.saving.spawn_blocking(move || {
                    save_simulated(&directory, &task, cell.seed, &backend)?;
                    directory.store(&task, &conditions, &mut cell)?;
                    Ok((index, cell))
                });
                return Ok(());
            }
            Some(directory) => directory.store(task, &self.conditions, &mut cell)?,
        }
        self.finished(index, cell);
        Ok(())
    }

    /// Waits until one more simulated cell is written. Returns `false` if none is being written.
    async fn finish_saving(&mut self) -> Result<bool, Failure> {
        let Some(saved) = self.saving.join_next().await else {
            return Ok(false);
        };
        let (index, cell) = saved.unwrap_or_else(|error| resume_unwind(error.into_panic()))?;
        self.finished(index, cell);
        Ok(true)
    }

    fn finished(&mut self, index: usize, cell: Cell) {
        self.progress.finished(&cell);
        self.cells[index] = Some(cell);
    }

    /// Marks cells whose threads or processes ended without a report.
    fn give_up(&mut self, missing: &[(usize, Arc<Task>)]) {
        for (index, task) in missing {
            if self.cells[*index].is_some() {
                continue;
            }
            let mut builder = self.builders.remove(index).unwrap_or_default();
            let reason = "its run ended without a report; this is a bug in picklock";
            builder.failed(task.spec.seed, reason.into());
            self.finished(*index, builder.cell(task));
        }
    }
}

/// Repeats the shown run of a simulated cell to save it. The repetition is identical, byte for byte.
fn save_simulated(
    directory: &MatrixDirectory,
    task: &Task,
    seed: u64,
    backend: &ChosenBackend,
) -> Result<(), Failure> {
    let spec = task.spec.with_seed(seed);
    let lock = lock::in_process(&spec.lock)?;
    let simulation = Simulation {
        spec: spec.clone(),
        lock,
        logs_commands: true,
    };
    let result = sim::run(simulation).map_err(RunFailure::from)?;
    let record = record(&spec, backend, &result);
    directory.shown(task)?.keep(&spec, &result, &record)
}
