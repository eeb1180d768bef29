//! The command line. This file only parses; other files act on it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use picklock_harness::named_server::NamedServer;
use picklock_harness::spec::ServerChoice;
use picklock_reports::formats::FORMATS;
use picklock_scenarios::{BackendName, LeaseDuration, catalog};

use crate::exit::Failure;
use crate::external_choice::ExternalArgs;
use crate::named_lock::NamedLock;
use crate::proxy_service::ProxyArgs;

/// Tries to pick distributed locks on Redis: runs clients that compete for a lock, injects faults at the worst time,
/// and names the party at fault.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    all judged properties held (matrix: every cell as its scenario expects)
  1    a property was violated (matrix: a result differs from the expectation)
  2    wrong usage, or a bad input file
  3    inconclusive: too little happened to judge
  4    the environment failed: no Redis, no engine, no image
  130  interrupted

Try:
  picklock scenario gc-pause --impl redlock     freeze the holder of a Redlock, see what happens
  picklock matrix --backend sim                 every lock, every scenario, one table
  picklock sweep --impl redlock                 every fault at every point of a small run
  picklock adapter check COMMAND                check that a program implements the protocol
  picklock replay run-1                         repeat a run saved with --out
  picklock list                                 all locks, scenarios and backends";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one scenario against one lock, and judge the result.
    #[command(visible_alias = "run")]
    Scenario(ScenarioArgs),
    /// Repeat a saved run, and compare the verdicts.
    Replay(ReplayArgs),
    /// Run many locks under many scenarios, and compare the results with the expectations.
    Matrix(MatrixArgs),
    /// Place every fault at every point of a small run, and judge each run.
    Sweep(SweepArgs),
    /// Try random fault plans, and shrink the plans that break the lock.
    Hunt(HuntArgs),
    /// Join the shards of a sweep or a hunt, or parts of a matrix.
    Merge(MergeArgs),
    /// Run the cells of picklock.toml, and fail if a result differs.
    Gate(GateArgs),
    /// Check whether a program keeps the adapter protocol.
    Adapter(AdapterArgs),
    /// List and describe locks, scenarios and backends.
    List(ListArgs),
    /// Judge a saved run again, from its history alone.
    Check(CheckArgs),
    /// Show the messages, commands, key history and faults of a saved run in one table.
    Log(LogArgs),
    /// Put faults between any program and its Redis server, controlled over HTTP.
    Proxy(ProxyArgs),
    /// Write an adapter for your own lock, with a picklock.toml and a CI workflow.
    Init(InitArgs),
    /// Write reports from saved runs: run directories, matrix directories, documents.
    Report(ReportArgs),
    /// Explain a scenario, a property, a cause or a lock. Without a name, list all names.
    Explain(ExplainArgs),
    /// Print a page of the documentation. Without a name, list the pages.
    Docs(DocsArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a manual page, for `man -l -`.
    Man {
        /// The command to print the page of. Default: the main page.
        command: Option<String>,
    },
    /// Worker process of a built-in lock. Started by `scenario`; implements docs/protocol.md.
    #[command(hide = true)]
    Worker {
        /// Name of the lock.
        #[arg(long = "impl", alias = "lock")]
        lock: String,
    },
    /// Carries the standard streams of a worker's container. Started by `scenario`.
    #[command(hide = true)]
    ContainerStreams {
        /// Name of the container.
        name: String,
    },
    /// Cleans up after a killed run. Started by `scenario`.
    #[command(hide = true)]
    Reaper,
}

