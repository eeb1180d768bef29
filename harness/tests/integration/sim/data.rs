//! Faults of a node's data and means: keys and scripts lost, memory and connections used up.

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

/// Writes the locks' keys and another one before the strike, and looks at them after it.
async fn own_three_keys(actor: Actor) {
    if actor.role == 0 {
        actor.at(100).await;
        for key in ["picklock:stock:0000", "picklock:stock:0001", "other"] {
            actor.ask(&format!("SET {key} mine")).await;
        }
        actor.ask("SCRIPT LOAD return(1)").await;
        actor.at(400).await;
        for key in ["picklock:stock:0000", "picklock:stock:0001", "other"] {
            actor.ask(&format!("GET {key}")).await;
        }
        actor.ask(SCRIPT).await;
    }
}

fn strike(fault: &str) -> Seen {
    let rest = format!(
        "[workload]\nworkers = 2\nkeys = 2\nlimit = \"3s\"\ncommand_timeout = \"500ms\"\n\
         [[fault]]\nat = \"300ms\"\nnodes = [0]\n{fault}"
    );
    play_in(1, &rest, own_three_keys)
}

#[test]
fn an_eviction_takes_the_keys_of_locks_and_nothing_else() {
    let seen = strike("kind = \"evict\"");
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET picklock:stock:0001 -> nil");
    seen.when(0, "GET other -> mine");
    seen.when(0, &format!("{SCRIPT} -> 1"));
}

#[test]
fn an_eviction_may_be_of_one_lock() {
    let seen = strike("kind = \"evict\"\nkeys = [1]");
    seen.when(0, "GET picklock:stock:0000 -> mine");
    seen.when(0, "GET picklock:stock:0001 -> nil");
}

#[test]
fn an_eviction_that_finds_nothing_never_struck() {
    let evict = "[[fault]]\nkind = \"evict\"\nat = \"100ms\"\nnodes = \"all\"";
    let seen = play(2, evict, |actor| async move {
        actor.at(50).await;
        actor.ask("SET other mine").await;
    });
    assert!(missed(&seen, "no key to evict"));
    let seen = play(2, evict, |actor| async move {
        actor.at(50).await;
        actor.ask_node(1, "SET picklock:stock:0000 mine").await;
    });
    assert!(!missed(&seen, ""), "one node of two had it");
}

#[test]
fn a_cut_misses_where_no_connection_is_open() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"100ms\"\nworkers = \"all\"";
    for (asks_at_ms, missed_it) in [(50, false), (150, true)] {
        let seen = play(1, cut, move |actor| async move {
            actor.at(asks_at_ms).await;
            actor.ask("GET key").await;
            // Its connection is open until it ends.
            actor.at(200).await;
        });
        assert_eq!(
            missed(&seen, "none of these connections was open"),
            missed_it
        );
    }
}

#[test]
fn flush_all_takes_every_key_and_leaves_the_scripts() {
    let seen = strike("kind = \"flush-all\"");
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET other -> nil");
    seen.when(0, &format!("{SCRIPT} -> 1"));
}

#[test]
fn flush_scripts_takes_the_scripts_and_leaves_the_keys() {
    let seen = strike("kind = \"flush-scripts\"");
    seen.when(0, "GET picklock:stock:0000 -> mine");
    let (_, script) = seen.by(0).pop().unwrap();
    assert!(script.contains("No matching script"), "{script}");
}

/// As Redis 7.0.15 does it: what needs no memory goes on.
#[test]
fn without_memory_writes_are_refused_and_the_rest_goes_on() {
    let exhaust = "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"300ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, exhaust, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.ask("SET k v").await;
            actor.at(400).await;
            actor.ask("SET new v").await;
            actor.ask("GET k").await;
            actor.ask("PEXPIRE k 60000").await;
            actor.transact(&["SET new v"]).await;
            actor
                .ask("EVAL return(redis.call('set',KEYS[1],1)) 1 new")
                .await;
            actor.ask("DEL k").await;
            actor.at(700).await;
            actor.ask("SET again v").await;
        }
    });
    let told = |words: &str| {
        let own = seen.by(0);
        let found = own.iter().find(|(_, line)| line.starts_with(words));
        found
            .unwrap_or_else(|| panic!("{words}: {own:#?}"))
            .1
            .clone()
    };
    for refused in ["SET new", "EVAL"] {
        assert!(told(refused).contains("OOM"), "{}", told(refused));
    }
    let aborted = told("transaction");
    assert!(aborted.contains("discarded"), "{aborted}");
    seen.when(0, "GET k -> v");
    seen.when(0, "PEXPIRE k 60000 -> 1");
    seen.when(0, "DEL k -> 1");
    seen.when(0, "SET again v -> OK");
}

