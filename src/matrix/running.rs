//! The matrix while it runs: what is finished, what is under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use picklock_harness::record::Cell;
use tokio::sync::mpsc;

use super::cli::MatrixArgs;
use super::gathering::Gathering;
use super::keeping::{Found, Keeping, Key};
use super::progress::{News, Progress};
use super::selection::Task;
use super::{real, simulated};
use crate::backend::{Chosen, Place};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::scenario::{keep, record};
use crate::sim_run;

/// The matrix while it runs.
pub struct Running {
    tasks: Vec<Arc<Task>>,
    /// As the tasks; nothing for those that are not finished.
    cells: Vec<Option<Cell>>,
    /// Cells under way. Gone when the cell is finished: the samples of a whole matrix are many.
    gatherings: BTreeMap<usize, Gathering>,
    seeds: u64,
    keeping: Option<Keeping>,
    key: Key,
    progress: Progress,
}

impl Running {
    /// Nothing is finished yet.
    pub fn new(
        args: &MatrixArgs,
        tasks: Vec<Arc<Task>>,
        keeping: Option<Keeping>,
        key: Key,
    ) -> Running {
        let runs = args.seeds.saturating_mul(tasks.len() as u64);
        Running {
            cells: vec![None; tasks.len()],
            gatherings: BTreeMap::new(),
            seeds: args.seeds,
            progress: Progress::new(args.quiet, tasks.len(), runs),
            tasks,
            keeping,
            key,
        }
    }

    /// Takes over what an earlier call finished, and says what of it does not stand any more.
    ///
    /// # Errors
    /// What does not stand cannot be removed.
    pub fn recall(&mut self) -> Result<(), Failure> {
        let Some(keeping) = &self.keeping else {
            return Ok(());
        };
        for (task, cell) in self.tasks.iter().zip(&mut self.cells) {
            match keeping.find(task, &self.key)? {
                Found::Finished(kept) => {
                    (0..self.seeds).for_each(|_| self.progress.ran());
                    self.progress.recalled();
                    *cell = Some(*kept);
                }
                Found::Outdated(what) => self.progress.say(&format!(
                    "{}: runs anew, because {what} changed",
                    task.title()
                )),
                Found::Missing => {}
            }
        }
        let recalled = self.cells.iter().flatten().count();
        if recalled > 0 {
            let all = self.cells.len();
            self.progress
                .say(&format!("{recalled} of {all} cells were finished before"));
        }
        Ok(())
    }

    /// Runs what is missing of one world, until it is there or the user does not want it any more.
    ///
    /// # Errors
    /// The directory of the matrix cannot be written.
    pub async fn run_world(
        &mut self,
        world: &Chosen,
        jobs: usize,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let tasks = self.tasks.iter().enumerate();
        let missing: Vec<(usize, Arc<Task>)> = tasks
            .filter(|(index, task)| task.backend == world.name() && self.cells[*index].is_none())
            .map(|(index, task)| (index, Arc::clone(task)))
            .collect();
        if missing.is_empty() || interrupt.is_wanted() {
            return Ok(());
        }
        let (tell, mut told) = mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let is_sim = matches!(world.place, Place::Sim);
        match is_sim {
            true => simulated::start(&missing, self.seeds, jobs, Arc::clone(&stop), tell),
            false => {
                let keeping = self.keeping.as_ref();
                real::start(&missing, self.seeds, jobs, keeping, interrupt, tell);
            }
        }
        loop {
            let news = tokio::select! {
                biased;
                // Simulations are not waited for: they leave nothing behind. Real runs end
                // themselves in order, and the news with them.
                () = interrupt.clone().wanted(), if is_sim => {
                    stop.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                news = told.recv() => news,
            };
            match news {
                Some(news) => self.take(news, world)?,
                None => break,
            }
        }
        if !interrupt.is_wanted() {
            self.give_up(&missing);
        }
        Ok(())
    }

    /// All cells that are finished, in order, and how many there were to be.
    pub fn finish(self) -> (usize, Vec<Cell>) {
        (self.cells.len(), self.cells.into_iter().flatten().collect())
    }

    fn take(&mut self, news: News, world: &Chosen) -> Result<(), Failure> {
        let index = match news {
            News::Begun(index) => {
                self.progress.begun(self.tasks[index].title());
                return Ok(());
            }
            News::Failed(index, seed, reason) => {
                self.gatherings
                    .entry(index)
                    .or_default()
                    .failed(seed, reason);
                if let Some(keeping) = &self.keeping {
                    keeping.discard(&self.tasks[index], seed);
                }
                index
            }
            News::Ran(index, looked) => {
                let gathering = self.gatherings.entry(index).or_default();
                let (task, seed) = (&self.tasks[index], looked.seed);
                let before = gathering.shown_seed();
                let is_shown = gathering.add(task, *looked);
                let loser = if is_shown { before } else { Some(seed) };
                if let (Some(keeping), Some(loser), Place::Real(_)) =
                    (&self.keeping, loser, &world.place)
                {
                    keeping.discard(task, loser);
                }
                index
            }
        };
        self.progress.ran();
        let runs = self.gatherings.get(&index).map(Gathering::runs);
        match runs == Some(self.seeds) {
            true => self.complete(index, world),
            false => Ok(()),
        }
    }

    /// All runs of the cell are there.
    fn complete(&mut self, index: usize, world: &Chosen) -> Result<(), Failure> {
        let Some(gathering) = self.gatherings.remove(&index) else {
            return Ok(());
        };
        let task = &self.tasks[index];
        let mut cell = gathering.cell(task);
        if let Some(keeping) = &self.keeping {
            match cell.error {
                // It is to be run again by the next call.
                Some(_) => keeping.discard(task, cell.seed),
                None => {
                    if matches!(world.place, Place::Sim) {
                        keep_simulated(keeping, task, cell.seed, world)?;
                    }
                    keeping.store(task, &self.key, &mut cell)?;
                }
            }
        }
        self.progress.finished(&cell);
        self.cells[index] = Some(cell);
        Ok(())
    }

    /// Whoever ran these is gone without a word.
    fn give_up(&mut self, missing: &[(usize, Arc<Task>)]) {
        for (index, task) in missing {
            if self.cells[*index].is_some() {
                continue;
            }
            let mut gathering = self.gatherings.remove(index).unwrap_or_default();
            let reason = "whoever ran it broke down; this is a defect of picklock";
            gathering.failed(task.order.seed, reason.into());
            let cell = gathering.cell(task);
            self.progress.finished(&cell);
            self.cells[*index] = Some(cell);
        }
    }
}

/// The shown run of a simulated cell once more, now to be kept: it is the same to the byte.
fn keep_simulated(
    keeping: &Keeping,
    task: &Task,
    seed: u64,
    world: &Chosen,
) -> Result<(), Failure> {
    let order = task.order.with_seed(seed);
    let ran = sim_run::run(&order, true)?;
    keep(
        &keeping.shown(task)?,
        &order,
        &ran,
        &record(&order, world, &ran),
    )
}
