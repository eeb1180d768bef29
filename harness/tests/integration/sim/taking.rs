//! Triggers for the command that takes the lock, whichever command that is.

use picklock_harness::history::{EventKind, KeyChange};
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::actor::{Actor, Seen, play};
use super::simulation;

/// Resets the connection at the reply to the command with which client 0 takes the lock.
const CUT: &str = "[[fault]]\nkind = \"cut\"\nwhen = { on = \"reply\", worker = 0, takes = true }";

/// Lets client 0 send these commands one after the other.
fn play_commands(commands: &'static [&'static str]) -> Seen {
    play(1, CUT, move |actor: Actor| async move {
        if actor.role == 0 {
            for command in commands {
                actor.send(command).await;
            }
        }
    })
}

#[test]
fn reading_the_key_does_not_take_the_lock() {
    let seen = play_commands(&[
        "GET picklock:stock:0000",
        "SET picklock:stock:0000 mine NX PX 1000",
        "GET picklock:stock:0000",
    ]);
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "SET picklock:stock:0000 mine NX PX 1000 -> reset");
    seen.when(0, "GET picklock:stock:0000 -> mine");
}

#[test]
fn command_that_finds_the_lock_taken_does_not_take_it() {
    let seen = play(1, CUT, |actor| async move {
        if actor.role == 1 {
            actor.send("SET picklock:stock:0000 theirs PX 100").await;
        }
        if actor.role == 0 {
            actor.at(10).await;
            actor.send("SETNX picklock:stock:0000 mine").await;
            actor.send("PEXPIRE picklock:stock:0000 100").await;
            actor.send("GETSET picklock:stock:0000 mine").await;
        }
    });
    seen.when(0, "SETNX picklock:stock:0000 mine -> 0");
    seen.when(0, "PEXPIRE picklock:stock:0000 100 -> 1");
    seen.when(0, "GETSET picklock:stock:0000 mine -> reset");
}

#[test]
fn key_with_a_prefix_belongs_to_the_lock() {
    let seen = play_commands(&[
        "SET other mine",
        "EVAL return(redis.call('get',KEYS[1])) 1 lock:picklock:stock:0000",
        "EVAL return(redis.call('set',KEYS[1],ARGV[1],'px',900)) 1 lock:picklock:stock:0000 me",
    ]);
    let resets: Vec<bool> = (seen.by(0).iter())
        .map(|(_, text)| text.ends_with("-> reset"))
        .collect();
    assert_eq!(resets, [false, false, true]);
}

#[test]
fn transaction_takes_the_lock_at_its_execution() {
    let seen = play(1, CUT, |actor| async move {
        if actor.role == 0 {
            actor.send("WATCH picklock:stock:0000").await;
            actor.transact(&["SETNX picklock:stock:0000 me"]).await;
            actor.send("GET picklock:stock:0000").await;
        }
    });
    seen.when(0, "WATCH picklock:stock:0000 -> OK");
    seen.when(0, "transaction -> reset");
    seen.when(0, "GET picklock:stock:0000 -> me");
}

/// The second client of `getset` finds an old value, reads it, and then takes over the lock.
#[test]
fn takeover_triggers_at_its_second_step() {
    let scenario = r#"
name = "takeover"
summary = "The holder dies, and so does its successor when it takes over."
[workload]
workers = 2
start = "one-first"
[[fault]]
kind = "crash-client"
when = { on = "stock-read", worker = 0 }
[[fault]]
kind = "crash-client"
when = { on = "reply", worker = 1, takes = true }
[judge]
min_grants = 2
"#;
    let scenario = Scenario::parse(scenario, "takeover.toml").unwrap();
    let lock = LockFactory::built_in(find("getset").unwrap());
    let history = run(simulation(scenario, &lock, 1)).unwrap().history;
    let mut last = None;
    for event in &history.events {
        match &event.what {
            EventKind::KeyChanged {
                why: KeyChange::Command(command),
                ..
            } => last = Some((command.worker, command.command.to_string())),
            EventKind::FaultBegan { workers, .. } if *workers == [1] => {
                assert_eq!(last, Some((1, "GETSET".to_owned())));
                return;
            }
            _ => {}
        }
    }
    panic!("the second fault never fired: {:#?}", history.events);
}
