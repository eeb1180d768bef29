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
    /// picklock-baseline.json next to it.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Replace the baseline with this run, if it is complete, and print what changes.
    #[arg(long)]
    pub update_baseline: bool,
    /// Save the results to this directory: HTML report, pull-request comment, JUnit XML, and each failed run with its
    /// repro.toml. Files of an earlier gate are overwritten.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document (format picklock-gate/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Write to your own servers on other machines ([servers] of the configuration) without asking.
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
  1    something is unexpected: a verdict, an unexpected pass, a limit, a missing cell, a stale baseline
  2    wrong usage, a bad configuration, or no baseline
  3    something is inconclusive, and nothing is unexpected
  4    something failed to run, and nothing is unexpected (takes precedence over 3)
  130  interrupted";
