//! Positive controls: each mutant is caught, and the correct lock from which it was derived is not accused.

use picklock_harness::check::{Cause, Property};

use super::{catalog, run, scenario};

#[test]
fn phantom_extend_is_caught() {
    // The holder is still in its section when it continues after the freeze, so the renewal precedes the release.
    let trial = scenario(
        r#"
        [workload]
        workers = 3
        stock = 4
        section = "2ttl"
        wait = "10ttl"
        [[fault]]
        kind = "pause-client"
        when = { on = "stock-read", stock = 3 }
        for = "1.4ttl"
        "#,
    );
    run(&trial, "phantom-extend").assert_violated(Property::Lease, Cause::PhantomExtend);
    run(&trial, "watchdog").assert_held(Property::Lease);
}

#[test]
fn watchdog_silent_is_caught() {
    let trial = scenario(
        r#"
        [workload]
        workers = 3
        stock = 3
        section = "2ttl"
        wait = "10ttl"
        command_timeout = "0.3ttl"
        [[fault]]
        kind = "partition"
        when = { on = "stock-read", stock = 1 }
        for = "1.8ttl"
        workers = "same"
        "#,
    );
    // The lock promises to renew, so it owed its client a report of the loss.
    run(&trial, "watchdog-silent").assert_violated(Property::Resource, Cause::SilentLoss);
    run(&trial, "watchdog").assert_held(Property::Resource);
}

#[test]
fn watchdog_outlives_unlock_is_caught() {
    let trial = scenario(
        r#"
        [workload]
        workers = 2
        stock = 4
        command_timeout = "0.5ttl"
        [[fault]]
        kind = "drop"
        when = { on = "request", names_key = true, during = "release" }
        workers = "same"
        direction = "request"
        frames = 1
        "#,
    );
    let outcome = run(&trial, "watchdog-outlives-unlock");
    let caught = outcome.violation(Property::Progress);
    caught.expect("its key exists as long as its client");
    run(&trial, "watchdog").assert_held(Property::Progress);
}

#[test]
fn fence_per_client_is_caught() {
    let trial = scenario("[workload]\nworkers = 3\nstock = 9");
    run(&trial, "fence-per-client").assert_violated(Property::Fencing, Cause::Undetermined);
    run(&trial, "fenced").assert_held(Property::Fencing);
}

#[test]
fn renews_in_doubt_is_caught() {
    let trial = catalog("lost-reply");
    let caught = run(&trial, "renews-in-doubt");
    caught.assert_violated(Property::Progress, Cause::AmbiguousAcquire);
    run(&trial, "watchdog").assert_held(Property::Progress);
}
