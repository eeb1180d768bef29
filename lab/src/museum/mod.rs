//! The museum: every class of bugs that a Redis lock can have, found by a search, and in how many schedules.
//!
//! - `exhibits`: the pieces
//! - [`visit`]: searches one piece; [`table`]: what came out, as Markdown

mod exhibits;

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use picklock_harness::clock::Clock;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::search::vocabulary::Group;
use picklock_harness::search::{Hunt, Sweep, Target, Violation, Wanted, workload};
use picklock_impls::find;
use picklock_scenarios::Scenario;

pub use exhibits::{EXHIBITS, Exhibit};

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Hunts with the seeds from 1 to this.
    pub seeds: u64,
    /// The most plans of each.
    pub runs: u64,
    /// Threads of each search.
    pub threads: usize,
}

/// What a hunt took to find a piece.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Took {
    /// In the schedule with this number, counted from 1.
    pub schedules: u64,
    /// Seconds of real time.
    pub seconds: f64,
}

/// What came out for a piece.
#[derive(Debug, Clone)]
pub struct Visited {
    /// The piece.
    pub exhibit: Exhibit,
    /// Of each seed: when a hunt found it. `None`: not within its budget.
    pub hunted: Vec<Option<Took>>,
    /// The same for plans without bias and memory.
    pub plain: Vec<Option<Took>>,
    /// The most faults of the sweep's first schedule that has it. `None`: none with up to one fault has.
    pub swept: Option<usize>,
    /// How many schedules the sweep had.
    pub sweep_schedules: u64,
}

/// Searches a piece.
///
/// # Panics
/// There is no lock of this name, or its workload cannot be simulated.
pub fn visit(exhibit: Exhibit, budget: Budget) -> Visited {
    let seeds = 1..=budget.seeds;
    let hunts = |plain| {
        let took = seeds
            .clone()
            .map(|seed| hunted(&exhibit, seed, plain, budget));
        took.collect()
    };
    let (swept, sweep_schedules) = swept(&exhibit, budget);
    Visited {
        exhibit,
        hunted: hunts(false),
        plain: hunts(true),
        swept,
        sweep_schedules,
    }
}

fn target(exhibit: &Exhibit) -> Target {
    let lock = find(exhibit.lock).unwrap_or_else(|| panic!("no lock `{}`", exhibit.lock));
    let mut target = Target::of(LockFactory::of(lock));
    target.spec.replicas = target.spec.replicas.max(exhibit.replicas);
    target
}

fn wanted(exhibit: &Exhibit) -> (Wanted, Violation) {
    let wanted = Wanted {
        properties: vec![exhibit.property],
        outlived_lease: false,
    };
    let violation = Violation {
        property: exhibit.property,
        cause: exhibit.cause,
    };
    (wanted, violation)
}

fn with_replicas(exhibit: &Exhibit, mut base: Scenario) -> Scenario {
    base.topology.replicas = exhibit.replicas;
    base
}

fn hunted(exhibit: &Exhibit, seed: u64, plain: bool, budget: Budget) -> Option<Took> {
    let (wanted, violation) = wanted(exhibit);
    let base = workload::for_hunts().unwrap_or_else(|error| panic!("{error}"));
    let hunt = Hunt {
        target: target(exhibit),
        base: with_replicas(exhibit, base),
        seed,
        groups: Group::ALL.to_vec(),
        wanted,
        runs: Some(budget.runs),
        plain,
        shard: (1, 1),
    };
    let (clock, stop) = (Clock::start(), AtomicBool::new(false));
    let (tried, _) = hunt.run(budget.threads, &stop, |far| {
        if far.finds.violations().contains(&violation) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let seconds = clock.elapsed().as_secs_f64();
    let groups = tried.finds.simplest().into_iter();
    let numbers = groups
        .filter(|group| group.violation == violation)
        .filter_map(|group| group.place.1.first().copied());
    numbers.min().map(|number| Took {
        schedules: number + 1,
        seconds,
    })
}

fn swept(exhibit: &Exhibit, budget: Budget) -> (Option<usize>, u64) {
    let (wanted, violation) = wanted(exhibit);
    let base = workload::named(exhibit.workload);
    let base = base.unwrap_or_else(|| panic!("no workload `{}`", exhibit.workload));
    let base = base.unwrap_or_else(|error| panic!("{error}"));
    let sweep = Sweep {
        target: target(exhibit),
        base: with_replicas(exhibit, base),
        seed: 1,
        depth: 1,
        groups: Group::ALL.to_vec(),
        wanted,
        shard: (1, 1),
    };
    let never = AtomicBool::new(false);
    let tried = sweep.run(budget.threads, &never, |_| ());
    let tried = tried.unwrap_or_else(|error| panic!("{}: {error}", exhibit.lock));
    let schedules = tried.schedules;
    let groups = tried.finds.simplest().into_iter();
    let faults = groups
        .filter(|group| group.violation == violation)
        .map(|group| group.shape.len());
    (faults.min(), schedules)
}

/// What came out for one piece, as a row of the table.
pub fn row(one: &Visited) -> String {
    let Exhibit {
        class,
        lock,
        property,
        cause,
        workload,
        ..
    } = one.exhibit;
    let swept = match one.swept {
        None => format!("not in {} of `{workload}`", one.sweep_schedules),
        Some(0) => format!("without a fault, `{workload}`"),
        Some(_) => format!("with one fault, `{workload}`"),
    };
    let took = median(&one.hunted);
    let seconds = took.map_or("–".to_owned(), |took| format!("{:.2}", took.seconds));
    format!(
        "| {class} | `{lock}` | {property} | `{cause}` | {} | {seconds} | {} | {swept} |",
        schedules(&one.hunted),
        schedules(&one.plain),
    )
}

/// What came out, as a Markdown table, and in a sentence.
pub fn table(visited: &[Visited], budget: Budget) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    write_table(&mut text, visited, budget).unwrap_or_default();
    text
}

fn write_table(text: &mut String, visited: &[Visited], budget: Budget) -> std::fmt::Result {
    writeln!(
        text,
        "| class | lock | violated | cause | hunt | in seconds | plain random plans | sweep |"
    )?;
    writeln!(text, "|---|---|---|---|---:|---:|---:|---|")?;
    for one in visited {
        writeln!(text, "{}", row(one))?;
    }
    let found = |of: fn(&Visited) -> &Vec<Option<Took>>| {
        visited
            .iter()
            .filter(|one| median(of(one)).is_some())
            .count()
    };
    writeln!(
        text,
        "\n{} pieces. The hunt found {} of them, plain random plans {}, and a sweep with one fault {}. A hunt counts as \
         having found a piece if most of its {} seeds did within {} plans; the figure is their median.",
        visited.len(),
        found(|one| &one.hunted),
        found(|one| &one.plain),
        visited.iter().filter(|one| one.swept.is_some()).count(),
        budget.seeds,
        budget.runs
    )
}

/// The median; `None` if most seeds have not found it.
fn median(took: &[Option<Took>]) -> Option<Took> {
    let mut sorted = took.to_vec();
    sorted.sort_by_key(|one| one.map_or(u64::MAX, |took| took.schedules));
    sorted.get(sorted.len() / 2).copied().flatten()
}

fn schedules(took: &[Option<Took>]) -> String {
    let found = took.iter().flatten().count();
    match median(took) {
        Some(took) => took.schedules.to_string(),
        None => format!("{found} of {}", took.len()),
    }
}
