//! The command line of `picklock matrix`.

use std::path::PathBuf;

use clap::Args;
use picklock_scenarios::LeaseDuration;
use picklock_scenarios::profile::PROFILES;

use crate::cli::{BackendChoice, ConfigArgs, ServerArgs, key_value, named_values, whole};
use crate::named_lock::NamedLock;

/// `picklock matrix`.
#[derive(Debug, Clone, Args)]
#[command(after_help = MATRIX_HELP)]
pub struct MatrixArgs {
    /// A lock, as for `picklock scenario --impl`. Repeatable, or several with commas; `*` stands for
    /// any text. Default: every built-in lock (not the mutants).
    #[arg(
        long = "impl",
        visible_alias = "lock",
        value_name = "NAME|exec:COMMAND|docker:IMAGE"
    )]
    pub locks: Vec<String>,
    /// A program, as for `picklock scenario --name`. Repeatable, with different labels.
    #[arg(long = "name", value_name = "LABEL=exec:COMMAND", value_parser = NamedLock::parse)]
    pub labelled: Vec<NamedLock>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// A scenario of the catalog, or the path of a .toml file. Repeatable, or several with commas; `*`
    /// stands for any text. Default: the whole catalog.
    #[arg(long = "scenario", value_name = "NAME|FILE.toml")]
    pub scenarios: Vec<String>,
    /// The scenarios of a profile instead of the whole catalog.
    #[arg(long, value_name = "PROFILE", value_parser = named_values(PROFILES.iter().map(|it| (it.name, it.about))))]
    pub profile: Option<String>,
    /// Fail if your lock violates a property that the built-in LOCK keeps. Applies to your own
    /// programs, to mutants, and to locks with options.
    #[arg(long, value_name = "LOCK")]
    pub reference: Option<String>,
    /// Where Redis runs. Repeatable; each backend has its own table. Default: `auto`.
    #[arg(long = "backend", value_enum, value_name = "BACKEND")]
    pub backends: Vec<BackendChoice>,
    /// An option for the lock, as KEY=VALUE. Repeatable. Requires exactly one --impl or --name.
    #[arg(long = "impl-option", visible_alias = "lock-option", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// Number of independent Redis nodes, as for `picklock scenario --nodes`. Cells that do not fit
    /// are not applicable.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub nodes: Option<usize>,
    /// Lease time, such as "500ms" or "2s". Default: each scenario's.
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<LeaseDuration>,
    /// Number of runs per cell, with consecutive seeds. Gives rates instead of one verdict.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seeds: u64,
    /// Seed of each cell's first run. Not random, so that a matrix is repeatable.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Number of concurrent runs. Default: the number of processors, or twice that for built-in locks on
    /// processes, whose runs mostly wait.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub servers: ServerArgs,
    /// Print one JSON document (format picklock-matrix/1) instead of a table. In the simulation the
    /// same arguments give the same bytes.
    #[arg(long)]
    pub json: bool,
    /// Save the matrix to this directory: matrix.json, and the directory of each cell's
    /// representative run. After an interruption, the same command runs the missing cells.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do not show live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const MATRIX_HELP: &str = "\
Expectations:
  A scenario states the expected results: [expect.NAME] for one lock, [expect.\"*\"] for every
  built-in lock without its own table; a property that is not named holds. Mutants, your own
  programs and locks with options need a table with their name, or --reference. Without
  either, their cells have no expectation: they are shown but not judged, and the last lines
  name the built-in lock that they resemble. The cells of a built-in lock have no expectation
  either if --nodes changes its number of nodes. What a lock does not offer, or a backend cannot
  do, is not applicable: counted separately, never a failure.

Exit codes:
  0    every cell is as expected, or not applicable
  1    a result is unexpected, or a cell without an expectation has a violation (takes precedence over 4 and 3)
  2    wrong usage, or a bad input file
  3    a cell is inconclusive, and nothing is unexpected
  4    a cell failed to run (takes precedence over 3)
  130  interrupted; with --out, run it again to continue

Examples:
  picklock matrix --backend sim
  picklock matrix --backend sim --impl redlock --scenario gc-pause --seeds 1000
  picklock matrix --backend sim --backend process --out table --json
  picklock matrix --backend process --impl \"exec:python3 my_lock.py\" --profile quick --reference set-nx-px";