/// `picklock scenario`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SCENARIO_HELP)]
pub struct ScenarioArgs {
    /// A scenario of the catalog (`picklock list scenarios`), or the path of a .toml file.
    pub scenario: String,
    #[command(flatten)]
    pub lock: LockArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// An option for the lock, as KEY=VALUE. Repeatable.
    #[arg(long = "impl-option", visible_alias = "lock-option", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// Where Redis runs.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
    /// Seed for tokens, delays and choices. Random if omitted, and always printed.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: Option<u64>,
    /// Number of competing workers. Default: the scenario's.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub workers: Option<usize>,
    /// Number of independent Redis nodes. Default: the scenario's, else as many as the lock needs
    /// (1 for `exec:`).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub nodes: Option<usize>,
    /// Lease time, such as "500ms" or "2s". Default: the scenario's.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub ttl: Option<LeaseDuration>,
    #[command(flatten)]
    pub servers: ServerArgs,
    /// Print one JSON document (format picklock-run/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Save the run to this directory: run.json, history.jsonl, commands.jsonl, key-history.jsonl, all
    /// logs, and a repro.toml for `picklock replay`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show every verdict, story, fault, latency and node, not only the answer.
    #[arg(long, short)]
    pub verbose: bool,
    /// Do not show live progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not rerun an inconclusive run: a matrix reruns it itself, later.
    #[arg(long, hide = true)]
    pub no_rerun: bool,
}

/// The lock of a single run.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct LockArgs {
    /// The lock: a built-in one (`picklock list impls`), one of picklock.toml, `exec:COMMAND ARGS`
    /// for any program that implements the adapter protocol (`picklock docs protocol`), or `docker:IMAGE` for such
    /// a program in containers (`picklock docs adapters`).
    #[arg(
        long = "impl",
        visible_alias = "lock",
        value_name = "NAME|exec:COMMAND|docker:IMAGE"
    )]
    pub plain: Option<String>,
    /// A program as for `--impl`, with the label that reports use for it.
    #[arg(long = "name", value_name = "LABEL=exec:COMMAND", value_parser = NamedLock::parse)]
    pub labelled: Option<NamedLock>,
}

/// The file with the user's own locks.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigArgs {
    /// The file whose tables [impl.NAME] define locks (`picklock docs adapters`). Default:
    /// picklock.toml in the current directory, if it exists.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl LockArgs {
    /// Returns the lock that the user named.
    pub fn named(&self) -> NamedLock {
        match (&self.labelled, &self.plain) {
            (Some(labelled), _) => labelled.clone(),
            // Empty if neither was given, which the command line refuses.
            (None, plain) => NamedLock::plain(plain.as_deref().unwrap_or_default()),
        }
    }
}

/// The options for the servers of a run.
#[derive(Debug, Clone, Default, Args)]
pub struct ServerArgs {
    /// The server by its name, in every backend: redis:6.2, redis:7.0, redis:8.0, valkey:8 or valkey:9.
    /// `scripts/servers` downloads the server binaries, and `scripts/redis-image` builds images of
    /// them. The simulation models the server of that name.
    #[arg(long, value_name = "NAME")]
    pub server: Option<NamedServer>,
    /// Docker image of the Redis nodes.
    #[arg(long, value_name = "REF")]
    pub image: Option<String>,
    /// The redis-server or valkey-server binary of the process backend.
    #[arg(long, value_name = "PATH")]
    pub redis_server: Option<PathBuf>,
    #[command(flatten)]
    pub external: ExternalArgs,
}

impl ServerArgs {
    /// Returns the choice in the form that a specification stores.
    pub fn choice(&self) -> Result<ServerChoice, Failure> {
        Ok(ServerChoice {
            named: self.server,
            image: self.image.clone(),
            redis_server: self.redis_server.clone(),
            external: self.external.servers()?,
        })
    }
}

const SCENARIO_HELP: &str = "\
Examples:
  picklock scenario gc-pause --impl redlock
  picklock scenario calm --impl set-nx-px --backend process --seed 7
  picklock scenario holder-crash --impl \"exec:python3 adapters/python/redis_py_lock.py\"
  picklock scenario my-own.toml --impl redlock --out run-1 --json";

/// The backends that the user can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// Docker if an engine answers and the image is there; else a redis-server on PATH; else the
    /// simulation.
    Auto,
    /// Real redis-server processes.
    Process,
    /// Real Redis containers.
    Docker,
    /// A simulation in virtual time, without a server; repeatable from its seed.
    Sim,
    /// Your own running servers: see --redis.
    External,
}

