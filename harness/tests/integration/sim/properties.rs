//! Property tests with arbitrary scenarios and every lock: no panic, no hang, no invalid history,
//! and no false accusation.

use std::path::Path;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::{Event, EventKind, History, read_history};
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::{LOCKS, MUTANTS, find};
use picklock_scenarios::{Persistence, Scenario, Seeds, arbitrary};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};

use super::determinism::bytes;
use super::open_loop::tally;
use super::simulation;

fn simulate(scenario: &Scenario, lock: &str, seed: u64) -> History {
    let strategy = find(lock).unwrap();
    let lock = LockFactory::built_in(strategy);
    run(simulation(scenario.clone(), &lock, seed))
        .unwrap_or_else(|error| panic!("{error}\n{scenario:#?}"))
        .history
}

/// Generates a scenario and the lock that it is for.
fn cell() -> impl Strategy<Value = (Scenario, &'static str)> {
    let all = LOCKS.iter().chain(MUTANTS);
    let all: Vec<(&str, usize)> = all.map(|lock| (lock.name, lock.nodes)).collect();
    proptest::sample::select(all).prop_flat_map(|(name, nodes)| {
        arbitrary::scenario(nodes, 3).prop_map(move |scenario| (scenario, name))
    })
}

/// Generates a scenario for a lock that is sound in theory, whatever the network and the clients
/// do, as long as no node loses data.
fn sound() -> impl Strategy<Value = (Scenario, &'static str)> {
    prop_oneof![Just("set-nx-px"), Just("redlock")].prop_flat_map(|name| {
        let nodes = find(name).unwrap().nodes;
        (
            arbitrary::scenario(nodes, 4),
            prop_oneof![Just(Persistence::AofAlways), Just(Persistence::None)],
        )
            .prop_map(move |(mut scenario, persistence)| {
                scenario.topology.persistence = persistence;
                // Soundness requires that tokens are unique.
                scenario.workload.seeds = Seeds::Different;
                scenario
                    .faults
                    .retain(|fault| !matches!(fault.kind.as_str(), "evict" | "flush-all"));
                if persistence == Persistence::None {
                    scenario
                        .faults
                        .retain(|fault| fault.kind.as_str() != "crash-node");
                }
                scenario
                    .faults
                    .retain(|fault| fault.kind.as_str() != "clock-jump");
                (scenario, name)
            })
    })
}

fn cases(count: u32) -> ProptestConfig {
    let count = match std::env::var("PICKLOCK_SEEDS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => count,
    };
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(count)
    }
}

