//! The runs of a gate.
//!
//! Cells with latency limits in a server backend alternate with the control, one run at a time and with
//! no other runs beside them: lock, control, control, lock … The load of the machine then
//! affects both alike, and drift cancels out.

use picklock_harness::record::Cell;
use picklock_reports::gate::{CellKey, GateRuns, Pair, Paired, Rules, absorb};
use picklock_scenarios::BackendName;

use super::config::Config;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::matrix::directory::MatrixDirectory;
use crate::matrix::{MatrixPlan, must_run};
use crate::print;

/// The seed of the first pair; each further pair uses the next seed.
const SEED: u64 = 1;

/// Plans all cells before any run starts, in the order of the batches, and prints the chosen backends.
///
/// # Errors
/// An invalid scenario file, or no backend to run in.
pub async fn plan(config: &Config, interrupt: &Interrupt) -> Result<Vec<MatrixPlan>, Failure> {
    let mut plans = Vec::new();
    let mut told: Vec<BackendName> = Vec::new();
    for (_, request) in &config.batches {
        let plan = MatrixPlan::of(request.clone(), interrupt).await?;
        for (backend, reason) in plan.backends() {
            if !told.contains(&backend) {
                told.push(backend);
                print::err(&format!("backend {backend} ({reason})\n"));
            }
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// Runs everything; `None` if the user interrupted it.
///
/// # Errors
/// The control cannot be run at all.
pub async fn run(
    config: &Config,
    rules: &Rules,
    plans: &[MatrixPlan],
    directory: Option<&MatrixDirectory>,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Option<GateRuns>, Failure> {
    let mut ran = GateRuns::default();
    for plan in plans {
        let unpaired = |key: &CellKey| !rules.is_paired(key);
        let kept = directory.cloned();
        let cells = plan.run(unpaired, None, kept, quiet, interrupt).await?;
        ran.matrix.cells.extend(cells);
        ran.matrix.skipped.extend(plan.skipped().iter().cloned());
    }
    for plan in plans {
        for (key, scenario) in plan.cells() {
            if !rules.is_paired(&key) || interrupt.is_wanted() {
                continue;
            }
            let name = config.control.as_deref().unwrap_or_default();
            let request = config.control_request(name, scenario, key.backend);
            let control = MatrixPlan::of(request, interrupt).await?;
            must_run(&control)?;
            let pairing = Pairing {
                key: &key,
                plan,
                control: &control,
                name,
            };
            let found = pairing.run(config.pairs, quiet, interrupt).await?;
            if let Some((cell, paired)) = found {
                ran.matrix.cells.push(cell);
                ran.paired.push(paired);
            }
        }
    }
    Ok(Some(ran).filter(|_| !interrupt.is_wanted()))
}

/// One cell and its control.
struct Pairing<'a> {
    key: &'a CellKey,
    plan: &'a MatrixPlan,
    control: &'a MatrixPlan,
    name: &'a str,
}

impl Pairing<'_> {
    async fn run(
        &self,
        pairs: usize,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<Option<(Cell, Paired)>, Failure> {
        let mut paired = Paired {
            key: self.key.clone(),
            control: self.name.to_owned(),
            pairs: Vec::new(),
            error: None,
        };
        let mut whole: Option<Cell> = None;
        for pair in 0..pairs {
            let seed = SEED + pair as u64;
            let (mut lock, mut control) = (None, None);
            // Which of the two runs first alternates from pair to pair.
            for is_lock in [pair % 2 == 0, pair % 2 == 1] {
                if is_lock {
                    let wanted = |key: &CellKey| key == self.key;
                    let run = self.plan.run(wanted, Some(seed), None, true, interrupt);
                    lock = only(run.await?, interrupt);
                } else {
                    let run = self
                        .control
                        .run(|_| true, Some(seed), None, true, interrupt);
                    control = only(run.await?, interrupt);
                }
            }
            let (Some(lock), Some(control)) = (lock, control) else {
                return Ok(None);
            };
            if !quiet {
                print::err(&format!("[pair {}/{pairs}] {}\n", pair + 1, self.key));
            }
            paired.error = paired.error.take().or(control.error);
            paired.pairs.push(Pair {
                lock: lock.latency.clone(),
                control: control.latency,
            });
            match &mut whole {
                Some(whole) => absorb(whole, lock),
                None => whole = Some(lock),
            }
        }
        Ok(whole.map(|cell| (cell, paired)))
    }
}

/// The single cell; `None` if the user interrupted it.
fn only(cells: Vec<Cell>, interrupt: &Interrupt) -> Option<Cell> {
    cells.into_iter().next().filter(|_| !interrupt.is_wanted())
}
