//! Picklock: tries to pick distributed locks on Redis.
//!
//! This binary parses, composes, dispatches, prints and exits, and nothing else does any of it:
//!
//! - [`cli`]: what can be typed
//! - [`subject`], [`backend`], [`image`]: where names become things
//! - [`request`]: what the user asks to be run, checked before anything starts
//! - [`scenario`]: one run, from the command line to the report
//! - [`command_line`]: from a specification back to the command that repeats it
//! - [`matrix`]: many of them, and one table
//! - [`replay`]: a kept run once more, from its [`repro`] file
//! - [`gate`]: what came out, held against what the user wants
//! - [`listing`], [`judge`]: the smaller commands
//! - [`report`]: reports from what runs have left, which [`report_input`] reads
//! - [`explain`], [`completions`]: what people and shells want to know
//! - [`worker`]: the hidden end of the adapter protocol
//! - [`source`]: what is wrong in a file of the user's, and where
//! - [`live_progress`], [`print`], [`output`], [`exit`]: what the user sees, and what stays

mod backend;
mod cli;
mod command_line;
mod completions;
mod exit;
mod explain;
mod gate;
mod image;
mod interrupt;
mod judge;
mod listing;
mod live_progress;
mod matrix;
mod output;
mod print;
mod replay;
mod report;
mod report_input;
mod repro;
mod request;
mod scenario;
mod source;
mod subject;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::Failure;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Scenario(args) => on_one_thread(scenario::run(args)),
        Command::Replay(args) => on_one_thread(replay::run(args)),
        Command::Matrix(args) => on_one_thread(matrix::run(args)),
        Command::Gate(args) => on_one_thread(gate::run(args)),
        Command::List(args) => listing::run(&args).map(|()| exit::HELD),
        Command::Check(args) => judge::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Explain(args) => explain::run(&args).map(|()| exit::HELD),
        Command::Completions { shell } => {
            completions::completions(shell);
            Ok(exit::HELD)
        }
        Command::Man { command } => completions::man(command.as_deref()).map(|()| exit::HELD),
        Command::Worker { subject } => on_one_thread(worker::run(subject)),
        Command::Reaper => worker::reap(),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            print::err(&format!("picklock: {failure}\n"));
            failure.code()
        }
    }
}

/// Everything runs on the main thread: children are to die with the thread that started them, and
/// that must be one which lives as long as the process.
fn on_one_thread(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(format!("cannot start the runtime: {error}")))?;
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, work);
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    outcome
}
