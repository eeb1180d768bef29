//! `picklock hunt`: random plans, most of them where locks break.

use std::time::Duration;

use picklock_harness::record::SearchKind;
use picklock_harness::search::{Hunt, workload};
use picklock_scenarios::{LeaseDuration, Topology};

use super::cli::HuntArgs;
use super::report::{self, About};
use super::searching::{SearchProgress, Stop, search};
use super::subject::Subject;
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Hunts, and prints what was found and how much was tried.
///
/// # Errors
/// Wrong usage.
pub async fn run(args: HuntArgs) -> Result<u8, Failure> {
    let subject = Subject::of_args(&args.search)?;
    let time = time(args.time)?;
    let interrupt = Interrupt::listen()?;
    let base = workload::for_hunts()?;
    let hunt = Hunt {
        target: subject.target.clone(),
        base: picklock_scenarios::Scenario {
            topology: Topology {
                nodes: args.search.nodes,
                replicas: subject.target.spec.replicas,
                ..base.topology
            },
            ..base
        },
        seed: args.search.seed,
        groups: subject.groups.clone(),
        wanted: subject.wanted.clone(),
        runs: args.runs,
        plain: args.plain,
        shard: subject.shard,
    };
    hunt.base.check_for(subject.target.spec.nodes)?;
    let fixed = vec![
        format!("plans drawn from seed {}", args.search.seed),
        "latencies of 50 to 250 µs, drawn from each plan's own".to_owned(),
        picklock_reports::units::count(subject.target.nodes(&hunt.base), "node"),
    ];
    let (threads, stop) = (subject.threads, Stop::default());
    let progress = SearchProgress::new(args.search.quiet, time);
    let ((tried, patterns), seen, elapsed_s) =
        search(&interrupt, &stop, progress, move |stop, progress| {
            hunt.run(threads, stop, |far| progress.tell(far))
        })
        .await?;
    let about = About {
        kind: SearchKind::Hunt,
        depth: None,
        workload: None,
        scenario_hash: None,
        runs: args.runs,
        plain: args.plain,
        vocabulary: Vec::new(),
        patterns,
        fixed,
        command: command(&args),
    };
    let came_out = (tried, seen, elapsed_s);
    report::finish(&args.search, subject, about, came_out, (&interrupt, &stop)).await
}

/// How long it may take.
fn time(given: Option<LeaseDuration>) -> Result<Option<Duration>, Failure> {
    match given {
        None => Ok(None),
        Some(LeaseDuration::Absolute(time)) if !time.is_zero() => Ok(Some(time)),
        Some(other) => Err(Failure::Usage(format!(
            "--for {other}: expected a time, such as \"30s\" or \"10m\""
        ))),
    }
}

/// The command that repeats it.
fn command(args: &HuntArgs) -> Vec<String> {
    let mut words = vec!["hunt".to_owned()];
    words.extend(args.search.words());
    if let Some(runs) = args.runs {
        words.extend(["--runs".to_owned(), runs.to_string()]);
    }
    if let Some(time) = args.time {
        words.extend(["--for".to_owned(), time.to_string()]);
    }
    if args.plain {
        words.push("--plain".to_owned());
    }
    words
}
