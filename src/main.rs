//! Picklock: stress-tests distributed locks on Redis.
//!
//! This binary parses, composes, dispatches, prints and exits; no other crate does any of these.
//!
//! - the command line: [`cli`], with `usage_hint` and `misplaced_password` for its errors
//! - one file or folder per command: `scenario`, `matrix`, `gate`, `search` (`sweep`, `hunt`, `merge`), `replay`,
//!   `check`, `report`, `log`, `explain`, `listing`, `docs`, `init`, `adapter_check`, `proxy_service`, `completions`,
//!   and the hidden `worker`
//! - from names to a run: `named_lock` and `name_pattern` read names, `lock` and `reference_lock` find locks,
//!   `backend_choice`, `external_choice` and `image` choose servers, `configuration` reads `picklock.toml`,
//!   `specification` combines them, and `run` runs the result
//! - files: `run_directory`, `saved_run`, `repro` and `reproduce_command` save and repeat a run, `report_reader` reads
//!   results, `output_directory`, `untrusted_file` and `trust` guard the user's files
//! - output: `print`, `status_line`, `live_progress`, `pager`, `terminal_markdown`, `worker_stderr`
//! - the end: `interrupt`, `exit`

mod adapter_check;
mod backend_choice;
mod check;
mod ci_job;
mod cli;
mod completions;
mod configuration;
mod docs;
mod exit;
mod explain;
mod external_choice;
mod gate;
mod image;
mod init;
mod interrupt;
mod listing;
mod live_progress;
mod lock;
mod log;
mod matrix;
mod misplaced_password;
mod name_pattern;
mod named_lock;
mod output_directory;
mod pager;
mod print;
mod proxy_service;
mod reference_lock;
mod replay;
mod report;
mod report_reader;
mod repro;
mod reproduce_command;
mod run;
mod run_directory;
mod saved_run;
mod scenario;
mod search;
mod specification;
mod status_line;
mod terminal_markdown;
mod trust;
mod untrusted_file;
mod usage_hint;
mod worker;
mod worker_stderr;

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use rustix::process::Resource;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use cli::{Cli, Command};
use exit::Failure;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Stack of a thread that does all work, in bytes, which is the usual limit of the main thread.
const STACK_BYTES: u64 = 8 << 20;

/// Does all work on the main thread, or on a thread with a larger stack if the limit of the shell is too low. Either
/// thread lives as long as the process.
fn main() -> ExitCode {
    let limit = rustix::process::getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= STACK_BYTES / 2) {
        return run();
    }
    let thread = thread::Builder::new().name("main".to_owned());
    match thread.stack_size(STACK_BYTES as usize).spawn(run) {
        Ok(working) => working
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => {
            print::err(&inert!("picklock: cannot start a thread: {}\n", error));
            ExitCode::from(exit::ENVIRONMENT)
        }
    }
}

fn run() -> ExitCode {
    if let Err(failure) = refuse_writes_beyond_the_limit() {
        print::err(&inert!("picklock: {}\n", failure.text()));
        return failure.code();
    }
    let args = cli::with_command(std::env::args_os());
    let command = match Cli::try_parse_from(&args) {
        Ok(cli) => cli.command,
        Err(error) => return print_clap_error(&error, &args),
    };
    let outcome = match command {
        Command::Scenario(args) => on_one_thread(scenario::run(args)),
        Command::Replay(args) => on_one_thread(replay::run(args)),
        Command::Matrix(args) => on_one_thread(matrix::run(args)),
        Command::Sweep(args) => on_one_thread(search::sweep::run(args)),
        Command::Hunt(args) => on_one_thread(search::hunt::run(args)),
        Command::Merge(args) => search::merge::run(&args),
        Command::Gate(args) => on_one_thread(gate::run(args)),
        Command::Adapter(args) => on_one_thread(adapter_check::run(args)),
        Command::List(args) => listing::run(&args).map(|()| exit::HELD),
        Command::Check(args) => check::run(&args),
        Command::Log(args) => log::run(&args),
        Command::Proxy(args) => on_one_thread(proxy_service::run(args)),
        Command::Init(args) => init::run(&args).map(|()| exit::HELD),
        Command::Report(args) => report::run(&args),
        Command::Explain(args) => explain::run(&args).map(|()| exit::HELD),
        Command::Docs(args) => docs::run(&args).map(|()| exit::HELD),
        Command::Completions { shell } => {
            completions::completions(shell);
            Ok(exit::HELD)
        }
        Command::Man { command } => completions::man(command.as_deref()).map(|()| exit::HELD),
        Command::Worker { lock } => on_one_thread(worker::run(lock)),
        Command::ContainerStreams { name } => on_one_thread(worker::carry_streams(name)),
        Command::Reaper => worker::reap(),
    };
    match (outcome, print::lost()) {
        (Ok(_), Some(error)) => output_is_lost(error),
        (Ok(code), None) => ExitCode::from(code),
        (Err(failure), _) => {
            let text = misplaced_password::hidden(&failure.text(), &args);
            print::err(&inert!("picklock: {}\n", text));
            failure.code()
        }
    }
}

/// Prints the output of `--help` or `--version`, or the usage error.
fn print_clap_error(clap_error: &clap::Error, args: &[OsString]) -> ExitCode {
    // The message may quote an argument with foreign text.
    let message = Inert::with_styles(&clap_error.render().ansi().to_string());
    let message = misplaced_password::hidden(&message, args);
    if clap_error.use_stderr() {
        print::err(&message);
    } else {
        print::out(&message);
    }
    let words = args.iter().map(|arg| arg.to_string_lossy().into_owned());
    if let Some(hint) = usage_hint::hint(clap_error, &words.collect::<Vec<_>>()) {
        let hint = misplaced_password::hidden(&Inert::lines(&hint), args);
        print::err(&inert!("  = help: {}\n", hint));
    }
    match print::lost() {
        Some(error) => output_is_lost(error),
        None => ExitCode::from(u8::try_from(clap_error.exit_code()).unwrap_or(exit::USAGE)),
    }
}

fn output_is_lost(reason: &str) -> ExitCode {
    print::err(&inert!(
        "picklock: cannot write to standard output: {}\n",
        reason
    ));
    ExitCode::from(exit::ENVIRONMENT)
}

/// Turns a write beyond the limit of file sizes (`ulimit -f`) into an error that names the file. Without a handler, the
/// signal would end the process.
fn refuse_writes_beyond_the_limit() -> Result<(), Failure> {
    let runtime = runtime()?;
    let _entered = runtime.enter();
    let number = rustix::process::Signal::XFSZ.as_raw();
    // The handler stays installed. Unlike an ignored signal, it is not inherited by children.
    signal(SignalKind::from_raw(number))
        .map(drop)
        .map_err(|error| Failure::Environment(inert!("cannot listen for signals: {}", error)))
}

fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(inert!("cannot start the runtime: {}", error)))
}

/// Runs everything on this thread: children die with the thread that started them, so that thread must live as long
/// as the process.
fn on_one_thread(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    // Boxed, so that the runtime is compiled once for all commands.
    let work: Pin<Box<dyn Future<Output = _>>> = Box::pin(work);
    let runtime = runtime()?;
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, work);
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    outcome
}