#[test]
fn without_connections_the_old_ones_stay_and_new_ones_are_turned_away() {
    let exhaust = "[[fault]]\nkind = \"exhaust\"\nwhat = \"connections\"\nat = \"300ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, exhaust, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.ask("PING").await;
            actor.at(400).await;
            actor.ask("ECHO old").await;
        } else {
            actor.at(400).await;
            actor.ask("ECHO new").await;
            actor.at(700).await;
            actor.ask("ECHO later").await;
        }
    });
    seen.when(0, "ECHO old -> old");
    assert!(seen.when(1, "ECHO new -> reset") < 410);
    seen.when(1, "ECHO later -> later");
}

/// Its settings are those of its command line again.
#[test]
fn a_restarted_node_lacks_nothing() {
    let faults = "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"100ms\"\nnodes = [0]\n\
                  [[fault]]\nkind = \"crash-node\"\nat = \"200ms\"\nfor = \"100ms\"\nnodes = [0]";
    let seen = play(1, faults, |actor| async move {
        if actor.role == 0 {
            actor.at(150).await;
            actor.ask("SET early v").await;
            actor.at(400).await;
            actor.ask("PING").await;
            actor.ask("SET late v").await;
        }
    });
    let (_, early) = seen.by(0).remove(0);
    assert!(early.contains("OOM"), "{early}");
    seen.when(0, "SET late v -> OK");
}

/// Two at a time: what one takes the other does not give back.
#[test]
fn a_shortage_lasts_until_its_last_fault_is_over() {
    let memory = |at: u32, lasts: u32| {
        format!(
            "[[fault]]\nkind = \"exhaust\"\nwhat = \"memory\"\nat = \"{at}ms\"\nfor = \"{lasts}ms\"\nnodes = [0]\n"
        )
    };
    let faults = memory(100, 200) + &memory(200, 300);
    let seen = play(1, &faults, |actor| async move {
        if actor.role == 0 {
            actor.at(400).await;
            actor.ask("SET early v").await;
            actor.at(600).await;
            actor.ask("SET late v").await;
        }
    });
    let (_, early) = seen.by(0).remove(0);
    assert!(early.contains("OOM"), "{early}");
    seen.when(0, "SET late v -> OK");
}

#[test]
fn a_dead_or_frozen_node_cannot_be_tampered_with() {
    for trouble in ["pause-node", "crash-node"] {
        let faults = format!(
            "[[fault]]\nkind = \"{trouble}\"\nat = \"100ms\"\nfor = \"2s\"\nnodes = [0]\n\
             [[fault]]\nkind = \"flush-all\"\nat = \"200ms\"\nnodes = [0]"
        );
        let seen = play(1, &faults, |_| async {});
        assert!(missed(&seen, "node 0"), "{trouble}");
    }
}

/// What is deleted on the master is deleted on its replica.
#[test]
fn an_eviction_reaches_the_replica() {
    let rest = "[topology]\nreplicas = 1\n\
                [workload]\nworkers = 2\nlimit = \"3s\"\ncommand_timeout = \"500ms\"\n\
                [[fault]]\nkind = \"evict\"\nat = \"300ms\"\nnodes = [0]\n\
                [[fault]]\nkind = \"failover\"\nat = \"400ms\"\nnodes = [0]";
    let seen = play_in(1, rest, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.ask("SET picklock:stock:0000 mine").await;
            actor.ask("SET other mine").await;
            actor.at(500).await;
            actor.ask("PING").await;
            actor.ask("GET picklock:stock:0000").await;
            actor.ask("GET other").await;
        }
    });
    seen.when(0, "GET picklock:stock:0000 -> nil");
    seen.when(0, "GET other -> mine");
}

/// One fault as the holder has read the last but one unit, under these locks.
fn under(fault: &str, lock: &str) -> Outcome {
    let text = format!(
        "name = \"struck\"\nsummary = \"A test's own.\"\n\
         [workload]\nstock = 4\nsection = \"0.4ttl\"\n\
         [[fault]]\nwhen = {{ on = \"stock-read\", stock = 2 }}\nnodes = \"all\"\n{fault}"
    );
    let lock = LockFactory::built_in(find(lock).unwrap());
    let trial = Trial::from_toml(&text).unwrap().seeds(0..5);
    trial.run_lock(&lock).unwrap()
}

#[test]
fn the_client_that_loses_the_key_is_evicted() {
    for lock in ["set-nx-px", "redlock"] {
        for fault in ["kind = \"evict\"", "kind = \"flush-all\""] {
            let outcome = under(fault, lock);
            outcome.assert_violated(Property::Lease, Cause::Evicted);
            outcome.assert_violated(Property::Exclusion, Cause::Evicted);
        }
    }
}

#[test]
fn what_takes_no_key_breaks_no_lock() {
    let shortage = |what: &str| format!("kind = \"exhaust\"\nwhat = \"{what}\"\nfor = \"0.5ttl\"");
    let faults = [
        "kind = \"flush-scripts\"".to_owned(),
        shortage("memory"),
        shortage("connections"),
    ];
    for lock in ["set-nx-px", "redlock", "setnx-expire"] {
        for fault in &faults {
            let outcome = under(fault, lock);
            for property in [Property::Exclusion, Property::Lease, Property::Ownership] {
                outcome.assert_held(property);
            }
        }
    }
}
