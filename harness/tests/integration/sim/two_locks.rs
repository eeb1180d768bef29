//! Clients that hold two locks, are terminated, or start again. Locks that handle this correctly are not accused.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status};
use picklock_harness::history::EventKind;
use picklock_harness::sim::LockFactory;
use picklock_harness::trial::Outcome;
use picklock_impls::find;

const DEADLOCK: &str = include_str!("../../../../scenarios/catalog/deadlock.toml");

/// The built-in locks that keep their first lease while they wait for a second lock.
const RENEWING: [&str; 2] = ["watchdog", "redlock-renewing"];

fn run(trial: Trial, lock: &str) -> Outcome {
    let factory = LockFactory::built_in(find(lock).unwrap());
    trial.seeds(0..4).run_lock(&factory).unwrap()
}

fn assert_nothing_violated(lock: &str, scenario: &str) {
    let outcome = run(Trial::scenario(scenario).unwrap(), lock);
    for run in outcome.runs() {
        for (property, verdict) in &run.verdicts {
            let is_fine = matches!(verdict.status, Status::Held | Status::NotApplicable);
            assert!(is_fine, "{lock}, {scenario}: {property:?}: {verdict:?}");
        }
    }
}

#[test]
fn random_order_of_renewed_locks_is_a_deadlock() {
    for lock in RENEWING {
        let outcome = run(Trial::from_toml(DEADLOCK).unwrap(), lock);
        for run in outcome.runs() {
            let progress = &run.verdicts[&Property::Progress];
            assert_eq!(
                progress.cause,
                Some(Cause::Deadlock),
                "{lock}: {progress:?}"
            );
            assert_eq!(
                run.verdicts[&Property::Exclusion].status,
                Status::Held,
                "{lock}"
            );
        }
    }
}

#[test]
fn fixed_order_is_never_a_deadlock() {
    let ordered = DEADLOCK.replace("\"random\"", "\"fixed\"");
    for lock in RENEWING {
        let outcome = run(Trial::from_toml(&ordered).unwrap(), lock);
        for property in Property::ALL {
            assert!(
                outcome.violation(property).is_none(),
                "{lock}: {property:?}"
            );
        }
        outcome.assert_held(Property::Progress);
    }
}

/// It is not a mistake by itself if a value is in the keys of several locks, or again in the same lock after a restart.
#[test]
fn one_owner_id_per_process_is_not_accused() {
    let scenarios = [
        "two-locks",
        "lock-names",
        "restart",
        "terminated-holder",
        "terminated-waiter",
    ];
    for scenario in scenarios {
        assert_nothing_violated("token-per-client", scenario);
    }
}

/// Returns the longest time from the end of a client to the next grant, in milliseconds.
fn handover_ms(lock: &str) -> u64 {
    let outcome = run(Trial::scenario("terminated-holder").unwrap(), lock);
    let handovers = outcome.runs().iter().filter_map(|run| {
        let mut events = run.history.events.iter();
        let down = events.find(|it| matches!(it.what, EventKind::WorkerDown { .. }))?;
        let next = events.find(|it| matches!(it.what, EventKind::Granted { .. }))?;
        Some((next.at_ns - down.at_ns) / 1_000_000)
    });
    handovers.max().unwrap()
}

#[test]
fn hook_that_releases_its_own_key_hands_the_lock_over() {
    assert_nothing_violated("watchdog", "terminated-holder");
    assert_nothing_violated("watchdog", "terminated-waiter");
    assert!(handover_ms("watchdog") < 100);
    // If the lock has no hook for the end of its client, the next grant waits for the end of the lease.
    assert!(handover_ms("set-nx-px") > 500);
}
