//! The known-bug corpus: the classes of bugs that a Redis lock can have, and the number of schedules a search needs
//! to find each.
//!
//! - `known_bugs`: the known bugs, and the classes that are not covered
//! - [`evaluate`]: searches for one bug; [`table`]: the results, as Markdown

mod known_bugs;

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use picklock_harness::clock::Clock;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::search::fault_model::Group;
use picklock_harness::search::{
    CounterexampleGroup, Demand, Hunt, Plan, SearchResult, Sweep, Target, Violation,
    ViolationFilter, shrink, workload,
};
use picklock_impls::find;
use picklock_scenarios::Scenario;

pub use known_bugs::{Absent, KNOWN_BUGS, KnownBug, NOT_COVERED};

/// Limits of the searches for one bug.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Number of hunts, with seeds counted from 1.
    pub seeds: u64,
    /// Maximum number of plans per hunt.
    pub runs: u64,
    /// Number of threads per search.
    pub threads: usize,
}

/// The effort of a hunt until it found the bug.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct TimeToFind {
    /// Number of the schedule that found it, counted from 1.
    pub schedules: u64,
    /// Elapsed seconds of real time.
    pub seconds: f64,
}

/// The search results for one bug.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The bug.
    pub known_bug: KnownBug,
    /// The effort of each hunt, by seed, or `None` if it exhausted its budget.
    pub hunted: Vec<Option<TimeToFind>>,
    /// The same for uniformly drawn plans.
    pub uniform: Vec<Option<TimeToFind>>,
    /// Number of faults in the sweep's first schedule that shows the bug, or `None` if no schedule with up to one
    /// fault does.
    pub swept: Option<usize>,
    /// Number of schedules in the sweep.
    pub sweep_schedules: u64,
    /// The first counterexample after shrinking, or `None` if no search found one.
    pub smallest: Option<Plan>,
}

/// Maximum number of runs for shrinking a counterexample.
const SHRINKING: u64 = 2_000;

/// Searches for a bug with hunts and a sweep.
///
/// # Panics
/// Panics if the lock does not exist or its workload cannot be simulated.
pub fn evaluate(known_bug: KnownBug, budget: Budget) -> Evaluation {
    let hunts =
        |uniform| (1..=budget.seeds).map(move |seed| hunted(&known_bug, seed, uniform, budget));
    let (hunted, found): (Vec<Option<TimeToFind>>, Vec<Option<Plan>>) =
        hunts(false).map(Option::unzip).unzip();
    let (in_sweep, sweep_schedules) = swept(&known_bug, budget);
    let in_sweep = in_sweep.map(|group| group.plan);
    let first = found
        .into_iter()
        .flatten()
        .next()
        .or_else(|| in_sweep.clone());
    Evaluation {
        known_bug,
        hunted,
        uniform: hunts(true).map(|one| one.map(|(took, _)| took)).collect(),
        swept: in_sweep.map(|plan| plan.scenario.faults.len()),
        sweep_schedules,
        smallest: first.map(|plan| smallest(&known_bug, plan)),
    }
}

fn smallest(known_bug: &KnownBug, plan: Plan) -> Plan {
    let never = AtomicBool::new(false);
    let (_, violation) = wanted(known_bug);
    let demand = Demand {
        violation,
        robust: false,
    };
    shrink(&target(known_bug), plan, demand, SHRINKING, &never).plan
}

fn target(known_bug: &KnownBug) -> Target {
    let lock = find(known_bug.lock).unwrap_or_else(|| panic!("no lock `{}`", known_bug.lock));
    let mut target = Target::new(LockFactory::built_in(lock));
    target.spec.replicas = target.spec.replicas.max(known_bug.replicas);
    target
}

fn wanted(known_bug: &KnownBug) -> (ViolationFilter, Violation) {
    let wanted = ViolationFilter {
        properties: vec![known_bug.property],
        ..ViolationFilter::default()
    };
    let violation = Violation {
        property: known_bug.property,
        cause: known_bug.cause,
    };
    (wanted, violation)
}

fn with_replicas(known_bug: &KnownBug, mut base: Scenario) -> Scenario {
    base.topology.replicas = known_bug.replicas;
    base
}

