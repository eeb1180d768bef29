//! The articles' claims about failing servers: the losses of a failover, a restart and a power failure.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};
use picklock_harness::history::EventKind;
use picklock_scenarios::Persistence;
use picklock_scenarios::catalog::named;

use super::{catalog, grants, run, scenario};

#[test]
fn one_master_with_replicas_loses_the_lock_at_failover() {
    for name in [
        "setnx-expire",
        "setnx-lua",
        "getset",
        "get-then-del",
        "set-nx-px",
        "watchdog",
        "lock-take",
        "fenced",
    ] {
        let outcome = run(&catalog("master-failover"), name);
        outcome.assert_violated(Property::Lease, Cause::LostOnFailover);
    }
}

#[test]
fn redlock_survives_the_failover_of_one_node() {
    for name in ["redlock", "redlock-renewing"] {
        let outcome = run(&catalog("master-failover"), name);
        outcome.assert_held(Property::Lease);
        outcome.assert_held(Property::Resource);
        outcome.assert_held(Property::Progress);
    }
}

/// The replica acknowledges the key, and then receives no more changes from its master.
#[test]
fn replicated_holds_while_every_replica_acknowledged() {
    let outcome = run(&catalog("master-failover-synced"), "replicated");
    outcome.assert_held(Property::Lease);
    outcome.assert_held(Property::Exclusion);
    outcome.assert_held(Property::Resource);
}

/// If the replica receives no changes, no client gets a lock that a failover would lose.
#[test]
fn replicated_refuses_an_unreplicated_grant() {
    let outcome = run(&catalog("master-failover"), "replicated");
    assert!(
        outcome
            .runs()
            .iter()
            .all(|run| grants(run).next().is_none())
    );
    // A lock that does not wait for the replica's acknowledgement is lost.
    let careless = catalog("master-failover").option("replicas", "0");
    run(&careless, "replicated").assert_violated(Property::Lease, Cause::LostOnFailover);
}

const QUORUM: [&str; 2] = ["redlock", "redlock-renewing"];

/// Returns a catalog scenario on servers with another persistence.
fn with_persistence(name: &str, persistence: Persistence) -> Trial {
    let mut scenario = named(name).unwrap_or_else(|error| panic!("{error}"));
    scenario.topology.persistence = persistence;
    Trial::from_scenario(scenario).seeds(0..3)
}

#[test]
fn redlock_loses_with_exactly_three_nodes_and_one_empty_restart() {
    for name in QUORUM {
        let outcome = run(&catalog("quorum-erosion"), name);
        outcome.assert_violated(Property::Lease, Cause::QuorumErosion);
        outcome.assert_violated(Property::Exclusion, Cause::QuorumErosion);
        outcome.assert_violated(Property::Resource, Cause::QuorumErosion);
        // With five nodes the lock tolerates the loss of one.
        let all = run(&catalog("node-restart"), name);
        all.assert_held(Property::Lease);
        all.assert_held(Property::Resource);
    }
}

#[test]
fn delayed_restart_longer_than_the_ttl_repairs_it() {
    for name in QUORUM {
        let outcome = run(&catalog("quorum-erosion-delayed"), name);
        for property in [
            Property::Exclusion,
            Property::Lease,
            Property::Resource,
            Property::Progress,
        ] {
            outcome.assert_held(property);
        }
    }
}

/// After a delay shorter than the lease, the first holder's lease is still valid.
#[test]
fn delayed_restart_shorter_than_the_ttl_does_not_repair_it() {
    let delayed = scenario(
        r#"
        [topology]
        min_nodes = 5
        [workload]
        workers = 2
        stock = 1
        start = "one-first"
        ttl = "2s"
        section = "0.8ttl"
        command_timeout = "0.5ttl"
        [[fault]]
        kind = "partition"
        at = "0ms"
        workers = [0]
        nodes = [3, 4]
        [[fault]]
        kind = "crash-node"
        when = { on = "stock-read", worker = 0, stock = 1 }
        nodes = [0]
        for = "0.5ttl"
        "#,
    );
    run(&delayed, "redlock").assert_violated(Property::Lease, Cause::QuorumErosion);
}

#[test]
fn everysec_persistence_does_not_repair_it() {
    for name in QUORUM {
        let outcome = run(
            &with_persistence("quorum-erosion", Persistence::AofEverysec),
            name,
        );
        outcome.assert_violated(Property::Lease, Cause::QuorumErosion);
        outcome.assert_violated(Property::Resource, Cause::QuorumErosion);
        // Persistence that syncs every write prevents the violation.
        let outcome = run(
            &with_persistence("quorum-erosion", Persistence::AofAlways),
            name,
        );
        outcome.assert_held(Property::Lease);
        outcome.assert_held(Property::Resource);
    }
}

#[test]
fn everysec_persistence_loses_a_lock_younger_than_a_second() {
    for name in ["set-nx-px", "watchdog", "fenced"] {
        let outcome = run(&catalog("node-restart-everysec"), name);
        outcome.assert_violated(Property::Lease, Cause::LostOnRestart);
        run(&catalog("node-restart-aof"), name).assert_held(Property::Lease);
    }
    run(&catalog("node-restart-everysec"), "redlock").assert_held(Property::Lease);
}

/// Only writes of the last second are lost, so an older lock survives.
#[test]
fn everysec_persistence_keeps_a_lock_older_than_a_second() {
    let older = scenario(
        r#"
        [topology]
        persistence = "aof-everysec"
        [workload]
        workers = 3
        stock = 1
        ttl = "6s"
        section = "0.5ttl"
        start = "one-first"
        command_timeout = "0.3ttl"
        [[fault]]
        kind = "crash-node"
        at = "2500ms"
        nodes = [0]
        for = "50ms"
        "#,
    );
    let outcome = run(&older, "set-nx-px");
    outcome.assert_held(Property::Lease);
    outcome.assert_held(Property::Resource);
    for run in outcome.runs() {
        let mut events = run.history.events.iter();
        let crashed = |what: &EventKind| matches!(what, EventKind::FaultBegan { fault, .. } if fault == "crash-node");
        assert!(events.any(|event| crashed(&event.what)));
    }
}

/// The counter is lost together with the data.
#[test]
fn fencing_counter_is_lost_with_its_node() {
    let restart = scenario(
        r#"
        [workload]
        workers = 3
        stock = 6
        section = "0.1ttl"
        [[fault]]
        kind = "crash-node"
        when = { on = "stock-read", stock = 2 }
        for = "0.1ttl"
        nodes = [0]
        "#,
    );
    run(&restart, "fenced").assert_violated(Property::Fencing, Cause::LostOnRestart);
}
