//! `picklock replay`: repeats a saved run, and compares the verdicts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use picklock_harness::record::{RecordedVerdict, Repro};
use picklock_reports::escape::visible_toml;
use picklock_reports::inert;
use picklock_reports::repro::compared;
use picklock_reports::terminal::Detail;
use picklock_scenarios::{Expectation, OTHERS, Responsible, Scenario};

use crate::cli::{BackendChoice, ServerArgs};
use crate::exit::{self, Failure};
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
    /// Write the scenario of the saved run to this file instead of repeating the run, with the expectation that the
    /// lock keeps every property that it can keep: a regression scenario for `picklock gate`.
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["backend", "json", "out"])]
    pub as_scenario: Option<PathBuf>,
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
The seed, the options and the scenario are those of the saved run, even if the catalog has changed
since. In the simulation, the same version of picklock writes the same history, byte for byte. On
real servers faults start at the same events, but times differ. The last line shows whether the
verdicts are the same (on standard error with --json).

A repro file may name a program (`exec:COMMAND`, `docker:IMAGE`), a server or a container image.
Nothing that it names is started without --trust: the command is printed instead. What you name
yourself (--redis-server, --image) needs no --trust.

Exit codes:
  as for `picklock scenario`: they are about the verdicts of this run, not about the comparison

Examples:
  picklock replay run-1
  picklock replay matrix-1/redlock/gc-pause/sim
  picklock replay repro.toml --backend process
  picklock replay picklock-counterexamples/lease-stolen-release-1 --as-scenario regressions/stolen.toml";

/// Writes the scenario of a run, named after its new file, and prints the lines to add to the configuration.
fn write_scenario(then: &Repro, to: &Path) -> Result<u8, Failure> {
    let name = to.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if to.extension() != Some(OsStr::new("toml")) || !name.chars().all(is_plain) {
        return Err(Failure::Usage(inert!(
            "--as-scenario {}: expected a file that ends in .toml, its name of letters, digits and dashes",
            to.display()
        )));
    }
    let lock = then.lock.label.as_ref().unwrap_or(&then.lock.name);
    let mut everything = BTreeMap::from([(OTHERS.to_owned(), Expectation::Held)]);
    for (property, verdict) in &then.verdicts {
        // A lock cannot prevent violations that its client or Redis causes.
        let responsible = verdict.cause.map(|cause| cause.responsible());
        if !matches!(
            responsible,
            None | Some(Responsible::Lock | Responsible::Undetermined)
        ) {
            everything.insert(property.to_string(), Expectation::Any { reason: None });
        }
    }
    let scenario = Scenario {
        name: name.to_owned(),
        expect: BTreeMap::from([(lock.clone(), everything)]),
        ..then.scenario.clone()
    };
    let text = toml::to_string(&scenario)
        .map_err(|error| Failure::Environment(inert!("cannot write a scenario: {}", error)))?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(Failure::at("make", folder))?;
    }
    let mut file = fs::File::create_new(to).map_err(Failure::at("write", to))?;
    file.write_all(visible_toml(&text).as_bytes())
        .map_err(Failure::at("write", to))?;
    print::out(&inert!(
        "wrote {}; add it to the gate:\n\n[[cells]]\nbackends = [\"{}\"]\nlocks = [\"{}\"]\nscenarios = [\"{}\"]\n",
        to.display(),
        then.backend,
        lock,
        to.display()
    ));
    Ok(exit::HELD)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_".contains(c)
}

/// Repeats the run, and prints whether the verdicts are the same.
///
/// # Errors
/// Returns an error if the repro cannot be read, if it names something that no longer exists, or if the machine cannot
/// run the scenario.
pub async fn run(args: ReplayArgs) -> Result<u8, Failure> {
    let file = repro::find(&args.path)?;
    let then = repro::read(&file)?;
    if let Some(to) = &args.as_scenario {
        return write_scenario(&then, to);
    }
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
        print::note(reporting.json, &inert!("{}\n", line));
    }
    Ok(run::code_of(&record))
}