/// Runs a hunt. Returns the effort until it found the bug, and the plan.
fn hunted(
    known_bug: &KnownBug,
    seed: u64,
    uniform: bool,
    budget: Budget,
) -> Option<(TimeToFind, Plan)> {
    let (wanted, violation) = wanted(known_bug);
    let base = workload::for_hunts(&[]).unwrap_or_else(|error| panic!("{error}"));
    let hunt = Hunt {
        target: target(known_bug),
        base: with_replicas(known_bug, base),
        seed,
        groups: Group::ALL.to_vec(),
        wanted,
        runs: Some(budget.runs),
        uniform,
        shard: (1, 1),
    };
    let (clock, stop) = (Clock::start(), AtomicBool::new(false));
    let (outcome, _) = hunt.run(budget.threads, &stop, |far| {
        if far.counterexamples.violations().contains(&violation) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let seconds = clock.elapsed().as_secs_f64();
    let group = first_of(outcome, violation)?;
    let schedules = group.number();
    Some((TimeToFind { schedules, seconds }, group.plan))
}

fn first_of(outcome: SearchResult, violation: Violation) -> Option<CounterexampleGroup> {
    let groups = outcome.counterexamples.simplest().into_iter();
    let groups = groups.filter(|group| group.violation == violation);
    groups.min_by(|one, other| one.place.1.cmp(&other.place.1))
}

/// Runs a sweep. Returns the first counterexample that shows the bug, and the number of schedules.
fn swept(known_bug: &KnownBug, budget: Budget) -> (Option<CounterexampleGroup>, u64) {
    let (wanted, violation) = wanted(known_bug);
    let base = workload::named(known_bug.workload);
    let base = base.unwrap_or_else(|| panic!("no workload `{}`", known_bug.workload));
    let base = base.unwrap_or_else(|error| panic!("{error}"));
    let sweep = Sweep {
        target: target(known_bug),
        base: with_replicas(known_bug, base),
        seed: 1,
        depth: 1,
        groups: Group::ALL.to_vec(),
        wanted,
        shard: (1, 1),
    };
    let never = AtomicBool::new(false);
    let outcome = sweep.run(budget.threads, &never, |_| ());
    let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", known_bug.lock));
    let schedules = outcome.schedules;
    (first_of(outcome, violation), schedules)
}

/// Formats the results for one bug as a row of the table.
pub fn row(one: &Evaluation) -> String {
    let KnownBug {
        class,
        lock,
        property,
        cause,
        workload,
        ..
    } = one.known_bug;
    let swept = match one.swept {
        None => format!("not in {} of `{workload}`", one.sweep_schedules),
        Some(0) => format!("without a fault, `{workload}`"),
        Some(_) => format!("with one fault, `{workload}`"),
    };
    let smallest = one.smallest.as_ref().map_or("–".to_owned(), |plan| {
        let Scenario {
            faults, workload, ..
        } = &plan.scenario;
        format!("{} and {}", faults.len(), workload.workers)
    });
    format!(
        "| {class} | `{lock}` | {property} | `{cause}` | {} | {} | {swept} | {smallest} |",
        describe_hunts(&one.hunted),
        describe_hunts(&one.uniform),
    )
}

/// Formats the results as Markdown: a table of the bugs, a few sentences, and the classes that are not covered.
pub fn table(evaluations: &[Evaluation], budget: Budget) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    write_table(&mut text, evaluations, budget).unwrap_or_default();
    text
}

fn write_table(text: &mut String, evaluations: &[Evaluation], budget: Budget) -> std::fmt::Result {
    writeln!(
        text,
        "| class | lock | violated | cause | hunt | plain random plans | sweep | faults and clients |"
    )?;
    writeln!(text, "|---|---|---|---|---:|---:|---|---:|")?;
    for one in evaluations {
        writeln!(text, "{}", row(one))?;
    }
    let found = |of: fn(&Evaluation) -> &Vec<Option<TimeToFind>>| {
        let found = evaluations.iter().filter_map(|one| median(of(one)));
        let longest = found.clone().map(|took| took.seconds).fold(0.0, f64::max);
        (found.count(), longest)
    };
    let ((hunted, longest), (uniform, longest_plain)) =
        (found(|one| &one.hunted), found(|one| &one.uniform));
    writeln!(
        text,
        "\n{} bugs. Hunts found {hunted} of them, the slowest in {longest:.2} s; plain random plans {uniform}, in \
         {longest_plain:.2} s; a sweep with one fault {}.",
        evaluations.len(),
        evaluations.iter().filter(|one| one.swept.is_some()).count(),
    )?;
    writeln!(
        text,
        "A figure is the median of {} seeds; a search that had not found the bug after {} plans counts as never.",
        budget.seeds, budget.runs
    )?;
    writeln!(
        text,
        "\n| class | what it is | why nothing here shows it |\n|---|---|---|"
    )?;
    for Absent { class, about, why } in NOT_COVERED {
        writeln!(text, "| {class} | {about} | {why} |")?;
    }
    Ok(())
}

/// Returns the median, or `None` if most seeds did not find the bug.
fn median(took: &[Option<TimeToFind>]) -> Option<TimeToFind> {
    let mut sorted = took.to_vec();
    sorted.sort_by_key(|one| one.map_or(u64::MAX, |took| took.schedules));
    sorted.get(sorted.len() / 2).copied().flatten()
}

fn describe_hunts(took: &[Option<TimeToFind>]) -> String {
    let found = took.iter().flatten().count();
    match median(took) {
        Some(took) => format!("{} in {:.2} s", took.schedules, took.seconds),
        None => format!("{found} of {}", took.len()),
    }
}
