//! The articles' claims about clocks, and about the lock that stores its expiry in its value.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};

use super::{catalog, grants, run, scenario};

/// The holder dies. Two or three other clients find its expiry passed, at 1.2 leases. One of them
/// wins the GETSET and dies as well, so its lease expires at 2.2 leases. With `sleeper`, client 1
/// was frozen between its GET and its GETSET, continues at 2.0 leases, and loses the GETSET.
fn two_dead_holders(sleeper: bool) -> Trial {
    let asleep = r#"
        [[fault]]
        kind = "pause-client"
        when = { on = "reply", worker = 1, command = "GET", during = "acquire", nth = 2 }
        for = "0.8ttl"
        "#;
    let trial = scenario(&format!(
        r#"
        [workload]
        workers = 4
        stock = 2
        start = "one-first"
        wait = "10ttl"
        limit = "15ttl"
        [[fault]]
        kind = "crash-client"
        when = {{ on = "stock-read", nth = 1 }}
        [[fault]]
        kind = "crash-client"
        when = {{ on = "stock-read", nth = 2 }}
        {}
        "#,
        if sleeper { asleep } else { "" }
    ));
    // All clients try at 0, 1.2 and 2.4 leases, so that they compete.
    let trial = trial.option("retry_delay", "1.2ttl");
    trial.option("retry_jitter", "0ms")
}

/// A client that loses the GETSET has overwritten the winner's expiry anyway.
#[test]
fn getset_losers_prolong_the_expiry() {
    let ttl_ns = 1_000_000_000;
    // Returns the time from the grant of the second holder that dies to the next grant.
    let held_ns = |trial: &Trial| {
        let outcome = run(trial, "getset");
        let between = |run| {
            let grants: Vec<u64> = grants(run).collect();
            grants[2] - grants[1]
        };
        let durations: Vec<u64> = outcome.runs().iter().map(between).collect();
        (outcome, durations)
    };
    let (outcome, durations) = held_ns(&two_dead_holders(false));
    outcome.assert_held(Property::Progress);
    assert!(
        durations.iter().all(|ns| *ns < 13 * ttl_ns / 10),
        "{durations:?}"
    );

    // The dead holder's lock outlives its lease until the expiry that a loser has written. The
    // delay is finite, because losers give up.
    let (outcome, durations) = held_ns(&two_dead_holders(true));
    outcome.assert_held(Property::Progress);
    outcome.assert_held(Property::Lease);
    assert!(
        durations.iter().all(|ns| *ns > 18 * ttl_ns / 10),
        "{durations:?}"
    );
}

#[test]
fn skewed_clocks_break_getset() {
    let outcome = run(&catalog("clock-skew"), "getset");
    outcome.assert_violated(Property::Lease, Cause::ClockSkew);
    outcome.assert_violated(Property::Resource, Cause::ClockSkew);
    outcome.assert_violated(Property::Ownership, Cause::StolenRelease);
    // These locks leave the expiry to Redis, so the clients' clocks do not matter.
    for name in ["setnx-expire", "set-nx-px", "watchdog", "redlock"] {
        let outcome = run(&catalog("clock-skew"), name);
        outcome.assert_held(Property::Lease);
        outcome.assert_held(Property::Resource);
    }
}

/// Kleppmann's figure, in which client 1 locks A, B and C, and client 2 locks C, D and E.
#[test]
fn server_clock_breaks_redlock_with_exactly_three_nodes() {
    for name in ["redlock", "redlock-renewing"] {
        let outcome = run(&catalog("clock-jump-quorum"), name);
        outcome.assert_violated(Property::Lease, Cause::ClockJump);
        run(&catalog("clock-jump"), name).assert_held(Property::Lease);
    }
}
