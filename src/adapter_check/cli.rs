//! The command line of `picklock adapter`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use picklock_scenarios::LeaseDuration;

use crate::cli::{ConfigArgs, key_value};

/// `picklock adapter`.
#[derive(Debug, Args)]
pub struct AdapterArgs {
    #[command(subcommand)]
    pub command: AdapterCommand,
}

/// The commands of `picklock adapter`.
#[derive(Debug, Subcommand)]
pub enum AdapterCommand {
    /// Check in a few seconds whether a program keeps the adapter protocol.
    Check(AdapterCheckArgs),
}

/// `picklock adapter check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct AdapterCheckArgs {
    /// The command line of the adapter, in quotes (started without a shell, as with `--impl exec:COMMAND`), or
    /// `docker:IMAGE`, or the name of a table [impl.NAME] in picklock.toml.
    #[arg(value_name = "COMMAND|NAME")]
    pub command: String,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// An option for the lock, as KEY=VALUE. Repeatable.
    #[arg(long = "impl-option", visible_alias = "lock-option", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// Lease time of the checks. Some libraries accept whole seconds only.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub ttl: LeaseDuration,
    /// The redis-server or valkey-server binary.
    #[arg(long, value_name = "PATH")]
    pub redis_server: Option<PathBuf>,
    /// Print one JSON document (format picklock-adapter-check/1) instead of text.
    #[arg(long)]
    pub json: bool,
}

const CHECK_HELP: &str = "\
Starts the adapter twice, with its own Redis server. Each check is one line:
  ✓  passed, sometimes with a remark
  ✗  failed: the problem, the line that shows it, and the section of the protocol to read
  –  not offered, which is not a failure
  ·  skipped after an earlier failure
A broken lock can fail a check, too. Scenarios distinguish a broken lock from a broken adapter.

Exit codes:
  0  no check failed
  1  a check failed
  2  wrong usage
  4  the adapter or the server cannot be started

Examples:
  picklock adapter check \"python3 my_adapter.py\"
  picklock adapter check my-lock
  picklock adapter check \"java -jar my-adapter.jar\" --ttl 5s --json";
