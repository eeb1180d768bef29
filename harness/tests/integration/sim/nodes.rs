//! Faults of nodes: frozen, killed, and back with what their disks kept.

use picklock_harness::history::EventKind;

use super::actor::{Actor, play, play_in};

#[test]
fn a_paused_node_answers_when_it_goes_on() {
    let pause = "[[fault]]\nkind = \"pause-node\"\nat = \"500ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, pause, |actor| async move {
        actor.at(600).await;
        actor.ask("INCR n").await;
    });
    let mut answers = [seen.by(0), seen.by(1)].concat();
    answers.sort_by(|one, other| one.1.cmp(&other.1));
    assert_eq!(answers[0].1, "INCR n -> 1");
    assert_eq!(answers[1].1, "INCR n -> 2");
    assert!(answers.iter().all(|(at_ms, _)| (800..=802).contains(at_ms)));
}

/// Whichever of the two pauses ends first.
#[test]
fn a_node_that_is_paused_twice_goes_on_with_the_later_end() {
    for (first, second) in [("200ms", "300ms"), ("400ms", "100ms")] {
        let pauses = [("500ms", first), ("600ms", second)].map(|(at, lasts)| {
            format!(
                "[[fault]]\nkind = \"pause-node\"\nat = \"{at}\"\nfor = \"{lasts}\"\nnodes = [0]\n"
            )
        });
        let seen = play(1, &pauses.concat(), |actor| async move {
            actor.at(750).await;
            actor.ask("PING").await;
        });
        let at_ms = seen.when(0, "PING -> PONG");
        assert!((900..=902).contains(&at_ms), "{first}, {second}: {at_ms}");
    }
}

/// Redis reads what lies in its sockets, closed or not.
#[test]
fn a_paused_node_carries_out_what_its_client_has_given_up() {
    let pause = "[[fault]]\nkind = \"pause-node\"\nat = \"500ms\"\nfor = \"2s\"\nnodes = [0]";
    let seen = play(1, pause, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.ask("SET k v").await;
        } else {
            actor.at(2_600).await;
            actor.ask("GET k").await;
        }
    });
    assert_eq!(seen.when(0, "SET k v -> timed out"), 1_100);
    seen.when(1, "GET k -> v");
}

/// One key long before the crash, one a moment before it.
async fn write_early_and_late(actor: Actor) {
    if actor.role == 0 {
        actor.at(500).await;
        actor.ask("SET early 1").await;
        let script = actor.ask("SCRIPT LOAD return(1)").await;
        actor.ask(&format!("EVALSHA {script} 0")).await;
        actor.at(2_020).await;
        actor.ask("SET late 1").await;
        actor.at(2_200).await;
        // It had not heard that its connection died.
        actor.ask("PING").await;
        actor.ask("PING").await;
        actor.at(3_000).await;
        actor.ask("EXISTS early").await;
        actor.ask("EXISTS late").await;
        actor
            .ask("EVALSHA 930269f31393d0be681588b6ab08dccee7d6bb67 0")
            .await;
    }
}

#[test]
fn a_crashed_node_comes_back_with_what_its_disk_kept() {
    let cases = [
        ("none", 0, 0),
        // Redis's own points for snapshots are minutes away.
        ("rdb", 0, 0),
        ("aof-everysec", 1, 0),
        ("aof-always", 1, 1),
    ];
    for (persistence, early, late) in cases {
        let rest = format!(
            "[topology]\npersistence = \"{persistence}\"\n\
             [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"500ms\"\n\
             [[fault]]\nkind = \"crash-node\"\nat = \"2050ms\"\nfor = \"500ms\"\nnodes = [0]"
        );
        let seen = play_in(1, &rest, write_early_and_late);
        let times = [
            seen.when(0, &format!("EXISTS early -> {early}")),
            seen.when(0, &format!("EXISTS late -> {late}")),
        ];
        assert!(times.iter().all(|at_ms| (3_000..3_010).contains(at_ms)));
        assert!(seen.when(0, "PING -> refused") < 2_205, "{persistence}");
        let (_, script) = seen.by(0).pop().unwrap();
        assert!(
            script.contains("No matching script"),
            "{persistence}: {script}"
        );
    }
}

