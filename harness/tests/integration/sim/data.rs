//! Faults of a node's data and resources: lost keys and scripts, exhausted memory and connections.

use picklock_harness::check::{Cause, Property};
use picklock_harness::history::EventKind;
use picklock_harness::sim::LockFactory;
use picklock_harness::{Outcome, Trial};
use picklock_impls::find;

use super::actor::{Actor, Seen, play, play_in};

const SCRIPT: &str = "EVALSHA 930269f31393d0be681588b6ab08dccee7d6bb67 0";

fn missed(seen: &Seen, why: &str) -> bool {
    seen.history.events.iter().any(
        |event| matches!(&event.what, EventKind::FaultMissed { reason, .. } if reason.contains(why)),
    )
}

/// Writes the lock keys and another one before the fault, and reads them after it.
async fn own_three_keys(actor: Actor) {
    if actor.role == 0 {
        actor.at(100).await;
        for key in ["picklock:stock:0000", "picklock:stock:0001", "other"] {
            actor.send(&format!("SET {key} mine")).await;
        }
        actor.send("SCRIPT LOAD return(1)").await;
        actor.at(400).await;
        for key in ["picklock:stock:0000", "picklock:stock:0001", "other"] {
            actor.send(&format!("GET {key}")).await;
        }
        actor.send(SCRIPT).await;
    }
}

fn play_with_fault(fault: &str) -> Seen {
    let rest = format!(
        "[workload]\nworkers = 2\nkeys = 2\nlimit = \"3s\"\ncommand_timeout = \"500ms\"\n\
         [[fault]]\nat = \"300ms\"\nnodes = [0]\n{fault}"
    );
    play_in(1, &rest, own_three_keys)
}

#[test]
fn eviction_removes_only_lock_keys() {
    let seen = play_with_fault("kind = \"evict\"");
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET picklock:stock:0001 -> nil");
    seen.when(0, "GET other -> mine");
    seen.when(0, &format!("{SCRIPT} -> 1"));
}

#[test]
fn eviction_can_be_limited_to_one_lock() {
    let seen = play_with_fault("kind = \"evict\"\nkeys = [1]");
    seen.when(0, "GET picklock:stock:0000 -> mine");
    seen.when(0, "GET picklock:stock:0001 -> nil");
}

#[test]
fn eviction_without_keys_misses() {
    let evict = "[[fault]]\nkind = \"evict\"\nat = \"100ms\"\nnodes = \"all\"";
    let seen = play(2, evict, |actor| async move {
        actor.at(50).await;
        actor.send("SET other mine").await;
    });
    assert!(missed(&seen, "no key to evict"));
    let seen = play(2, evict, |actor| async move {
        actor.at(50).await;
        actor.send_to_node(1, "SET picklock:stock:0000 mine").await;
    });
    assert!(!missed(&seen, ""), "one of the two nodes had the key");
}

#[test]
fn cut_without_an_open_connection_misses() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"100ms\"\nworkers = \"all\"";
    for (sends_at_ms, missed_it) in [(50, false), (150, true)] {
        let seen = play(1, cut, move |actor| async move {
            actor.at(sends_at_ms).await;
            actor.send("GET key").await;
            // Keeps the connection open.
            actor.at(200).await;
        });
        assert_eq!(missed(&seen, "none of the connections was open"), missed_it);
    }
}

#[test]
fn flush_all_removes_keys_and_keeps_scripts() {
    let seen = play_with_fault("kind = \"flush-all\"");
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET other -> nil");
    seen.when(0, &format!("{SCRIPT} -> 1"));
}

#[test]
fn flush_scripts_removes_scripts_and_keeps_keys() {
    let seen = play_with_fault("kind = \"flush-scripts\"");
    seen.when(0, "GET picklock:stock:0000 -> mine");
    let (_, script) = seen.by(0).pop().unwrap();
    assert!(script.contains("No matching script"), "{script}");
}

/// As in Redis 7.0.15, commands that need no memory still work.
#[test]
fn exhausted_memory_only_refuses_writes() {
    let exhaust = "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"300ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, exhaust, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.send("SET k v").await;
            actor.at(400).await;
            actor.send("SET new v").await;
            actor.send("GET k").await;
            actor.send("PEXPIRE k 60000").await;
            actor.transact(&["SET new v"]).await;
            actor
                .send("EVAL return(redis.call('set',KEYS[1],1)) 1 new")
                .await;
            actor.send("DEL k").await;
            actor.at(700).await;
            actor.send("SET again v").await;
        }
    });
    let line = |words: &str| {
        let own = seen.by(0);
        let found = own.iter().find(|(_, line)| line.starts_with(words));
        found
            .unwrap_or_else(|| panic!("{words}: {own:#?}"))
            .1
            .clone()
    };
    for refused in ["SET new", "EVAL"] {
        assert!(line(refused).contains("OOM"), "{}", line(refused));
    }
    let aborted = line("transaction");
    assert!(aborted.contains("discarded"), "{aborted}");
    seen.when(0, "GET k -> v");
    seen.when(0, "PEXPIRE k 60000 -> 1");
    seen.when(0, "DEL k -> 1");
    seen.when(0, "SET again v -> OK");
}

