//! `picklock matrix`: locks × scenarios × backends, compared with the expectations.
//!
//! - [`cli`]: the command line
//! - [`request`], [`selection`]: the cells
//! - [`candidate`]: a lock, and what it is held to; [`similarities`]: what it behaves like
//! - [`simulated`], [`real`]: run the cells, many at a time
//! - [`pieces`]: the runs of all cells, as they are needed
//! - [`cell_builder`]: combines the runs of a cell, [`cell_latency`] their latencies
//! - [`directory`]: keeps cells, and tells which need not run again
//! - [`progress`]: live progress
//! - [`plan`]: the same cells for another command

mod candidate;
mod cell_builder;
mod cell_latency;
pub mod cli;
mod directory;
mod matrix_run;
mod pieces;
mod plan;
mod progress;
mod real;
pub mod request;
mod selection;
mod similarities;
mod simulated;

use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::context::millis;
use picklock_harness::record::{MATRIX_FORMAT, MatrixRecord, SkippedCell};
use picklock_reports::matrix::{Conclusion, matrix_json};
use picklock_reports::{terminal, units};
use picklock_scenarios::BackendName;

use crate::backend_choice::{self, ChosenBackend, Wanted};
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::print;
use crate::reproduce_command::ReproduceCommand;
use cli::MatrixArgs;
use directory::MatrixDirectory;
use matrix_run::{MatrixResult, MatrixRun};
pub use plan::MatrixPlan;
use request::MatrixRequest;
pub use selection::MANY_WORKERS;

/// Runs all cells, prints the table, and keeps the matrix.
///
/// # Errors
/// Wrong usage, or no backend to run in. A cell that cannot be run is not an error here: it has an
/// error of its own.
pub async fn run(args: MatrixArgs) -> Result<u8, Failure> {
    let clock = Clock::start();
    let request = MatrixRequest::of_args(&args)?;
    let selection = selection::select(&request)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Environment(format!("cannot listen for signals: {error}")))?;
    let backends = tokio::select! {
        () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
        backends = choose(&request, selection.can_simulate()) => backends?,
    };
    let (tasks, skipped) = selection.cells(&request, &backends)?;
    let empty = frame(&request, &backends, skipped);
    let directory = match &args.out {
        Some(path) => Some(MatrixDirectory::open(path, &empty)?),
        None => None,
    };
    announce(&args, &backends);
    let mut run = MatrixRun::new(
        &request,
        tasks.into_iter().map(Arc::new).collect(),
        directory.clone(),
        args.quiet,
    );
    run.recall()?;
    for backend in &backends {
        let jobs = args.jobs.unwrap_or_else(|| jobs(backend));
        run.run_backend(backend, jobs, &interrupt).await?;
    }
    let mut finished = run.finish();
    let cells = std::mem::take(&mut finished.cells);
    let mut record = MatrixRecord {
        similarity: selection.similarities(&request, &cells),
        interrupted: interrupt.is_wanted(),
        cells,
        ..empty
    };
    // The output of a simulation is the same for the same arguments.
    if backends.iter().any(|backend| backend.servers.is_some()) {
        record.elapsed_ms = Some(millis(clock.elapsed()));
    }
    if let Some(directory) = &directory {
        directory.finish(&record)?;
    }
    tell(
        &args,
        &record,
        &finished,
        &units::span_ms(millis(clock.elapsed())),
    );
    Ok(code_of(Conclusion::of(&record)))
}

/// The backends of the request without duplicates.
async fn choose(
    request: &MatrixRequest,
    can_simulate: bool,
) -> Result<Vec<ChosenBackend>, Failure> {
    let mut backends: Vec<ChosenBackend> = Vec::new();
    for backend in &request.backends {
        let chosen = backend_choice::choose(Wanted {
            backend: *backend,
            servers: &request.servers,
            can_simulate,
            scenario: None,
        })
        .await?;
        if backends
            .iter()
            .all(|backend| backend.name() != chosen.name())
        {
            backends.push(chosen);
        }
    }
    Ok(backends)
}

/// Number of runs at a time: a simulation needs a processor; a run on server processes mostly
/// waits; the start of five containers does not.
fn jobs(backend: &ChosenBackend) -> usize {
    match backend.name() {
        BackendName::Process => 2 * processors(),
        _ => processors(),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The document without its cells.
fn frame(
    request: &MatrixRequest,
    backends: &[ChosenBackend],
    skipped: Vec<SkippedCell>,
) -> MatrixRecord {
    let most = backends.iter().map(jobs).max().unwrap_or(1);
    MatrixRecord {
        format: MATRIX_FORMAT.to_owned(),
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        seed: request.seed,
        seeds: request.seeds,
        processors: processors(),
        similarity: Vec::new(),
        jobs: request.jobs.unwrap_or(most),
        // Cleared at the end of a complete run.
        interrupted: true,
        elapsed_ms: None,
        cells: Vec::new(),
        skipped,
        reproduce: ReproduceCommand::of_matrix(request, backends.iter().map(ChosenBackend::name))
            .to_string(),
    }
}

/// Prints the chosen backends, and why they were chosen.
fn announce(args: &MatrixArgs, backends: &[ChosenBackend]) {
    let last = args.seed + (args.seeds - 1);
    let seeds = match args.seeds {
        1 => format!("seed {}", args.seed),
        _ => format!("seeds {} to {last}", args.seed),
    };
    for backend in backends {
        let line = format!("backend {} ({}), {seeds}\n", backend.name(), backend.reason);
        match args.json {
            true => print::err(&line),
            false => print::out(&line),
        }
    }
}

fn tell(args: &MatrixArgs, record: &MatrixRecord, finished: &MatrixResult, took: &str) {
    if args.json {
        print::out(&format!("{}\n", matrix_json(record)));
    } else {
        print::out(&terminal::matrix(record, print::width()));
        let conclusion = Conclusion::of(record);
        if conclusion != Conclusion::AsExpected {
            let hint = match conclusion {
                Conclusion::Violated { open: 1.., .. } => {
                    "; --like LOCK holds them to a built-in lock"
                }
                _ => "",
            };
            let (code, why) = (code_of(conclusion), conclusion.why());
            print::out(&format!("exit {code}: {why}{hint}\n"));
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
        print::err(&format!(
            "interrupted: {missing} of {wanted} cells are missing{short}{hint}\n"
        ));
    } else if !args.quiet {
        print::err(&format!("{wanted} cells in {took}\n"));
    }
}

/// The exit code for what follows from the cells.
fn code_of(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Interrupted => exit::INTERRUPTED,
        Conclusion::Violated { .. } => exit::VIOLATED,
        Conclusion::NotRun(_) => exit::ENVIRONMENT,
        Conclusion::NotJudged(_) => exit::INCONCLUSIVE,
        Conclusion::AsExpected => exit::HELD,
    }
}
