//! What can be typed after `picklock gate`.

use std::path::PathBuf;

use clap::Args;

/// `picklock gate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = GATE_HELP)]
pub struct GateArgs {
    /// What is wanted: cells, expectations, limits (docs/gate.md).
    #[arg(long, value_name = "FILE", default_value = "picklock.toml")]
    pub config: PathBuf,
    /// What came out when you were content, instead of the file that the configuration names
    /// (picklock-baseline.json beside it).
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the baseline anew from this run, if it is complete, and say what changes in it.
    #[arg(long)]
    pub update_baseline: bool,
    /// Print one JSON document (format picklock-gate/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// No live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const GATE_HELP: &str = "\
On GitHub Actions it also writes annotations (GITHUB_ACTIONS) and the job summary
(GITHUB_STEP_SUMMARY).

Exit codes:
  0    everything came out as expected, and every limit was kept
  1    something differs: a verdict, an alarm that has gone dead, a limit, a cell, the baseline
  2    wrong usage, or a bad configuration
  3    something could not be judged, and nothing differs
  4    something could not be run, and nothing differs (wins over 3)
  130  interrupted";
