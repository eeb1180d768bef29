//! The command line of `picklock gate`.

use std::path::PathBuf;

use clap::Args;

use crate::configuration::DEFAULT_FILE;

/// `picklock gate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = GATE_HELP)]
pub struct GateArgs {
    /// Configuration: cells, expectations, limits (`picklock docs gate`).
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    pub config: PathBuf,
    /// Baseline file to compare with. Default: the file that the configuration names, or
    /// picklock-baseline.json beside it.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Replace the baseline with this run, if it is complete, and print what changes.
    #[arg(long)]
    pub update_baseline: bool,
    /// Write what came out into this directory: a page, a comment for a pull request, JUnit results, and the runs of
    /// what failed, each with a repro.toml. What an earlier gate wrote there is replaced.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document (format picklock-gate/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Write to servers of your own on other machines ([servers] of the configuration) without asking.
    #[arg(long)]
    pub yes: bool,
    /// Do not show live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const GATE_HELP: &str = "\
On GitHub Actions the gate also writes annotations (GITHUB_ACTIONS) and the job summary
(GITHUB_STEP_SUMMARY).

Exit codes:
  0    everything is as expected, and every limit is met
  1    something differs: a verdict, a unexpected pass, a limit, a missing cell, a stale baseline
  2    wrong usage, a bad configuration, or no baseline
  3    something could not be judged, and nothing differs
  4    something could not be run, and nothing differs (takes precedence over 3)
  130  interrupted";
