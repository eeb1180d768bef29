//! The same seed gives the same history, byte for byte, in one process and in another. The same histories are also
//! compared with the catalog's expectations, which saves separate simulations.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_harness::check::{Status, judge};
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::history::{EventKind, History, write_history};
use picklock_harness::sim::LockFactory;
use picklock_impls::{BuiltInLock, LOCKS, MUTANTS, find};
use picklock_scenarios::{BackendName, catalog};

use super::simulate;

/// Environment variable with the file to which this test binary, started by itself, writes its histories.
const OUTPUT_FILE: &str = "PICKLOCK_WRITE_HISTORIES";

/// Environment variable with the number of seeds per scenario and lock, for the long run.
const SEEDS: &str = "PICKLOCK_SEEDS";

pub fn bytes(history: &History) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes).unwrap();
    bytes
}

/// Environment variable with the locks of the long run, separated by commas.
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

/// Without [`SEEDS`], every scenario runs with one in four locks and one in 24 mutants, and every lock in one in four
/// scenarios. The gate of scripts/test compares all locks in all scenarios with the catalog's expectations.
const LOCK_STEP: usize = 4;
const MUTANT_STEP: usize = 24;

/// Returns the number of seeds with which a lock is run in this scenario.
fn seed_count(scenario: usize, lock: &str, seeds: u64) -> u64 {
    let is_all = std::env::var_os(SEEDS).is_some();
    let position = |all: &[BuiltInLock]| all.iter().position(|it| it.name == lock);
    let is_chosen = |position: usize, step| (scenario + position).is_multiple_of(step);
    match (position(LOCKS), position(MUTANTS)) {
        (Some(lock), _) if is_all || is_chosen(lock, LOCK_STEP) => seeds,
        (_, Some(_)) if is_all => seeds.div_ceil(2),
        (_, Some(mutant)) if is_chosen(mutant, MUTANT_STEP) => seeds,
        _ => 0,
    }
}

/// Calls `check` for the scenarios with the locks and seeds of [`seed_count`], on two threads.
fn for_the_catalog(seeds: u64, check: impl Fn(&str, &LockFactory, u64) + Sync) {
    let (check, locks) = (&check, &locks());
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for (number, scenario) in catalog::names().enumerate().skip(half).step_by(2) {
                    for lock in locks {
                        for seed in 0..seed_count(number, lock.name, seeds) {
                            check(scenario, &LockFactory::built_in(lock), seed);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn same_seed_gives_the_same_history_as_expected() {
    let judged = AtomicUsize::new(0);
    for_the_catalog(seeds(1), |scenario, lock, seed| {
        let history = simulate(scenario, lock, seed);
        // For more seeds, use `picklock matrix --backend sim --seeds 1000`.
        if seed < 2 && as_expected(scenario, &lock.spec().name, seed, &history) {
            judged.fetch_add(1, Ordering::Relaxed);
        }
        let first = bytes(&history);
        let second = bytes(&simulate(scenario, lock, seed));
        assert!(
            first == second,
            "{} × {scenario}, seed {seed}: two runs differ\n{}",
            lock.spec().name,
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

/// No property is violated or inconclusive in `calm`, with any lock and any of these seeds.
#[test]
fn no_lock_is_accused_without_faults() {
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

/// Every lock with one in six scenarios, and every scenario with two or three locks.
fn many_histories() -> Vec<u8> {
    let mut all = Vec::new();
    for (number, scenario) in catalog::names().enumerate() {
        for lock in LOCKS.iter().skip(number % 6).step_by(6) {
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
fn another_process_writes_the_same_bytes() {
    if let Ok(file) = std::env::var(OUTPUT_FILE) {
        std::fs::write(file, many_histories()).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histories");
    // The other process simulates at the same time as this one.
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sim::determinism::another_process_writes_the_same_bytes",
        ])
        .env(OUTPUT_FILE, &file)
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

/// Returns the workers in the order in which they got the lock.
fn grant_order(history: &History) -> Vec<usize> {
    let grants = history.events.iter().filter_map(|event| match event.what {
        EventKind::Granted { worker, .. } => Some(worker),
        _ => None,
    });
    grants.collect()
}

#[test]
fn other_seeds_give_other_histories() {
    for lock in LOCKS {
        let orders =
            (0..20).map(|seed| grant_order(&simulate("calm", &LockFactory::built_in(lock), seed)));
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

/// Returns `true` if the catalog has an expectation for this lock in the simulation. It has none
/// for mutants, and none for a scenario whose number of nodes the lock does not support.
fn is_expected(scenario: &str, lock: &str) -> bool {
    let nodes = find(lock).unwrap().nodes;
    LOCKS.iter().any(|built_in| built_in.name == lock)
        && catalog::named(scenario)
            .is_ok_and(|it| it.runs_in(BackendName::Sim) && it.check_for(nodes).is_ok())
}

/// Panics if a verdict does not match the catalog. Returns `false` if the catalog has no expectation for this cell.
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
