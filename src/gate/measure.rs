//! The runs of a gate.
//!
//! Cells with latency limits in a server backend alternate with the control (lock, control, control, lock …), one run
//! at a time and with no other runs in parallel. The load of the machine then affects both alike, and drift cancels
//! out.

use picklock_harness::record::Cell;
use picklock_reports::gate::{CellKey, GateRuns, Pair, Paired, Rules, absorb};
use picklock_reports::inert;
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
/// Returns an error if a scenario file is invalid, or if there is no backend to run in.
pub async fn plan(config: &Config, interrupt: &Interrupt) -> Result<Vec<MatrixPlan>, Failure> {
    let mut plans = Vec::new();
    let mut announced: Vec<BackendName> = Vec::new();
    for (_, request) in &config.batches {
        let plan = MatrixPlan::new(request.clone(), interrupt).await?;
        for (backend, reason) in plan.backends() {
            if !announced.contains(&backend) {
                announced.push(backend);
                print::err(&inert!("backend {} ({})\n", backend, reason));
            }
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// Runs all cells. If the user interrupts, the result contains the findings so far, and is marked as interrupted.
///
/// # Errors
/// Returns an error if the control cannot be run at all.
pub async fn run(
    config: &Config,
    rules: &Rules,
    plans: &[MatrixPlan],
    directory: Option<&MatrixDirectory>,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<GateRuns, Failure> {
    let mut results = GateRuns::default();
    for plan in plans {
        let unpaired = |key: &CellKey| !rules.is_paired(key);
        let output = directory.cloned();
        let cells = plan.run(unpaired, None, output, quiet, interrupt).await?;
        results.matrix.cells.extend(cells);
        results.matrix.skipped.extend(plan.skipped.iter().cloned());
    }
    for plan in plans {
        for (key, scenario) in plan.cells() {
            if !rules.is_paired(&key) || interrupt.is_wanted() {
                continue;
            }
            let name = config.control.as_deref().unwrap_or_default();
            let request = config.control_request(name, scenario, key.backend);
            let control = MatrixPlan::new(request, interrupt).await?;
            must_run(&control)?;
            let mut paired = Paired {
                key,
                control: name.to_owned(),
                pairs: Vec::new(),
                error: None,
            };
            let whole = run_pairs(&mut paired, plan, &control, config.pairs, quiet, interrupt);
            if let Some(cell) = whole.await? {
                results.matrix.cells.push(cell);
                results.paired.push(paired);
            }
        }
    }
    results.matrix.interrupted = interrupt.is_wanted();
    Ok(results)
}

/// Runs a cell and its control in pairs, and adds them to `paired`. Returns the cell of all its runs, or `None` if the
/// user interrupted it.
async fn run_pairs(
    paired: &mut Paired,
    plan: &MatrixPlan,
    control: &MatrixPlan,
    pairs: usize,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Option<Cell>, Failure> {
    let mut whole: Option<Cell> = None;
    for pair in 0..pairs {
        let seed = Some(SEED + pair as u64);
        let (mut of_lock, mut of_control) = (None, None);
        // The order within a pair alternates from pair to pair.
        for is_lock in [pair % 2 == 0, pair % 2 == 1] {
            if is_lock {
                let wanted = |key: &CellKey| *key == paired.key;
                let run = plan.run(wanted, seed, None, true, interrupt);
                of_lock = only(run.await?, interrupt);
            } else {
                let run = control.run(|_| true, seed, None, true, interrupt);
                of_control = only(run.await?, interrupt);
            }
        }
        let (Some(of_lock), Some(of_control)) = (of_lock, of_control) else {
            return Ok(None);
        };
        if !quiet {
            print::err(&inert!("[pair {}/{}] {}\n", pair + 1, pairs, paired.key));
        }
        paired.error = paired.error.take().or(of_control.error);
        paired.pairs.push(Pair {
            lock: of_lock.latency.clone(),
            control: of_control.latency,
        });
        match &mut whole {
            Some(whole) => absorb(whole, of_lock),
            None => whole = Some(of_lock),
        }
    }
    Ok(whole)
}

/// Returns the single cell, or `None` if the user interrupted the run.
fn only(cells: Vec<Cell>, interrupt: &Interrupt) -> Option<Cell> {
    cells.into_iter().next().filter(|_| !interrupt.is_wanted())
}
