//! The articles' claims of clocks, and of the lock that keeps its expiry in its value.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};

use super::{catalog, grants, run, scenario};

/// The holder dies. Two or three others find its expiry passed, at 1.2 leases; one of them wins
/// the GETSET and dies in its turn, so that its lease runs out at 2.2 leases. If `sleeper`, worker
/// 1 was frozen between its GET and its GETSET, wakes at 2.0 and loses the GETSET.
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
    // Everybody asks at 0, 1.2 and 2.4 leases, so that they meet.
    let trial = trial.option("retry_delay", "1.2ttl");
    trial.option("retry_jitter", "0ms")
}

/// A client that loses has still written its own expiry over the winner's.
#[test]
fn getset_losers_push_the_expiry_on() {
    let ttl_ns = 1_000_000_000;
    // From the grant of the holder that dies second to the next one.
    let kept_ns = |trial: &Trial| {
        let ran = run(trial, "getset");
        let between = |run| {
            let grants: Vec<u64> = grants(run).collect();
            grants[2] - grants[1]
        };
        let kept: Vec<u64> = ran.runs().iter().map(between).collect();
        (ran, kept)
    };
    let (ran, kept) = kept_ns(&two_dead_holders(false));
    ran.assert_held(Property::Progress);
    assert!(kept.iter().all(|ns| *ns < 13 * ttl_ns / 10), "{kept:?}");

    // The dead holder's lock outlives its lease, for as long as a loser's expiry says: late, but
    // not for ever, because losers run out.
    let (ran, kept) = kept_ns(&two_dead_holders(true));
    ran.assert_held(Property::Progress);
    ran.assert_held(Property::Lease);
    assert!(kept.iter().all(|ns| *ns > 18 * ttl_ns / 10), "{kept:?}");
}

#[test]
fn skewed_clocks_break_getset() {
    let ran = run(&catalog("clock-skew"), "getset");
    ran.assert_violated(Property::Lease, Cause::ClockSkew);
    ran.assert_violated(Property::Resource, Cause::ClockSkew);
    ran.assert_violated(Property::Ownership, Cause::StolenRelease);
    // A lock that leaves the expiry to Redis does not look at its own clock.
    for name in ["setnx-expire", "set-nx-px", "watchdog", "redlock"] {
        let ran = run(&catalog("clock-skew"), name);
        ran.assert_held(Property::Lease);
        ran.assert_held(Property::Resource);
    }
}

/// Kleppmann's figure: client 1 on A, B and C, client 2 on C, D and E.
#[test]
fn a_servers_clock_breaks_redlock_with_exactly_three_nodes() {
    for name in ["redlock", "redlock-renewing"] {
        let ran = run(&catalog("clock-jump-quorum"), name);
        ran.assert_violated(Property::Lease, Cause::ClockJump);
        run(&catalog("clock-jump"), name).assert_held(Property::Lease);
    }
}
