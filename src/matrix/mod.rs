//! `picklock matrix`: subjects × scenarios × worlds, held against what is expected.
//!
//! - [`cli`]: what can be typed
//! - [`selection`]: which cells there are
//! - [`simulated`], [`real`]: how they are run, many at a time
//! - [`gathering`]: from the runs of a cell to the cell
//! - [`keeping`]: what stays of it, and what need not be run again
//! - [`progress`]: what the user sees meanwhile
//! - [`planned`]: the same cells for another command, which tells of them in its own way

pub mod cli;
mod gathering;
mod keeping;
mod planned;
mod progress;
mod real;
mod running;
mod selection;
mod simulated;

use picklock_scenarios::WorldName;
use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::context::millis;
use picklock_harness::record::{MATRIX_FORMAT, MatrixRecord, SkippedCell};
use picklock_reports::matrix::matrix_json;
use picklock_reports::{terminal, units};

use crate::backend::{self, Chosen, Place, Wanted};
use crate::cli::BackendChoice;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::print;
use cli::MatrixArgs;
use keeping::{Keeping, Key};
pub use planned::Planned;
use running::Running;

/// Runs all cells, prints the table, keeps it.
///
/// # Errors
/// Wrong usage, or no world to run in. A cell that cannot be run is no error: it says so itself.
pub async fn run(args: MatrixArgs) -> Result<u8, Failure> {
    let clock = Clock::start();
    let named = selection::named(&args)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Environment(format!("cannot listen to signals: {error}")))?;
    let worlds = tokio::select! {
        () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
        worlds = choose(&args, named.can_simulate()) => worlds?,
    };
    let (tasks, skipped) = named.cells(&args, &worlds)?;
    let empty = frame(&args, &worlds, skipped);
    let keeping = match &args.out {
        Some(path) => Some(Keeping::open(path, &empty)?),
        None => None,
    };
    announce(&args, &worlds);
    let mut running = Running::new(
        &args,
        tasks.into_iter().map(Arc::new).collect(),
        keeping.clone(),
        Key::of(&args),
    );
    running.recall()?;
    for world in &worlds {
        let jobs = args.jobs.unwrap_or_else(|| jobs(world));
        running.run_world(world, jobs, &interrupt).await?;
    }
    let (wanted, cells) = running.finish();
    let mut record = MatrixRecord {
        interrupted: interrupt.is_wanted(),
        cells,
        ..empty
    };
    // What a simulation prints is the same for the same arguments.
    if worlds
        .iter()
        .any(|world| !matches!(world.place, Place::Sim))
    {
        record.elapsed_ms = Some(millis(clock.elapsed()));
    }
    if let Some(keeping) = &keeping {
        keeping.finish(&record)?;
    }
    tell(
        &args,
        &record,
        wanted,
        &units::span_ms(millis(clock.elapsed())),
    );
    Ok(code_of(&record))
}

/// The worlds that were asked for, each once.
async fn choose(args: &MatrixArgs, can_simulate: bool) -> Result<Vec<Chosen>, Failure> {
    let all = match args.backends.is_empty() {
        true => &[BackendChoice::Auto][..],
        false => &args.backends,
    };
    let mut worlds: Vec<Chosen> = Vec::new();
    for backend in all {
        let chosen = backend::choose(Wanted {
            backend: *backend,
            image: args.servers.image.as_deref(),
            redis_server: args.servers.redis_server.as_deref(),
            can_simulate,
            scenario: None,
        })
        .await?;
        if worlds.iter().all(|world| world.name() != chosen.name()) {
            worlds.push(chosen);
        }
    }
    Ok(worlds)
}

/// How many runs at a time: simulations need a processor each, runs on real servers mostly wait,
/// but the start of five containers does not.
fn jobs(world: &Chosen) -> usize {
    match world.name() {
        WorldName::Process => 2 * processors(),
        _ => processors(),
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The document without its cells.
fn frame(args: &MatrixArgs, worlds: &[Chosen], skipped: Vec<SkippedCell>) -> MatrixRecord {
    let most = worlds.iter().map(jobs).max().unwrap_or(1);
    MatrixRecord {
        format: MATRIX_FORMAT.to_owned(),
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        seed: args.seed,
        seeds: args.seeds,
        processors: processors(),
        jobs: args.jobs.unwrap_or(most),
        // Until it is known that it was not.
        interrupted: true,
        elapsed_ms: None,
        cells: Vec::new(),
        skipped,
        reproduce: reproduce(args, worlds),
    }
}

/// The command that repeats the matrix, in the worlds that were found.
fn reproduce(args: &MatrixArgs, worlds: &[Chosen]) -> String {
    let mut words = vec!["picklock".to_owned(), "matrix".to_owned()];
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    for subject in &args.subjects {
        flag("impl", subject.clone());
    }
    for (key, value) in &args.options {
        flag("impl-option", format!("{key}={value}"));
    }
    for scenario in &args.scenarios {
        flag("scenario", scenario.clone());
    }
    for world in worlds {
        flag("backend", world.name().to_string());
    }
    flag("seeds", args.seeds.to_string());
    flag("seed", args.seed.to_string());
    if let Some(image) = &args.servers.image {
        flag("image", image.clone());
    }
    if let Some(path) = &args.servers.redis_server {
        flag("redis-server", path.display().to_string());
    }
    let quoted = words.iter().map(|word| shell_words::quote(word).into());
    quoted.collect::<Vec<String>>().join(" ")
}

/// The first lines say which worlds were chosen and why.
fn announce(args: &MatrixArgs, worlds: &[Chosen]) {
    let last = args.seed + (args.seeds - 1);
    let seeds = match args.seeds {
        1 => format!("seed {}", args.seed),
        _ => format!("seeds {} to {last}", args.seed),
    };
    for world in worlds {
        let line = format!("backend {} ({}), {seeds}\n", world.name(), world.reason);
        match args.json {
            true => print::err(&line),
            false => print::out(&line),
        }
    }
}

fn tell(args: &MatrixArgs, record: &MatrixRecord, wanted: usize, took: &str) {
    if args.json {
        print::out(&format!("{}\n", matrix_json(record)));
    } else {
        print::out(&terminal::matrix(record, print::width()));
    }
    if record.interrupted {
        let missing = wanted - record.cells.len();
        let hint = match args.out {
            Some(_) => "; the same command goes on with them",
            None => "; with --out DIR the same command would go on with them",
        };
        print::err(&format!(
            "interrupted: {missing} of {wanted} cells are missing{hint}\n"
        ));
    } else if !args.quiet {
        print::err(&format!("{wanted} cells in {took}\n"));
    }
}

/// The exit code: a surprise wins over a cell that could not be run, and that over one that could
/// not be judged. Cells of which no table speaks count as single runs do: whoever has a lock of
/// his own in a matrix wants to be told that it broke.
fn code_of(record: &MatrixRecord) -> u8 {
    let cells = &record.cells;
    let strangers = || cells.iter().filter(|cell| cell.expected.is_empty());
    let tallies = || strangers().flat_map(|cell| cell.tally.values());
    if record.interrupted {
        exit::INTERRUPTED
    } else if cells.iter().any(|cell| cell.is_surprising())
        || tallies().any(|tally| tally.violated > 0)
    {
        exit::VIOLATED
    } else if cells.iter().any(|cell| cell.error.is_some()) {
        exit::ENVIRONMENT
    } else if cells.iter().any(|cell| !cell.is_as_expected())
        || tallies().any(|tally| tally.unknown > 0)
    {
        exit::INCONCLUSIVE
    } else {
        exit::HELD
    }
}
