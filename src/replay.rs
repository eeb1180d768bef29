//! `picklock replay`: repeats a kept run, and compares the verdicts.

use std::path::PathBuf;

use clap::Args;
use picklock_harness::record::RecordedVerdict;
use picklock_reports::repro::compared;
use picklock_reports::terminal::Detail;

use crate::cli::{BackendChoice, ServerArgs};
use crate::exit::Failure;
use crate::run::{self, Reporting};
use crate::{backend_choice, print, repro, trust};

/// `picklock replay`.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub struct ReplayArgs {
    /// A directory written by `--out`, or its repro.toml.
    #[arg(value_name = "RUN_DIR|REPRO.toml")]
    pub path: PathBuf,
    /// Where Redis runs. Default: the backend of the saved run.
    #[arg(long, value_enum)]
    pub backend: Option<BackendChoice>,
    /// Start the program, server or container image that the file names.
    #[arg(long)]
    pub trust: bool,
    #[command(flatten)]
    pub servers: ServerArgs,
    /// Print one JSON document (format picklock-run/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Save the run to this directory, as `picklock scenario --out` does.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show every verdict, story, fault, latency and node, not only the answer.
    #[arg(long, short)]
    pub verbose: bool,
    /// Do not show live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const REPLAY_HELP: &str = "\
The seed, the options and the scenario are those of the kept run, even if the catalog has changed
since. In the simulation, the same version of picklock writes the same history, byte for byte. On
real servers faults start at the same events, but times differ. The last line says whether the
verdicts are the same (on standard error with --json).

A repro file may name a program (`exec:COMMAND`, `docker:IMAGE`), a server or a container image.
Nothing that it names is started without --trust: the command is printed instead. What you name
yourself (--redis-server, --image) needs no --trust.

Exit codes:
  as for `picklock scenario`: they are about the verdicts of this run, not about the comparison

Examples:
  picklock replay run-1
  picklock replay matrix-1/redlock/gc-pause/sim
  picklock replay repro.toml --backend process";

/// Repeats the run, and says whether the verdicts are the same.
/// `Err`: the repro cannot be read, it names something that no longer exists, or the machine cannot run
/// it.
pub async fn run(args: ReplayArgs) -> Result<u8, Failure> {
    let file = repro::find(&args.path)?;
    let then = repro::read(&file)?;
    let backend = match args.backend {
        Some(backend) => backend.backend(),
        None => Some(then.backend),
    };
    let servers = args.servers.choice()?;
    backend_choice::refuse_unused(&servers, &[backend])?;
    trust::check(&then, &file, &servers, backend, args.trust)?;
    let spec = repro::specification(&then, file, servers, (backend, args.servers.external.yes))?;
    let reporting = Reporting {
        json: args.json,
        out: args.out,
        detail: Detail::new(args.verbose),
        quiet: args.quiet,
        no_rerun: false,
    };
    let record = run::execute(spec, backend, &reporting).await?;
    if !record.interrupted {
        let now = RecordedVerdict::from_verdicts(&record.verdicts);
        let line = compared(&then, &now, env!("CARGO_PKG_VERSION"));
        print::beside(reporting.json, &format!("{line}\n"));
    }
    Ok(run::code_of(&record))
}