/// Runs `check` with scenarios, locks and seeds. A failing case is shrunk, saved as a scenario
/// file, and reported together with the command that repeats it.
fn for_all(
    name: &str,
    cells: impl Strategy<Value = (Scenario, &'static str)>,
    check: impl Fn(&Scenario, &str, u64) -> Result<(), TestCaseError>,
) {
    let cells = (cells, any::<u64>());
    let outcome = TestRunner::new(cases(100)).run(&cells, |((scenario, lock), seed)| {
        check(&scenario, lock, seed)
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, ((scenario, lock), seed))) => {
            let command = save(name, &scenario, lock, seed);
            panic!("{reason}\n\nTo repeat it:\n  {command}\n");
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// Writes the scenario to the target directory, and returns the command that runs it.
fn save(name: &str, scenario: &Scenario, lock: &str, seed: u64) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("failed");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, toml::to_string(scenario).unwrap()).unwrap();
    let file = file.display();
    format!("picklock scenario {file} --impl {lock} --seed {seed} --backend sim")
}

#[test]
fn every_scenario_ends_in_a_verdict() {
    for_all("no-verdict", cell(), |scenario, lock, seed| {
        let history = simulate(scenario, lock, seed);
        let first = bytes(&history);
        let read = read_history(first.as_slice());
        prop_assert_eq!(
            read.as_ref().ok(),
            Some(&history),
            "{:?}",
            read.as_ref().err()
        );
        let judged = Property::ALL
            .iter()
            .filter(|it| history.header.judges(**it));
        prop_assert_eq!(judge(&history).len(), judged.count());
        if let Some(tally) = tally(&history) {
            let known = tally.attempted.len() as u64 + tally.unserved;
            prop_assert_eq!(known, tally.arrived, "{:?}", tally);
        }
        let second = bytes(&simulate(scenario, lock, seed));
        prop_assert!(first == second, "the second run differs");
        Ok(())
    });
}

#[test]
fn sound_lock_is_never_accused() {
    for_all("accused", sound(), |scenario, lock, seed| {
        let history = simulate(scenario, lock, seed);
        let verdicts = judge(&history);
        for property in [Property::Lease, Property::Ownership] {
            let verdict = &verdicts[&property];
            prop_assert!(
                verdict.status != Status::Violated,
                "{lock} {property}: {verdict:#?}\n{}",
                String::from_utf8_lossy(&bytes(&history))
            );
        }
        Ok(())
    });
}

/// Found by analysis: the command that deletes the key on one slow node arrives long after the other four have granted
/// the lock to another client. The command removes no lock.
#[test]
fn slow_release_on_one_node_is_not_a_foreign_removal() {
    let text = r#"
        name = "slow-node"
        summary = "Whatever one client and one of five nodes say to each other comes late."
        [workload]
        stock = 10
        section = "20ms"
        [[fault]]
        kind = "delay"
        at = "0s"
        by = "80ms"
        workers = [0]
        nodes = [4]
    "#;
    let trial = Trial::from_toml(text).unwrap().seeds(0..20);
    let outcome = trial.run_lock(&LockFactory::built_in(find("redlock").unwrap()));
    let outcome = outcome.unwrap();
    outcome.assert_held(Property::Ownership);
    outcome.assert_held(Property::Lease);
}

/// Found by the property above: a grant whose reply was held until its lease had expired reports no validity. That does
/// not reveal when it was made, so its holder does not count as the victim of another client.
#[test]
fn grant_without_validity_has_an_unknown_age() {
    let text = r#"
        name = "held-grant"
        summary = "A grant arrives after its lease, while the successor is inside."
        [workload]
        workers = 2
        stock = 2
        section = "0.1ttl"
        [[fault]]
        kind = "hold"
        when = { on = "reply" }
        workers = [0]
        for = "1036ms"
    "#;
    let trial = Trial::from_toml(text).unwrap().seeds(0..60);
    let outcome = trial.run_lock(&LockFactory::built_in(find("set-nx-px").unwrap()));
    outcome.unwrap().assert_never_violated(Property::Ownership);
}

/// Found by a property test: the probe after the run takes a lock that renews itself, and that lock reports the loss of
/// its lease. The probe is not one of the workers, so the report must not be in the history.
///
/// Here the client dies with the lock of key 1. The probe takes key 0, releases it, and has to wait for key 1. In the
/// meantime its lock renews key 0 despite the release, half a lease after the grant, and finds it gone.
#[test]
fn lost_lease_of_the_probe_is_not_recorded() {
    let text = r#"
        name = "probe-lost"
        summary = "The limit ends the run while the only buyer has the lock."
        [topology]
        nodes = 1
        [workload]
        workers = 1
        keys = 2
        ttl = "1s"
        section = "5ttl"
        limit = "1.05ttl"
    "#;
    let scenario = Scenario::parse(text, "probe-lost.toml").unwrap();
    let run = |seed| simulate(&scenario, "watchdog-outlives-unlock", seed);
    let asks_for_key_1 = |history: &History| {
        let mut events = history.events.iter();
        events.any(|event| matches!(event.what, EventKind::Acquire { key: 1, .. }))
    };
    let history = (0..32).map(run).find(asks_for_key_1).unwrap();
    let read = read_history(bytes(&history).as_slice());
    assert_eq!(
        read.as_ref().ok(),
        Some(&history),
        "{:?}",
        read.as_ref().err()
    );
    let belongs_to_probe = |event: &Event| match event.what {
        EventKind::Lost { worker, .. } | EventKind::Extended { worker, .. } => worker == 1,
        _ => false,
    };
    assert!(!history.events.iter().any(belongs_to_probe), "{history:#?}");
    // The wait is long enough for the renewal.
    let waited = history.events.iter().filter_map(|event| match event.what {
        EventKind::Probe {
            granted: true,
            waited_ms,
            ..
        } => Some(waited_ms),
        _ => None,
    });
    let waited: Vec<u64> = waited.collect();
    assert!(waited[0] < 100 && waited[1] > 600, "{waited:?}");
}
