//! Faults of clients, which freeze and kill whole clients including their background tasks.

use std::collections::BTreeSet;
use std::time::Duration;

use picklock_harness::history::EventKind;
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::actor::{Actor, play};
use super::simulation;

/// Renews in the background until its process ends, like a watchdog lock.
async fn renew_in_background(actor: Actor) {
    let renewing = actor.clone();
    tokio::task::spawn_local(async move {
        loop {
            renewing.send("INCR renewals").await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    std::future::pending().await
}

#[test]
fn frozen_client_runs_no_task_while_others_continue() {
    let pause = "[[fault]]\nkind = \"pause-client\"\nat = \"1s\"\nfor = \"2s\"\nworkers = [0]";
    let seen = play(1, pause, renew_in_background);
    let times = |role| {
        seen.by(role)
            .into_iter()
            .map(|(at_ms, _)| at_ms)
            .collect::<Vec<_>>()
    };
    let during = |at_ms: &&u64| (1_001..3_000).contains(*at_ms);
    assert_eq!(times(0).iter().filter(during).count(), 0, "{:?}", times(0));
    assert!(times(0).iter().filter(|at_ms| **at_ms < 1_000).count() >= 9);
    assert!(times(0).iter().filter(|at_ms| **at_ms >= 3_000).count() >= 20);
    assert!(times(1).iter().filter(during).count() >= 19);
}

/// A command that was sent before the freeze is executed. The reply is available when the client continues.
#[test]
fn command_sent_before_a_freeze_is_executed() {
    let faults = "[[fault]]\nkind = \"pause-client\"\nwhen = { on = \"reply\", command = \"SET\" }\nfor = \"2s\"";
    let seen = play(1, faults, |actor| async move {
        if actor.role == 0 {
            actor.at(1_000).await;
            actor.send("SET k v").await;
        } else {
            actor.at(1_500).await;
            actor.send("GET k").await;
        }
    });
    assert!((3_000..=3_002).contains(&seen.when(0, "SET k v -> OK")));
    assert!(seen.when(1, "GET k -> v") < 1_505);
}

#[test]
fn killed_client_loses_its_tasks_and_restarts() {
    let crash = "[[fault]]\nkind = \"crash-client\"\nat = \"1s\"\nfor = \"1s\"\nworkers = [0]";
    let seen = play(1, crash, renew_in_background);
    let last_ms = |role| seen.by(role).last().unwrap().0;
    assert!(last_ms(0) <= 1_000, "it renewed after its death");
    assert!(last_ms(1) > 5_000, "the other one goes on");
    // The third client that is created is the next incarnation of the first client, with a new clock.
    assert!(seen.by(2).len() > 30);
    let up = |incarnation| {
        let is_it = |what: &EventKind| matches!(what, EventKind::WorkerUp { worker: 0, incarnation: it } if *it == incarnation);
        let mut events = seen.history.events.iter();
        events.find(|event| is_it(&event.what)).unwrap().at_ns
    };
    assert_eq!(up(0), 0);
    assert!((2_000_000_000..2_010_000_000).contains(&up(1)));
}

/// For a real process, the kernel also sends written data after the process has exited.
#[test]
fn last_command_of_a_killed_client_arrives() {
    let faults = "[[fault]]\nkind = \"hold\"\nat = \"0s\"\nfor = \"2s\"\ndirection = \"request\"\nworkers = [0]\n\
                  [[fault]]\nkind = \"crash-client\"\nat = \"1s\"\nworkers = [0]";
    let seen = play(1, faults, |actor| async move {
        if actor.role == 0 {
            actor.at(900).await;
            actor.send("SET k v").await;
        } else {
            actor.at(1_500).await;
            actor.send("GET k").await;
            actor.at(2_500).await;
            actor.send("EXISTS k").await;
        }
    });
    assert!(seen.by(0).is_empty());
    seen.when(1, "GET k -> nil");
    seen.when(1, "EXISTS k -> 1");
}

/// Returns the tokens of all grants of a run in which each of three clients buys one unit.
fn tokens(seeds: &str) -> BTreeSet<String> {
    let text = format!(
        "name = \"seeds\"\nsummary = \"One unit each.\"\n[workload]\npurchases = 1\nseeds = \"{seeds}\"\n"
    );
    let scenario = Scenario::parse(&text, "seeds.toml").unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let history = run(simulation(scenario, &lock, 3)).unwrap();
    let events = history.history.events.into_iter();
    events
        .filter_map(|event| match event.what {
            EventKind::Granted { token, .. } => Some(token),
            _ => None,
        })
        .collect()
}

#[test]
fn workers_with_the_same_seed_use_the_same_token() {
    assert_eq!(tokens("same").len(), 1);
    assert_eq!(tokens("different").len(), 3);
}

/// Fifty clients run in two processes. One process is killed and restarts.
#[test]
fn killed_process_kills_each_of_its_clients_once() {
    let text = r#"
        name = "crowd-crash"
        summary = "One of two processes dies."
        [workload]
        workers = 50
        processes = 2
        stock = 100
        section = "5ms"
        limit = "2s"
        [[fault]]
        kind = "crash-client"
        at = "200ms"
        for = "300ms"
        workers = [1]
    "#;
    let scenario = Scenario::parse(text, "crowd-crash.toml").unwrap();
    let lock = LockFactory::built_in(find("set-nx-px").unwrap());
    let history = run(simulation(scenario, &lock, 1)).unwrap().history;
    let downs: Vec<usize> = (history.events.iter())
        .filter_map(|event| match event.what {
            EventKind::WorkerDown {
                worker,
                by_fault: true,
                ..
            } => Some(worker),
            _ => None,
        })
        .collect();
    assert_eq!(downs, (1..50).step_by(2).collect::<Vec<_>>());
    let ups = (history.events.iter())
        .filter(|event| matches!(event.what, EventKind::WorkerUp { incarnation: 1, .. }));
    assert_eq!(ups.count(), 25);
}
