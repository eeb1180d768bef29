//! Faults of nodes: pauses, crashes, and restarts with persisted data.

use picklock_harness::history::EventKind;

use super::actor::{Actor, play, play_in};

#[test]
fn paused_node_replies_after_the_pause() {
    let pause = "[[fault]]\nkind = \"pause-node\"\nat = \"500ms\"\nfor = \"300ms\"\nnodes = [0]";
    let seen = play(1, pause, |actor| async move {
        actor.at(600).await;
        actor.send("INCR n").await;
    });
    let mut answers = [seen.by(0), seen.by(1)].concat();
    answers.sort_by(|one, other| one.1.cmp(&other.1));
    assert_eq!(answers[0].1, "INCR n -> 1");
    assert_eq!(answers[1].1, "INCR n -> 2");
    assert!(answers.iter().all(|(at_ms, _)| (800..=802).contains(at_ms)));
}

/// The order of the two pauses does not matter.
#[test]
fn node_paused_twice_resumes_at_the_later_end() {
    for (first, second) in [("200ms", "300ms"), ("400ms", "100ms")] {
        let pauses = [("500ms", first), ("600ms", second)].map(|(at, lasts)| {
            format!(
                "[[fault]]\nkind = \"pause-node\"\nat = \"{at}\"\nfor = \"{lasts}\"\nnodes = [0]\n"
            )
        });
        let seen = play(1, &pauses.concat(), |actor| async move {
            actor.at(750).await;
            actor.send("PING").await;
        });
        let at_ms = seen.when(0, "PING -> PONG");
        assert!((900..=902).contains(&at_ms), "{first}, {second}: {at_ms}");
    }
}

/// Redis reads the data in a socket even if the client has closed the connection.
#[test]
fn paused_node_executes_abandoned_commands() {
    let pause = "[[fault]]\nkind = \"pause-node\"\nat = \"500ms\"\nfor = \"2s\"\nnodes = [0]";
    let seen = play(1, pause, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.send("SET k v").await;
        } else {
            actor.at(2_600).await;
            actor.send("GET k").await;
        }
    });
    assert_eq!(seen.when(0, "SET k v -> timed out"), 1_100);
    seen.when(1, "GET k -> v");
}

/// Writes one key long before the crash, and another shortly before it.
async fn write_early_and_late(actor: Actor) {
    if actor.role == 0 {
        actor.at(500).await;
        actor.send("SET early 1").await;
        let script = actor.send("SCRIPT LOAD return(1)").await;
        actor.send(&format!("EVALSHA {script} 0")).await;
        actor.at(2_020).await;
        actor.send("SET late 1").await;
        actor.at(2_200).await;
        // The client has not noticed that its connection was reset.
        actor.send("PING").await;
        actor.send("PING").await;
        actor.at(3_000).await;
        actor.send("EXISTS early").await;
        actor.send("EXISTS late").await;
        actor
            .send("EVALSHA 930269f31393d0be681588b6ab08dccee7d6bb67 0")
            .await;
    }
}

#[test]
fn crashed_node_restarts_with_its_persisted_data() {
    let cases = [
        ("none", 0, 0),
        // Redis's default snapshots are minutes apart.
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

/// Data that was not durable at the crash does not become durable afterwards.
#[test]
fn dead_node_cannot_be_killed_or_paused() {
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
fn connections_are_reset_with_their_node() {
    let crash = "[[fault]]\nkind = \"crash-node\"\nat = \"300ms\"\nfor = \"100ms\"\nnodes = [0]";
    let seen = play(1, crash, |actor| async move {
        actor.at(100).await;
        actor.send("BLPOP nothing 0").await;
        actor.send("PING").await;
        actor.at(500).await;
        actor.send("ECHO back").await;
    });
    for role in [0, 1] {
        assert_eq!(seen.when(role, "BLPOP nothing 0 -> reset"), 300);
        seen.when(role, "PING -> refused");
        assert!(seen.when(role, "ECHO back -> back") < 505);
    }
}

/// The node restarts after the end of every lease, so the persisted lease has expired.
#[test]
fn lease_expires_before_a_late_restart() {
    let rest = "[topology]\npersistence = \"aof-always\"\n\
                [workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"500ms\"\n\
                [[fault]]\nkind = \"crash-node\"\nat = \"300ms\"\nfor = \"2ttl\"\nnodes = [0]";
    let seen = play_in(1, rest, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            actor.send("SET lease mine PX 1000").await;
            actor.send("SET kept mine").await;
            actor.at(2_200).await;
            actor.send("PING").await;
            actor.send("ECHO dead").await;
            actor.at(2_400).await;
            actor.send("GET kept").await;
            actor.send("GET lease").await;
        }
    });
    seen.when(0, "ECHO dead -> refused");
    seen.when(0, "GET kept -> mine");
    seen.when(0, "GET lease -> nil");
}

/// The replica has the early write, and it has the late write only if the link was intact.
#[test]
fn failover_keeps_what_the_replica_received() {
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
                actor.send("SET early there").await;
                actor.at(300).await;
                actor.send("SET late there").await;
                actor.at(500).await;
                actor.send("PING").await;
                actor.send("GET early").await;
                actor.send("GET late").await;
            }
        });
        seen.when(0, "GET early -> there");
        seen.when(0, &format!("GET late -> {late}"));
    }
}
