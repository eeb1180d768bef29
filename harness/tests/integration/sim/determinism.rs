//! The same seed gives the same history, byte for byte: in one process, and in another. The same
//! histories are held to the catalog's expectations, so that no cell is simulated for that alone.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_harness::check::{Status, judge};
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::history::{EventKind, History, write_history};
use picklock_harness::sim::LockFactory;
use picklock_impls::{BuiltInLock, LOCKS, MUTANTS, find};
use picklock_scenarios::{BackendName, catalog};

use super::simulate;

/// Names the file into which the test binary, started by itself, writes its histories.
const ERRAND: &str = "PICKLOCK_WRITE_HISTORIES";

/// How many seeds of each scenario are run with each lock, instead of a few: the long run.
const SEEDS: &str = "PICKLOCK_SEEDS";

pub fn bytes(history: &History) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes).unwrap();
    bytes
}

/// Which locks take part in the long run, with commas between them, instead of all.
const CHOSEN_LOCKS: &str = "PICKLOCK_LOCKS";

fn locks() -> Vec<&'static BuiltInLock> {
    let all = LOCKS.iter().chain(MUTANTS);
    match std::env::var(CHOSEN_LOCKS) {
        Ok(names) => {
            let find = |name| find(name).expect("PICKLOCK_LOCKS are locks");
            names.split(',').map(find).collect()
        }
        Err(_) => all.collect(),
    }
}

fn seeds(few: u64) -> u64 {
    match std::env::var(SEEDS) {
        Ok(text) => text.parse().expect("PICKLOCK_SEEDS is a number"),
        Err(_) => few,
    }
}

/// One in so many scenarios is run with a mutant, another one with the next; in the long run all are.
const MUTANT_STEP: usize = 6;

/// How many seeds of this scenario are run with this lock.
fn seeds_of(scenario: usize, lock: &str, seeds: u64) -> u64 {
    match MUTANTS.iter().position(|mutant| mutant.name == lock) {
        None => seeds,
        Some(_) if std::env::var_os(SEEDS).is_some() => seeds.div_ceil(2),
        Some(mutant) => u64::from((scenario + mutant).is_multiple_of(MUTANT_STEP)),
    }
}

/// Every scenario with all locks, a part of the scenarios on each of two threads.
fn for_the_whole_catalog(seeds: u64, check: impl Fn(&str, &LockFactory, u64) + Sync) {
    let (check, locks) = (&check, &locks());
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for (number, scenario) in catalog::names().enumerate().skip(half).step_by(2) {
                    for lock in locks {
                        for seed in 0..seeds_of(number, lock.name, seeds) {
                            check(scenario, &LockFactory::built_in(lock), seed);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn every_cell_repeats_and_comes_out_as_expected() {
    let judged = AtomicUsize::new(0);
    for_the_whole_catalog(seeds(2), |scenario, lock, seed| {
        let history = simulate(scenario, lock, seed);
        // More seeds: `picklock matrix --backend sim --seeds 1000`.
        if seed < 2 && as_expected(scenario, lock.name(), seed, &history) {
            judged.fetch_add(1, Ordering::Relaxed);
        }
        // The other seed is repeated in the long run only.
        if seed > 0 && std::env::var_os(SEEDS).is_none() {
            return;
        }
        let first = bytes(&history);
        let second = bytes(&simulate(scenario, lock, seed));
        assert!(
            first == second,
            "{} × {scenario}, seed {seed}: two runs differ\n{}",
            lock.name(),
            first_difference(&first, &second)
        );
    });
    let judged = judged.into_inner();
    assert!(
        judged >= LOCKS.len() || std::env::var_os(CHOSEN_LOCKS).is_some(),
        "the catalog expects something of too few cells: {judged}"
    );
}

fn first_difference(one: &[u8], other: &[u8]) -> String {
    let one = String::from_utf8_lossy(one);
    let other = String::from_utf8_lossy(other);
    let mut pairs = one.lines().zip(other.lines());
    let pair = pairs.find(|(one, other)| one != other);
    format!("{pair:#?}")
}

/// The figure of the issue: so many seeds of `calm`, and nobody accused.
#[test]
fn nobody_is_accused_while_nothing_goes_wrong() {
    for lock in LOCKS {
        for seed in 0..seeds(60) {
            let history = simulate("calm", &LockFactory::built_in(lock), seed);
            for (property, verdict) in judge(&history) {
                assert!(
                    matches!(verdict.status, Status::Held | Status::NotApplicable),
                    "{}, seed {seed}: {property} {verdict:#?}",
                    lock.name
                );
            }
        }
    }
}

/// Every lock with one in three scenarios, and every scenario with a third of the locks.
fn many_histories() -> Vec<u8> {
    let mut all = Vec::new();
    for (number, scenario) in catalog::names().enumerate() {
        for lock in LOCKS.iter().skip(number % 3).step_by(3) {
            all.extend(bytes(&simulate(
                scenario,
                &LockFactory::built_in(lock),
                1 << 40,
            )));
        }
    }
    all
}

#[test]
fn another_process_gives_the_same_bytes() {
    if let Ok(file) = std::env::var(ERRAND) {
        std::fs::write(file, many_histories()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histories");
    // Side by side: the other process simulates while this one does.
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sim::determinism::another_process_gives_the_same_bytes",
        ])
        .env(ERRAND, &file)
        // A larger environment moves the stack and everything that depends on addresses.
        .env("PICKLOCK_NOISE", "x".repeat(3000))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let here = many_histories();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(here.len() > 10_000, "there were histories at all");
    let there = std::fs::read(file).unwrap();
    assert!(here == there, "{}", first_difference(&here, &there));
}

/// In which order the workers got the lock.
fn order_of_grants(history: &History) -> Vec<usize> {
    let grants = history.events.iter().filter_map(|event| match event.what {
        EventKind::Granted { worker, .. } => Some(worker),
        _ => None,
    });
    grants.collect()
}

#[test]
fn another_seed_is_another_story() {
    for lock in LOCKS {
        let orders = (0..20)
            .map(|seed| order_of_grants(&simulate("calm", &LockFactory::built_in(lock), seed)));
        let distinct: std::collections::BTreeSet<Vec<usize>> = orders.collect();
        let firsts: std::collections::BTreeSet<usize> =
            distinct.iter().map(|order| order[0]).collect();
        assert!(distinct.len() >= 10, "{}: {}", lock.name, distinct.len());
        assert_eq!(
            firsts.len(),
            3,
            "{}: every worker was first once",
            lock.name
        );
    }
}

/// True where the catalog expects something of this lock in the simulation: it expects nothing of
/// mutants, nor of a scenario with a number of nodes that the lock does not have.
fn is_expected(scenario: &str, lock: &str) -> bool {
    let nodes = find(lock).unwrap().nodes;
    LOCKS.iter().any(|strategy| strategy.name == lock)
        && catalog::named(scenario)
            .is_ok_and(|it| it.runs_in(BackendName::Sim) && it.check_for(nodes).is_ok())
}

/// Panics where a verdict is not what the catalog expects of this cell. Returns false where the
/// catalog expects nothing.
fn as_expected(name: &str, lock: &str, seed: u64, history: &History) -> bool {
    if !is_expected(name, lock) {
        return false;
    }
    let scenario = catalog::named(name).unwrap();
    let verdicts = judge(history);
    let mismatches = Expected::for_lock(&scenario, lock, Tables::NamedOrAll).mismatches(&verdicts);
    if let Some(first) = mismatches.first() {
        let story = &verdicts[&first.property].story;
        panic!("{lock} × {name}, seed {seed}: {mismatches:?}: {story:#?}");
    }
    true
}