impl BackendChoice {
    /// Returns the backend that the user named, or `None` for `auto`.
    pub fn backend(self) -> Option<BackendName> {
        match self {
            BackendChoice::Auto => None,
            BackendChoice::Process => Some(BackendName::Process),
            BackendChoice::Docker => Some(BackendName::Docker),
            BackendChoice::Sim => Some(BackendName::Sim),
            BackendChoice::External => Some(BackendName::External),
        }
    }
}

pub use crate::adapter_check::cli::AdapterArgs;
pub use crate::gate::cli::GateArgs;
pub use crate::init::cli::InitArgs;
pub use crate::log::LogArgs;
pub use crate::matrix::cli::MatrixArgs;
pub use crate::replay::ReplayArgs;
pub use crate::search::cli::{HuntArgs, MergeArgs, SweepArgs};

/// `picklock list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Kind of entries to list. Default: all kinds except mutants.
    #[arg(value_enum)]
    pub what: Option<Listed>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The argument of `picklock list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Built-in locks.
    #[value(alias = "locks")]
    Impls,
    /// Locks that are broken on purpose.
    Mutants,
    /// The catalog.
    Scenarios,
    /// The backends.
    Backends,
}

/// `picklock check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A directory written by `--out`, or its history.jsonl.
    #[arg(value_name = "RUN_DIR|HISTORY.jsonl")]
    pub history: PathBuf,
    /// Print the verdicts as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show every verdict, story, fault, latency and node, not only the answer.
    #[arg(long, short)]
    pub verbose: bool,
}

/// `picklock report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub struct ReportArgs {
    /// Directories written by `--out`, or their run.json or matrix.json. Several paths become
    /// one report.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Formats of the report, separated by commas.
    #[arg(
        long = "format",
        value_name = "FORMAT",
        value_delimiter = ',',
        default_value = "html,md",
        value_parser = named_values(FORMATS.iter().map(|it| (it.name, it.about)))
    )]
    pub formats: Vec<String>,
    /// The directory to write to. Files of an earlier report in it are replaced.
    #[arg(long, value_name = "DIR", default_value = crate::report::DEFAULT_OUT)]
    pub out: PathBuf,
    /// Earlier results to compare with: reports changed verdicts and latency ratios.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub against: Vec<PathBuf>,
}

const REPORT_HELP: &str = "\
Examples:
  picklock report run-1
  picklock report matrix-1 --format md,junit,json --out reports
  picklock report after --against before

Unreadable paths are reported and skipped. If no path can be read, nothing is written.";

/// Adds the command `scenario` if the user named a scenario instead of a command: `picklock gc-pause` runs it.
pub fn with_command(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let first = args.get(1).and_then(|first| first.to_str());
    if first.is_some_and(|first| catalog::names().any(|name| name == first)) {
        args.insert(1, "scenario".into());
    }
    args
}

/// Returns the parser of a flag with these values, each with its help.
pub fn named_values(
    values: impl Iterator<Item = (&'static str, &'static str)>,
) -> PossibleValuesParser {
    let values = values.map(|(name, about)| PossibleValue::new(name).help(about));
    values.collect::<Vec<_>>().into()
}

/// `picklock docs`.
#[derive(Debug, Args)]
pub struct DocsArgs {
    /// The page, such as `protocol`, or one paragraph of it, such as `protocol#granted`.
    pub page: Option<String>,
}

/// `picklock explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The name of a scenario, a property, a cause or a lock.
    pub name: Option<String>,
}

pub fn whole<N: std::str::FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "expected a non-negative integer")
}

/// Maximum number of parallel runs. More would need more threads or processes than a machine has.
pub const MAX_JOBS: usize = 1024;

/// Parses a number from `MIN` to `MAX`. A larger number would exhaust the memory or the time of the machine.
pub fn within<const MIN: usize, const MAX: usize>(text: &str) -> Result<usize, String> {
    let number = whole::<usize>(text)?;
    if (MIN..=MAX).contains(&number) {
        Ok(number)
    } else {
        Err(format!("expected {MIN} to {MAX}"))
    }
}

pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".into()),
    }
}
