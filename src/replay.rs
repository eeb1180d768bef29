//! `picklock replay`: a run that was kept, once more, and whether the same comes out.

use std::path::PathBuf;

use clap::Args;
use picklock_harness::record::{Outcome, Repro, scenario_hash};
use picklock_reports::repro::compared;
use picklock_scenarios::WorldName;

use crate::cli::{BackendChoice, ScenarioArgs, ServerArgs};
use crate::exit::Failure;
use crate::order::Order;
use crate::{print, repro, scenario};

/// `picklock replay`.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_HELP)]
pub struct ReplayArgs {
    /// A directory that `--out` has kept a run in, or its repro.toml.
    #[arg(value_name = "RUN_DIR|REPRO.toml")]
    pub path: PathBuf,
    /// Where Redis runs; left out: in the world of the first time.
    #[arg(long, value_enum)]
    pub backend: Option<BackendChoice>,
    #[command(flatten)]
    pub servers: ServerArgs,
    /// Print one JSON document (format picklock-run/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Keep the run in this directory, as `picklock scenario --out` does.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

const REPLAY_HELP: &str = "\
Seed, options and scenario are those of the first time, whatever has become of the catalog since. In
the simulation the same picklock writes the same history, byte for byte; on real servers moments are
events, and times are not. The last line says whether the same verdicts came out (with --json on
standard error).

A repro names the program that it tests (`exec:COMMAND`): look at a stranger's before you replay it.

Exit codes:
  as those of `picklock scenario`: they say what came out now, not whether it is the same

Examples:
  picklock replay run-1
  picklock replay matrix-1/redlock/gc-pause/sim
  picklock replay repro.toml --backend process";

/// Runs it again, and says whether the same came out.
///
/// # Errors
/// There is no repro that can be read, it names what there is not any more, or the machine cannot
/// do it.
pub async fn run(args: ReplayArgs) -> Result<u8, Failure> {
    let file = repro::find(&args.path)?;
    let then = repro::read(&file)?;
    let json = args.json;
    let order = order(args, &then, file)?;
    let ran = scenario::carry_out(&order).await?;
    if !ran.interrupted {
        let now = Outcome::of(&ran.verdicts);
        let line = compared(&then, &now, env!("CARGO_PKG_VERSION"));
        match json {
            true => print::err(&format!("{line}\n")),
            false => print::out(&format!("{line}\n")),
        }
    }
    Ok(scenario::code_of(&ran))
}

/// The order of the first time, with what is asked for otherwise now.
fn order(args: ReplayArgs, then: &Repro, file: PathBuf) -> Result<Order, Failure> {
    let overrides = &then.overrides;
    let asked = ScenarioArgs {
        scenario: then.scenario_given.clone(),
        subject: then.subject.name.clone(),
        options: then.subject.options.clone().into_iter().collect(),
        backend: args.backend.unwrap_or(match then.backend {
            WorldName::Sim => BackendChoice::Sim,
            WorldName::Process => BackendChoice::Process,
            WorldName::Docker => BackendChoice::Docker,
        }),
        seed: Some(then.seed),
        workers: overrides.workers,
        nodes: overrides.nodes,
        ttl: overrides.ttl,
        servers: ServerArgs {
            image: args.servers.image.or_else(|| overrides.image.clone()),
            redis_server: (args.servers.redis_server)
                .or_else(|| overrides.redis_server.clone().map(PathBuf::from)),
        },
        json: args.json,
        out: args.out,
        quiet: args.quiet,
    };
    // What is wrong now was right then: the lock, an option or a world is not there any more.
    let order =
        Order::of(asked.clone(), |_| Ok(then.scenario.clone())).map_err(|error| match error {
            Failure::Usage(text) => Failure::Usage(format!(
                "{}: this picklock cannot replay it: {text}",
                file.display()
            )),
            other => other,
        })?;
    // Where the name leads to the same scenario still, the plain command repeats the run as well.
    let same = Order::understand(asked)
        .is_ok_and(|named| scenario_hash(&named.scenario) == scenario_hash(&order.scenario));
    Ok(match same {
        true => order,
        false => order.replaying(file),
    })
}
