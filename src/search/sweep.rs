//! `picklock sweep`: every placement of a limited number of faults.

use std::path::Path;

use picklock_harness::record::{Coverage, SearchKind, SearchSettings, scenario_hash};
use picklock_harness::search::{Sweep, workload};
use picklock_harness::spec::{Overrides, RunSpec, ScenarioSource};
use picklock_reports::inert;
use picklock_scenarios::{BackendName, Scenario};

use super::cli::SweepArgs;
use super::lock_under_test::LockUnderTest;
use super::report::{self, About};
use super::searching::{SearchProgress, Stop, search};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::specification::{checked, load};
use crate::usage_hint::or_meant;

/// Runs a sweep, and prints the counterexamples and the coverage.
///
/// # Errors
/// Returns an error for wrong usage, or if the workload cannot be simulated.
pub async fn run(args: SweepArgs) -> Result<u8, Failure> {
    let lock_under_test = LockUnderTest::from_args(&args.search)?;
    let base = base(&args, &lock_under_test)?;
    let target = lock_under_test.target()?;
    let interrupt = Interrupt::listen()?;
    let sweep = Sweep {
        target,
        base,
        seed: args.search.seed,
        depth: args.depth,
        groups: lock_under_test.groups.clone(),
        wanted: lock_under_test.wanted.clone(),
        shard: lock_under_test.shard,
    };
    let about = About {
        kind: SearchKind::Sweep,
        depth: Some(args.depth),
        backend: BackendName::Sim,
        settings: SearchSettings {
            workload: Some(args.workload.clone()),
            scenario_hash: Some(scenario_hash(&sweep.base)),
            ..SearchSettings::default()
        },
        coverage: Coverage {
            faults: sweep.fault_model().describe(),
            fixed: fixed(&sweep),
            ..Coverage::default()
        },
        command: command(&args),
        next: 0,
    };
    lock_under_test.claim_out(&args.search)?;
    let (threads, stop) = (lock_under_test.threads, Stop::default());
    let progress = SearchProgress::new(args.search.quiet, None);
    let (swept, seen, elapsed_s) = search(&interrupt, &stop, progress, move |stop, progress| {
        sweep.run(threads, stop, |far| progress.show(far))
    })
    .await?;
    let outcome = swept.map_err(|error| Failure::Usage(inert!("{}", error)))?;
    let counterexamples = report::shrunk(
        &args.search,
        &lock_under_test,
        &outcome,
        &seen,
        (&interrupt, &stop),
        &[],
    )
    .await?;
    let came_out = (outcome, counterexamples, elapsed_s);
    let nothing_before = (&interrupt, None);
    report::finish(
        &args.search,
        &lock_under_test,
        about,
        came_out,
        nothing_before,
    )
}

/// Returns the scenario with the workload of the sweep, with the options of the command line applied.
fn base(args: &SweepArgs, lock_under_test: &LockUnderTest) -> Result<Scenario, Failure> {
    let name = args.workload.as_str();
    let is_file = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "toml");
    let scenario = match (is_file, workload::named(name)) {
        (true, _) => load(name)?,
        (false, Some(scenario)) => workload::for_lock(scenario?, &lock_under_test.spec),
        (false, None) => return Err(unknown(name)),
    };
    let spec = RunSpec {
        source: ScenarioSource::Named(name.to_owned()),
        overrides: Overrides {
            workers: args.workers,
            nodes: args.search.nodes,
            ttl: args.ttl,
        },
        ..RunSpec::simulated(
            lock_under_test.spec.clone(),
            workload::without_faults(scenario),
            args.search.seed,
        )
    };
    Ok(checked(spec)?.scenario)
}

fn unknown(name: &str) -> Failure {
    let meant = or_meant(name, workload::names());
    let all: Vec<&str> = workload::names().collect();
    Failure::Usage(inert!(
        "--workload {}: no such workload{}\n  = help: there are {}, and any scenario file",
        name,
        meant,
        all.join(", ")
    ))
}

/// Describes the settings that all runs have in common.
fn fixed(sweep: &Sweep) -> Vec<String> {
    let workload = &sweep.base.workload;
    let nodes = sweep.target.nodes(&sweep.base);
    let bought = match workload.purchases {
        Some(1) => "each buys once".to_owned(),
        Some(times) => format!("each buys {times} times"),
        None => "each buys until the stock is sold out".to_owned(),
    };
    vec![
        format!("seed {}", sweep.seed),
        "latencies of 50 to 250 µs, drawn from it".to_owned(),
        format!(
            "the workload `{}`: {} clients, {bought}",
            sweep.base.name, workload.workers
        ),
        format!("leases of {}", workload.ttl.describe()),
        picklock_reports::units::count(nodes, "node"),
    ]
}

/// Returns the command that repeats the sweep.
fn command(args: &SweepArgs) -> Vec<String> {
    let own = [
        ("depth", Some(args.depth.to_string())),
        ("workload", Some(args.workload.clone())),
        ("workers", args.workers.map(|it| it.to_string())),
        ("ttl", args.ttl.map(|it| it.to_string())),
    ];
    args.search.command("sweep", own)
}