#[test]
fn exhausted_connections_only_refuse_new_clients() {
    let exhaust = "[[fault]]\nkind = \"exhaust\"\nwhat = \"connections\"\nat = \"300ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, exhaust, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.send("PING").await;
            actor.at(400).await;
            actor.send("ECHO old").await;
        } else {
            actor.at(400).await;
            actor.send("ECHO new").await;
            actor.at(700).await;
            actor.send("ECHO later").await;
        }
    });
    seen.when(0, "ECHO old -> old");
    assert!(seen.when(1, "ECHO new -> reset") < 410);
    seen.when(1, "ECHO later -> later");
}

/// A restart reads the settings from the command line again.
#[test]
fn restart_ends_exhaustion() {
    let faults = "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"100ms\"\nnodes = [0]\n\
                  [[fault]]\nkind = \"crash-node\"\nat = \"200ms\"\nfor = \"100ms\"\nnodes = [0]";
    let seen = play(1, faults, |actor| async move {
        if actor.role == 0 {
            actor.at(150).await;
            actor.send("SET early v").await;
            actor.at(400).await;
            actor.send("PING").await;
            actor.send("SET late v").await;
        }
    });
    let (_, early) = seen.by(0).remove(0);
    assert!(early.contains("OOM"), "{early}");
    seen.when(0, "SET late v -> OK");
}

/// Two faults are active at the same time. The end of one fault does not end the other.
#[test]
fn exhaustion_lasts_until_its_last_fault_ends() {
    let memory = |at: u32, lasts: u32| {
        format!(
            "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"{at}ms\"\nfor = \"{lasts}ms\"\nnodes = [0]\n"
        )
    };
    let faults = memory(100, 200) + &memory(200, 300);
    let seen = play(1, &faults, |actor| async move {
        if actor.role == 0 {
            actor.at(400).await;
            actor.send("SET early v").await;
            actor.at(600).await;
            actor.send("SET late v").await;
        }
    });
    let (_, early) = seen.by(0).remove(0);
    assert!(early.contains("OOM"), "{early}");
    seen.when(0, "SET late v -> OK");
}

#[test]
fn data_faults_miss_a_dead_or_paused_node() {
    for trouble in ["pause-node", "crash-node"] {
        let faults = format!(
            "[[fault]]\nkind = \"{trouble}\"\nat = \"100ms\"\nfor = \"2s\"\nnodes = [0]\n\
             [[fault]]\nkind = \"flush-all\"\nat = \"200ms\"\nnodes = [0]"
        );
        let seen = play(1, &faults, |_| async {});
        assert!(missed(&seen, "node 0"), "{trouble}");
    }
}

/// A key that is deleted on the master is also deleted on its replica.
#[test]
fn eviction_reaches_the_replica() {
    let rest = "[topology]\nreplicas = 1\n\
                [workload]\nworkers = 2\nlimit = \"3s\"\ncommand_timeout = \"500ms\"\n\
                [[fault]]\nkind = \"evict\"\nat = \"300ms\"\nnodes = [0]\n\
                [[fault]]\nkind = \"failover\"\nat = \"400ms\"\nnodes = [0]";
    let seen = play_in(1, rest, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.send("SET picklock:stock:0000 mine").await;
            actor.send("SET other mine").await;
            actor.at(500).await;
            actor.send("PING").await;
            actor.send("GET picklock:stock:0000").await;
            actor.send("GET other").await;
        }
    });
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET other -> mine");
}

/// Runs a lock with one fault, which fires when the holder has read a stock of two units.
fn run_with_fault(fault: &str, lock: &str) -> Outcome {
    let text = format!(
        "name = \"data-fault\"\nsummary = \"A test's own.\"\n\
         [workload]\nstock = 4\nsection = \"0.4ttl\"\n\
         [[fault]]\nwhen = {{ on = \"stock-read\", stock = 2 }}\nnodes = \"all\"\n{fault}"
    );
    let lock = LockFactory::built_in(find(lock).unwrap());
    let trial = Trial::from_toml(&text).unwrap().seeds(0..5);
    trial.run_lock(&lock).unwrap()
}

#[test]
fn loss_of_the_key_is_an_eviction() {
    for lock in ["set-nx-px", "redlock"] {
        for fault in ["kind = \"evict\"", "kind = \"flush-all\""] {
            let outcome = run_with_fault(fault, lock);
            outcome.assert_violated(Property::Lease, Cause::Evicted);
            outcome.assert_violated(Property::Exclusion, Cause::Evicted);
        }
    }
}

#[test]
fn faults_that_remove_no_key_break_no_lock() {
    let exhaust = |what: &str| format!("kind = \"exhaust\"\nwhat = \"{what}\"\nfor = \"0.5ttl\"");
    let faults = [
        "kind = \"flush-scripts\"".to_owned(),
        exhaust("memory"),
        exhaust("connections"),
    ];
    for lock in ["set-nx-px", "redlock", "setnx-expire"] {
        for fault in &faults {
            let outcome = run_with_fault(fault, lock);
            for property in [Property::Exclusion, Property::Lease, Property::Ownership] {
                outcome.assert_held(property);
            }
        }
    }
}
