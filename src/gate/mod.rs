//! `picklock gate`: compares results with the user's configuration, for CI.
//!
//! - [`cli`]: the command line
//! - [`config`], [`names`]: the cells and rules of `picklock.toml`
//! - [`measure`]: the runs, including those in pairs with a control
//! - [`baseline`]: the baseline file
//! - [`results`]: the files that `--out` writes
//!
//! The decision itself is a pure function: [`picklock_reports::gate::decide`].

mod baseline;
pub mod cli;
mod config;
mod measure;
mod names;
mod results;

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use picklock_harness::record::{MatrixRecord, SkippedCell};
use picklock_reports::gate::{Decision, annotations, decide, gate_json, hint, markdown, terminal};
use picklock_reports::inert;

use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::matrix::MatrixPlan;
use crate::matrix::directory::MatrixDirectory;
use crate::print;
use baseline::BaselineFile;
use cli::GateArgs;
use config::Config;

/// Runs the configured cells and decides.
///
/// # Errors
/// Returns an error if the configuration or the baseline is invalid, or if there is no backend to run in.
pub async fn run(args: GateArgs) -> Result<u8, Failure> {
    let config = Config::read(&args.config, args.yes)?;
    let interrupt = Interrupt::listen()?;
    let mut plans = measure::plan(&config, &interrupt).await?;
    let planned = config.batches.iter().zip(&plans);
    let cells = planned.flat_map(|((at, _), plan)| plan.cells().map(|(key, _)| (*at, key)));
    let omitted: Vec<SkippedCell> = plans.iter().flat_map(|it| it.skipped.clone()).collect();
    let rules = config.rules(cells.collect(), &omitted)?;
    plans.iter_mut().for_each(|plan| plan.overrule(&rules));
    let file = BaselineFile::named(args.baseline.as_deref(), &args.config, config.baseline());
    let mut baseline = file.read()?;
    let is_needed = file.is_named || rules.need_baseline();
    if baseline.is_none() && is_needed && !args.update_baseline {
        return Err(file.missing());
    }
    let frame = plans.first().map(MatrixPlan::frame).unwrap_or_default();
    let create = |path| MatrixDirectory::open_empty(path, &frame);
    let saved = args.out.as_deref().map(create).transpose()?;
    let out = saved.as_ref();
    let measured = measure::run(&config, &rules, &plans, out, args.quiet, &interrupt);
    let mut measurements = measured.await?;
    let is_interrupted = measurements.matrix.interrupted;
    if args.update_baseline && !is_interrupted {
        baseline = file.update(&rules, &measurements, baseline)?;
    }
    let decision = decide(&rules, baseline.as_ref(), &measurements);
    print_decision(&args, &decision)?;
    if let Some(saved) = &saved {
        measurements.matrix = MatrixRecord {
            cells: std::mem::take(&mut measurements.matrix.cells),
            skipped: std::mem::take(&mut measurements.matrix.skipped),
            interrupted: is_interrupted,
            ..frame
        };
        print::err(&results::write(saved, measurements.matrix, &decision)?);
    }
    if is_interrupted {
        return Ok(exit::INTERRUPTED);
    }
    Ok(exit::from_severity(decision.severity()))
}

fn print_decision(args: &GateArgs, decision: &Decision) -> Result<(), Failure> {
    if args.json {
        print::document(&gate_json(decision))
    } else {
        let mut text = terminal(decision, print::width());
        text.push(&hint(decision, args.out.is_some()));
        print::out(&text)
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        // The GitHub runner reads both streams.
        print::annotations(args.json, &annotations(decision));
    }
    match std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        Some(path) => append(Path::new(&path), &markdown(decision)),
        None => Ok(()),
    }
}

/// Appends `text` to a file, because other steps may have written to the summary too. A FIFO that has no reader is an
/// error: opening it would wait for one.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    file.and_then(|mut file| writeln!(file, "{text}"))
        .map_err(|error| {
            Failure::Environment(inert!(
                "GITHUB_STEP_SUMMARY: cannot write {}: {}",
                path.display(),
                error
            ))
        })
}
