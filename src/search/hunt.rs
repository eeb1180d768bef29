//! `picklock hunt`: random plans, most of them where locks tend to break.

use std::time::Duration;

use picklock_harness::search::{Hunt, workload};
use picklock_reports::inert;
use picklock_scenarios::{BackendName, LeaseDuration, Scenario};

use super::about_hunt::about;
use super::cli::{HuntArgs, HuntedBackend};
use super::lock_under_test::LockUnderTest;
use super::on_servers;
use super::report::{self, Earlier};
use super::searching::{SearchProgress, Stop, search};
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Runs a hunt, and prints the counterexamples and the coverage.
pub async fn run(args: HuntArgs) -> Result<u8, Failure> {
    let lock_under_test = LockUnderTest::from_args(&args.search)?;
    let time = time(args.time)?;
    let interrupt = Interrupt::listen()?;
    let base = base(&args, &lock_under_test)?;
    lock_under_test.claim_out(&args.search)?;
    if args.backend != HuntedBackend::Sim {
        return on_servers::hunt(&args, &lock_under_test, &base, time, &interrupt).await;
    }
    let target = lock_under_test.target()?;
    let hunt = Hunt {
        target: target.clone(),
        base,
        seed: args.search.seed,
        groups: lock_under_test.groups.clone(),
        wanted: lock_under_test.wanted.clone(),
        runs: args.runs,
        uniform: args.uniform,
        shard: lock_under_test.shard,
    };
    let nodes = target.nodes(&hunt.base);
    let (threads, stop) = (lock_under_test.threads, Stop::default());
    let progress = SearchProgress::new(args.search.quiet, time);
    let latencies = "latencies of 50 to 250 µs, drawn from each plan's own";
    let mut about = about(&args, nodes, BackendName::Sim, latencies);
    let earlier = Earlier::find(&args.search, &about)?;
    let first = earlier.as_ref().map_or(0, Earlier::next);
    let ((outcome, patterns, next), seen, elapsed_s) =
        search(&interrupt, &stop, progress, move |stop, progress| {
            hunt.run_from(first, threads, stop, |far| progress.show(far))
        })
        .await?;
    about.next = next;
    let counterexamples = report::shrunk(
        &args.search,
        &lock_under_test,
        &outcome,
        &seen,
        (&interrupt, &stop),
        earlier.as_ref().map_or(&[], Earlier::counterexamples),
    )
    .await?;
    about.coverage.patterns = patterns;
    let came_out = (outcome, counterexamples, elapsed_s);
    report::finish(
        &args.search,
        &lock_under_test,
        about,
        came_out,
        (&interrupt, earlier),
    )
}

/// Returns the base scenario: the servers, and the part of the workload that is not random.
fn base(args: &HuntArgs, lock_under_test: &LockUnderTest) -> Result<Scenario, Failure> {
    let mut base = workload::for_lock(
        workload::for_hunts(&args.search.properties)?,
        &lock_under_test.spec,
    );
    base.topology.nodes = args.search.nodes;
    base.topology.replicas = lock_under_test.spec.replicas;
    base.check_for(lock_under_test.spec.nodes)?;
    Ok(base)
}

/// Returns the time budget.
fn time(given: Option<LeaseDuration>) -> Result<Option<Duration>, Failure> {
    match given {
        None => Ok(None),
        Some(LeaseDuration::Absolute(time)) if !time.is_zero() => Ok(Some(time)),
        Some(other) => Err(Failure::Usage(inert!(
            "--for {}: expected a time, such as \"30s\" or \"10m\"",
            other
        ))),
    }
}