/// What was not durable when it died does not become so while it is dead.
#[test]
fn a_dead_node_cannot_be_killed_again() {
    let rest = "[topology]\npersistence = \"aof-everysec\"\n\
                [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"500ms\"\n\
                [[fault]]\nkind = \"crash-node\"\nat = \"2050ms\"\nfor = \"800ms\"\nnodes = [0]\n\
                [[fault]]\nkind = \"crash-node\"\nat = \"2500ms\"\nfor = \"100ms\"\nnodes = [0]\n\
                [[fault]]\nkind = \"pause-node\"\nat = \"2500ms\"\nfor = \"5s\"\nnodes = [0]";
    let seen = play_in(1, rest, write_early_and_late);
    seen.when(0, "EXISTS early -> 1");
    seen.when(0, "EXISTS late -> 0");
    let missed = |fault: &str, why: &str| {
        seen.history.events.iter().any(|event| {
            matches!(&event.what, EventKind::FaultMissed { fault: it, reason, .. } if it == fault && reason.contains(why))
        })
    };
    assert!(missed("crash-node", "node 0 is down"));
    assert!(missed("pause-node", "node 0 is down"));
}

#[test]
fn connections_die_with_their_node() {
    let crash = "[[fault]]\nkind = \"crash-node\"\nat = \"300ms\"\nfor = \"100ms\"\nnodes = [0]";
    let seen = play(1, crash, |actor| async move {
        actor.at(100).await;
        actor.ask("BLPOP nothing 0").await;
        actor.ask("PING").await;
        actor.at(500).await;
        actor.ask("ECHO back").await;
    });
    for role in [0, 1] {
        assert_eq!(seen.when(role, "BLPOP nothing 0 -> reset"), 300);
        seen.when(role, "PING -> refused");
        assert!(seen.when(role, "ECHO back -> back") < 505);
    }
}

/// Longer than every lease: what was kept has run out by then.
#[test]
fn a_restart_may_come_after_every_lease() {
    let rest = "[topology]\npersistence = \"aof-always\"\n\
                [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"500ms\"\n\
                [[fault]]\nkind = \"crash-node\"\nat = \"300ms\"\nfor = \"2ttl\"\nnodes = [0]";
    let seen = play_in(1, rest, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.ask("SET lease mine PX 1000").await;
            actor.ask("SET kept mine").await;
            actor.at(2_200).await;
            actor.ask("PING").await;
            actor.ask("ECHO dead").await;
            actor.at(2_400).await;
            actor.ask("GET kept").await;
            actor.ask("GET lease").await;
        }
    });
    seen.when(0, "ECHO dead -> refused");
    seen.when(0, "GET kept -> mine");
    seen.when(0, "GET lease -> nil");
}

/// The replica has the early write, and the late one only if the link was whole.
#[test]
fn a_failover_leads_to_what_the_replica_got() {
    for (cut, late) in [("", "there"), ("cut-replication", "nil")] {
        let cut = match cut {
            "" => String::new(),
            kind => format!("[[fault]]\nkind = \"{kind}\"\nat = \"200ms\"\nnodes = [0]\n"),
        };
        let rest = format!(
            "[topology]\nreplicas = 1\n\
             [workload]\nworkers = 2\nlimit = \"3s\"\ncommand_timeout = \"500ms\"\n{cut}\
             [[fault]]\nkind = \"failover\"\nat = \"400ms\"\nnodes = [0]"
        );
        let seen = play_in(1, &rest, |actor| async move {
            if actor.role == 0 {
                actor.at(100).await;
                actor.ask("SET early there").await;
                actor.at(300).await;
                actor.ask("SET late there").await;
                actor.at(500).await;
                actor.ask("PING").await;
                actor.ask("GET early").await;
                actor.ask("GET late").await;
            }
        });
        seen.when(0, "GET early -> there");
        seen.when(0, &format!("GET late -> {late}"));
    }
}
