//! Faults of the wall clocks of nodes and clients.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};
use picklock_harness::history::EventKind;
use picklock_harness::sim::LockFactory;
use picklock_impls::find;

use super::actor::{play, play_in};

fn clock(kind: &str, start: &str, by: &str, rest: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\n{start}\nby = \"{by}\"\n{rest}\n")
}

/// Blocks one of two clients at the beginning, so that the other one gets the lock first, on every node of a quorum.
/// Otherwise either client could win.
const ONE_BY_ONE: &str =
    "[[fault]]\nkind = \"partition\"\nat = \"0ms\"\nfor = \"0.1ttl\"\nworkers = [1]\n";

#[test]
fn clock_jump_forward_expires_keys_and_waits() {
    let leap = clock("clock-jump", "at = \"500ms\"", "60s", "nodes = [0]");
    let seen = play(2, &leap, |actor| async move {
        match actor.role {
            0 => {
                actor.send("SET lock mine PX 30000").await;
                actor.send_to_node(1, "SET lock mine PX 30000").await;
                actor.at(501).await;
                actor.send("GET lock").await;
                actor.send_to_node(1, "GET lock").await;
            }
            _ => {
                actor.at(200).await;
                actor.send("BLPOP nothing 30").await;
            }
        }
    });
    seen.when(0, "GET lock -> nil");
    seen.when(0, "GET lock -> mine");
    assert!((500..505).contains(&seen.when(1, "BLPOP nothing 30 -> nil")));
    let over = seen.history.events.iter().filter(|event| {
        matches!(event.what, EventKind::FaultEnded { .. }) && event.at_ns < 501_000_000
    });
    assert_eq!(over.count(), 1, "a jump ends immediately");
}

/// Jumps add up, whatever the order in which they end.
#[test]
fn clock_jump_back_prolongs_keys_and_can_end() {
    let faults = [
        clock(
            "clock-jump",
            "at = \"300ms\"",
            "-60s",
            "nodes = [0]\nfor = \"1s\"",
        ),
        clock(
            "clock-jump",
            "at = \"500ms\"",
            "-30s",
            "nodes = [0]\nfor = \"2s\"",
        ),
    ];
    let seen = play(1, &faults.concat(), |actor| async move {
        if actor.role == 0 {
            actor.at(200).await;
            actor.send("SET lock mine PX 400").await;
            for ms in [400, 1_000, 1_299, 1_400, 2_400, 2_600] {
                actor.at(ms).await;
                actor.send(&format!("ECHO {ms}")).await;
                actor.send("GET lock").await;
            }
        }
    });
    let own = seen.by(0);
    let gets: Vec<&str> = own
        .iter()
        .filter(|(_, line)| line.starts_with("GET"))
        .map(|(_, line)| line.as_str())
        .collect();
    let [kept, gone] = ["GET lock -> mine", "GET lock -> nil"];
    assert_eq!(gets, [kept, kept, kept, kept, kept, gone]);
}

#[test]
fn promoted_replica_has_its_own_clock() {
    let rest = format!(
        "[topology]\nreplicas = 1\n[workload]\nworkers = 2\nlimit = \"6s\"\n{}[[fault]]\nkind = \"failover\"\nat = \"500ms\"\nnodes = [0]",
        clock("clock-jump", "at = \"300ms\"", "60s", "nodes = [0]")
    );
    let seen = play_in(1, &rest, |actor| async move {
        if actor.role == 0 {
            actor.at(400).await;
            let ahead = actor.send("TIME").await;
            actor.at(600).await;
            // The client has not noticed that its connection was reset.
            actor.send("PING").await;
            let right = actor.send("TIME").await;
            let seconds = |time: &str| -> u64 {
                let word = time.trim_matches(['[', ']']).split(' ').next().unwrap();
                word.parse().unwrap()
            };
            actor.record(format!("ahead by {}", seconds(&ahead) - seconds(&right)));
        }
    });
    seen.when(0, "ahead by 60");
}

#[test]
fn clock_jump_misses_a_paused_node() {
    let faults = format!(
        "[[fault]]\nkind = \"pause-node\"\nat = \"300ms\"\nfor = \"1s\"\nnodes = [0]\n{}",
        clock("clock-jump", "at = \"500ms\"", "60s", "nodes = [0]")
    );
    let seen = play(1, &faults, |actor| async move {
        if actor.role == 0 {
            actor.send("SET lock mine PX 30000").await;
            actor.at(1_400).await;
            actor.send("GET lock").await;
        }
    });
    seen.when(0, "GET lock -> mine");
    assert!(seen.history.events.iter().any(|event| matches!(
        &event.what,
        EventKind::FaultMissed { fault, reason, .. } if fault == "clock-jump" && reason.contains("paused")
    )));
}

/// A scenario in which one client's clock is ahead by more than a lease.
fn skewed(start: &str) -> Trial {
    let text = format!(
        "name = \"skewed\"\nsummary = \"A client whose clock is ahead.\"\n\
         [workload]\nworkers = 2\nstock = 4\nsection = \"0.4ttl\"\n{ONE_BY_ONE}{}",
        clock("clock-skew", start, "2ttl", "workers = [1]")
    );
    Trial::from_toml(&text).unwrap().seeds(0..20)
}

#[test]
fn clock_ahead_breaks_a_lock_that_relies_on_it() {
    for start in ["at = \"0ms\"", "when = { on = \"stock-read\" }"] {
        let trial = skewed(start);
        let outcome = trial.run_lock(&LockFactory::built_in(find("getset").unwrap()));
        outcome
            .unwrap()
            .assert_violated(Property::Lease, Cause::ClockSkew);
        for sound in ["set-nx-px", "redlock"] {
            let outcome = trial.run_lock(&LockFactory::built_in(find(sound).unwrap()));
            outcome.unwrap().assert_held(Property::Exclusion);
        }
    }
}

#[test]
fn clock_jump_past_the_lease_breaks_the_lock() {
    for (nodes, redlock_breaks) in [("all", true), ("[0]", false)] {
        let nodes = nodes.replace("all", "\"all\"");
        let text = format!(
            "name = \"leap\"\nsummary = \"A node's clock leaps past the lease.\"\n\
             [workload]\nworkers = 2\nstock = 4\nsection = \"0.4ttl\"\n{ONE_BY_ONE}{}",
            clock(
                "clock-jump",
                "when = { on = \"stock-read\" }",
                "2ttl",
                &format!("nodes = {nodes}")
            )
        );
        let trial = Trial::from_toml(&text).unwrap().seeds(0..20);
        let run = |lock| {
            trial
                .run_lock(&LockFactory::built_in(find(lock).unwrap()))
                .unwrap()
        };
        run("set-nx-px").assert_violated(Property::Lease, Cause::ClockJump);
        run("getset").assert_held(Property::Lease);
        if redlock_breaks {
            run("redlock").assert_violated(Property::Lease, Cause::ClockJump);
        } else {
            run("redlock").assert_held(Property::Lease);
        }
    }
}
