//! `picklock matrix`: locks × scenarios × backends, compared with the expectations.
//!
//! - [`cli`]: the command line
//! - [`request`], [`selection`]: the cells
//! - [`candidate`]: a lock and the expectations for it; [`similarities`]: the built-in locks that it resembles
//! - [`plan`]: the cells that can be run; other commands run some of them
//! - [`matrix_run`]: takes the results, completes the cells, continues from a directory
//! - [`work`]: starts the runs, many in parallel
//! - [`rerun`]: repeats an inconclusive run
//! - [`runner`]: executes a piece of work: in the simulation, or as a [`child_run`] on servers
//! - [`cell_builder`]: combines the runs of a cell, [`cell_latency`] their latencies
//! - [`directory`]: stores cells, and finds cells that need not run again
//! - [`progress`]: live progress

mod candidate;
mod cell_builder;
mod cell_latency;
pub mod child_run;
pub mod cli;
pub mod directory;
mod matrix_run;
mod plan;
mod progress;
pub mod request;
mod rerun;
mod runner;
mod selection;
mod similarities;
mod work;

use picklock_harness::clock::{Clock, millis};
use picklock_harness::record::MatrixRecord;
use picklock_reports::documents;
use picklock_reports::inert;
use picklock_reports::matrix::Conclusion;
use picklock_reports::{terminal, units};

use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::print;
use cli::MatrixArgs;
use directory::MatrixDirectory;
use matrix_run::MatrixResult;
pub use plan::MatrixPlan;
use request::MatrixRequest;

/// Runs all cells, prints the table, and saves the matrix. A cell that cannot be run is not an error here; the cell
/// records its error.
///
/// # Errors
/// Returns an error if the usage is wrong, or if there is no backend to run in.
pub async fn run(args: MatrixArgs) -> Result<u8, Failure> {
    let clock = Clock::start();
    let request = MatrixRequest::from_args(&args)?;
    let interrupt = Interrupt::listen()?;
    let plan = MatrixPlan::new(request, &interrupt).await?;
    must_run(&plan)?;
    let open = |path| MatrixDirectory::open(path, &plan.frame());
    let directory = args.out.as_deref().map(open).transpose()?;
    announce(&args, &plan);
    let mut finished = plan
        .run_all(directory.clone(), args.quiet, &interrupt)
        .await?;
    let cells = std::mem::take(&mut finished.cells);
    let mut record = MatrixRecord {
        similarity: plan.similarities(&cells),
        interrupted: interrupt.is_wanted(),
        cells,
        ..plan.frame()
    };
    // The output of a simulation must be the same for the same arguments.
    if !plan.is_simulated() {
        record.elapsed_ms = Some(millis(clock.elapsed()));
    }
    if let Some(directory) = &directory {
        directory.finish(&record)?;
    }
    print_result(
        &args,
        &record,
        &finished,
        &units::span_ms(millis(clock.elapsed())),
    );
    Ok(code_of(Conclusion::from_matrix(&record)))
}

/// Refuses a plan without a cell that can be run.
pub fn must_run(plan: &MatrixPlan) -> Result<(), Failure> {
    match plan.cells().next() {
        Some(_) => Ok(()),
        None => Err(selection::nothing_left(&plan.skipped)),
    }
}

/// Disk space of a saved run in kilobytes, with its command log compressed. Measured over all built-in locks and the
/// whole catalog.
const KEPT_KB: usize = 75;

/// Prints the chosen backends with the reasons, and what will be saved.
fn announce(args: &MatrixArgs, plan: &MatrixPlan) {
    let last = args.seed + (args.seeds - 1);
    let seeds = match args.seeds {
        1 => format!("seed {}", args.seed),
        _ => format!("seeds {} to {last}", args.seed),
    };
    for (backend, reason) in plan.backends() {
        let line = inert!("backend {} ({}), {}\n", backend, reason, seeds);
        print::note(args.json, &line);
    }
    if let Some(path) = args.out.as_ref().filter(|_| !args.quiet) {
        let runs = units::count(plan.cells().count(), "run");
        let megabytes = (plan.cells().count() * KEPT_KB).div_ceil(1_000);
        let path = path.display();
        print::err(&inert!(
            "{} will contain {}, about {} MB\n",
            path,
            runs,
            megabytes
        ));
    }
    for note in plan.notes() {
        print::err(&inert!("{}\n", note));
    }
}

fn print_result(args: &MatrixArgs, record: &MatrixRecord, finished: &MatrixResult, took: &str) {
    if args.json {
        print::document(&documents::matrix_json(record));
    } else {
        print::out(&terminal::matrix(record, print::width()));
        let conclusion = Conclusion::from_matrix(record);
        if conclusion != Conclusion::default() {
            let hint = if conclusion.no_expectation > 0 {
                "; --reference LOCK compares them with a built-in lock"
            } else {
                ""
            };
            let (code, why) = (code_of(conclusion), conclusion.describe());
            print::out(&inert!("exit {}: {}{}\n", code, why, hint));
        }
    }
    let wanted = finished.wanted;
    if record.interrupted {
        let missing = finished.missing;
        let short = match finished.short {
            0 => String::new(),
            1 => ", 1 has fewer runs than it should".to_owned(),
            short => format!(", {short} have fewer runs than they should"),
        };
        let hint = match args.out {
            Some(_) => "; run the same command again to continue",
            None => "; with --out DIR, the same command could continue",
        };
        print::err(&inert!(
            "interrupted: {} of {} cells are missing{}{}\n",
            missing,
            wanted,
            short,
            hint
        ));
    } else if !args.quiet {
        let all = units::count(wanted + record.skipped.len(), "cell");
        let ran = match record.skipped.len() {
            0 => String::new(),
            _ => format!(", {wanted} of which could be run"),
        };
        print::err(&inert!("{} in {}{}\n", all, took, ran));
    }
}

/// Returns the exit code for a conclusion.
pub fn code_of(conclusion: Conclusion) -> u8 {
    if conclusion.is_interrupted {
        exit::INTERRUPTED
    } else {
        exit::from_severity(conclusion.severity())
    }
}
