//! What can be typed after `picklock matrix`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{BackendChoice, ServerArgs, key_value, whole};

/// `picklock matrix`.
#[derive(Debug, Clone, Args)]
#[command(after_help = MATRIX_HELP)]
pub struct MatrixArgs {
    /// A lock, as after `picklock scenario --impl`; repeatable. Left out: every built-in lock (not
    /// the mutants).
    #[arg(long = "impl", value_name = "NAME|exec:COMMAND")]
    pub subjects: Vec<String>,
    /// A scenario of the catalog, or the path of your own .toml file; repeatable. Left out: the
    /// whole catalog.
    #[arg(long = "scenario", value_name = "NAME|FILE.toml")]
    pub scenarios: Vec<String>,
    /// Where Redis runs; repeatable, each world is a table of its own. Left out: `auto`.
    #[arg(long = "backend", value_enum, value_name = "WORLD")]
    pub backends: Vec<BackendChoice>,
    /// An option for the lock, as KEY=VALUE; repeatable. Needs exactly one --impl.
    #[arg(long = "impl-option", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// How often each cell runs, with seeds that follow each other: gives rates instead of one
    /// verdict.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seeds: u64,
    /// Seed of each cell's first run. Not drawn anew, because a matrix is to be repeatable.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: u64,
    /// How many runs at a time. Left out: as many as there are processors (sim, docker), or twice
    /// as many (process: such runs mostly wait).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub servers: ServerArgs,
    /// Print one JSON document (format picklock-matrix/1) instead of a table. In the simulation it
    /// is the same for the same arguments, byte for byte.
    #[arg(long)]
    pub json: bool,
    /// Keep the matrix in this directory: matrix.json, and for each cell the directory of the run
    /// that is shown. Interrupted and called again it goes on with what is missing.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const MATRIX_HELP: &str = "\
What is expected:
  A scenario says what must come out: in [expect.NAME] for one lock, in [expect.\"*\"] for every
  built-in lock without a table of its own. Mutants, programs of your own and locks with options
  are bound only by a table with their name: else their cells are shown, not judged.

Exit codes:
  0    every cell came out as expected
  1    something came out otherwise (wins over 4 and 3)
  2    wrong usage, or a bad input file
  3    some cell could not be judged, and nothing came out otherwise
  4    some cell could not be run (wins over 3)
  130  interrupted; with --out, call it again to go on

Examples:
  picklock matrix --backend sim
  picklock matrix --backend sim --impl redlock --scenario gc-pause --seeds 1000
  picklock matrix --backend sim --backend process --out table --json";
