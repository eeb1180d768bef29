//! Faults of links: delayed, dropped and held frames, cuts, and partitions.

use super::actor::{Actor, play};

#[test]
fn delays_of_messages_do_not_add_up() {
    let delay = "[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"200ms\"\ndirection = \"request\"";
    let seen = play(1, delay, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            let commands = ["SET a 1", "SET b 2", "SET c 3"].map(|words| actor.send(words));
            futures_util::future::join_all(commands).await;
        }
    });
    for words in ["SET a 1", "SET b 2", "SET c 3"] {
        let at_ms = seen.when(0, &format!("{words} -> OK"));
        assert!((300..=302).contains(&at_ms), "{words}: {at_ms}");
    }
}

#[test]
fn jitter_keeps_the_order_on_a_connection() {
    let delay = "[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"1ms\"\njitter = \"100ms\"";
    let seen = play(1, delay, |actor| async move {
        if actor.role == 0 {
            let commands: Vec<_> = (1..=20).map(|n| format!("RPUSH q {n}")).collect();
            let commands = commands.iter().map(|words| actor.send(words));
            futures_util::future::join_all(commands).await;
        }
    });
    let lengths: Vec<String> = seen.by(0).into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> = (1..=20).map(|n| format!("RPUSH q {n} -> {n}")).collect();
    assert_eq!(lengths, expected);
    assert!(seen.by(0).last().unwrap().0 > 20, "there was jitter at all");
}

/// Sets a key, gives up, and checks whether the key exists.
async fn set_and_get(actor: Actor) {
    if actor.role == 0 {
        actor.at(100).await;
        actor.send("SET k v").await;
        actor.send("GET k").await;
    }
}

#[test]
fn dropped_request_is_not_executed() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"request\", command = \"set\" }\nframes = 1";
    let seen = play(1, drop, set_and_get);
    assert_eq!(seen.when(0, "SET k v -> timed out"), 600);
    seen.when(0, "GET k -> nil");
}

#[test]
fn command_with_a_dropped_reply_is_executed() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"reply\", command = \"SET\" }\nframes = 1";
    let seen = play(1, drop, set_and_get);
    assert_eq!(seen.when(0, "SET k v -> timed out"), 600);
    seen.when(0, "GET k -> v");
}

/// Replies have no numbers: another user of the connection would take the next reply for the missing one.
#[test]
fn reply_after_a_dropped_one_resets_the_connection() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"reply\", command = \"SET\" }\nframes = 1";
    let seen = play(1, drop, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            futures_util::future::join(actor.send("SET k v"), actor.send("GET k")).await;
        }
    });
    assert!(seen.when(0, "SET k v -> reset") < 105);
    assert!(seen.when(0, "GET k -> reset") < 105);
}

#[test]
fn end_of_a_drop_resets_the_affected_connections() {
    let drop = "[[fault]]\nkind = \"drop\"\nat = \"50ms\"\nfor = \"200ms\"\nworkers = [0]";
    let seen = play(1, drop, |actor| async move {
        actor.at(100).await;
        actor.send("SET k v").await;
        actor.send("GET k").await;
    });
    assert_eq!(seen.when(0, "SET k v -> reset"), 250);
    assert!(seen.when(0, "GET k -> v") < 255, "client 1 has set it");
    assert!(seen.when(1, "SET k v -> OK") < 105);
}

#[test]
fn answered_command_is_not_executed() {
    let answer =
        "[[fault]]\nkind = \"answer\"\nerror = \"READONLY\"\nat = \"50ms\"\nfor = \"200ms\"";
    let seen = play(1, answer, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            let commands = ["SET k v", "GET k", "MULTI", "SET k w", "EXEC"];
            futures_util::future::join_all(commands.map(|words| actor.send(words))).await;
            actor.at(300).await;
            actor.send("SET k v").await;
        }
    });
    let texts: Vec<String> = seen.by(0).into_iter().map(|(_, text)| text).collect();
    let refused = "ReadOnly: You can't write against a read only replica.";
    assert_eq!(texts[0], format!("SET k v -> {refused}"));
    assert_eq!(texts[1..3], ["GET k -> nil", "MULTI -> OK"]);
    assert_eq!(texts[3], format!("SET k w -> {refused}"));
    assert!(texts[4].contains("Transaction discarded"), "{}", texts[4]);
    assert_eq!(texts[5], "SET k v -> OK");
}

#[test]
fn command_with_a_false_answer_is_executed() {
    let answer = "[[fault]]\nkind = \"false-answer\"\nerror = \"LOADING\"\nframes = 1\nwhen = { on = \"reply\", command = \"SET\" }";
    let seen = play(1, answer, set_and_get);
    seen.when(
        0,
        "SET k v -> BusyLoading: Redis is loading the dataset in memory",
    );
    seen.when(0, "GET k -> v");
}

#[test]
fn held_frames_arrive_when_the_fault_ends() {
    let hold = "[[fault]]\nkind = \"hold\"\nat = \"500ms\"\nfor = \"300ms\"";
    let seen = play(1, hold, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.send("SET k v").await;
        }
    });
    assert!((800..=802).contains(&seen.when(0, "SET k v -> OK")));
}

/// The client that sent the command had already given up and closed its connection.
#[test]
fn held_command_arrives_after_its_client_gave_up() {
    let hold = "[[fault]]\nkind = \"hold\"\nat = \"500ms\"\nfor = \"2s\"\nworkers = [0]\ndirection = \"request\"";
    let seen = play(1, hold, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.send("SET k v").await;
        } else {
            actor.at(2_400).await;
            actor.send("GET k").await;
            actor.at(2_600).await;
            actor.send("GET k").await;
        }
    });
    assert_eq!(seen.when(0, "SET k v -> timed out"), 1_100);
    seen.when(1, "GET k -> nil");
    seen.when(1, "GET k -> v");
}

#[test]
fn cut_resets_only_the_selected_connections() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"300ms\"\nworkers = [0]";
    let seen = play(1, cut, |actor| async move {
        actor.at(100).await;
        actor.send("BLPOP nothing 0").await;
        actor.send("PING").await;
    });
    assert_eq!(seen.when(0, "BLPOP nothing 0 -> reset"), 300);
    assert!(seen.when(0, "PING -> PONG") < 305);
    // The fault does not affect the other client's connection.
    assert_eq!(seen.when(1, "BLPOP nothing 0 -> timed out"), 600);
}

async fn across_a_partition(actor: Actor) {
    if actor.role == 0 {
        actor.send("PING").await;
        actor.at(600).await;
        actor.send("SET k v").await;
    } else {
        actor.at(700).await;
        actor.send("GET k").await;
    }
}

fn partition(direction: &str) -> String {
    format!(
        "[[fault]]\nkind = \"partition\"\nat = \"500ms\"\nfor = \"400ms\"\nworkers = [0]\n{direction}"
    )
}

#[test]
fn request_partition_holds_the_command() {
    let seen = play(1, &partition("direction = \"request\""), across_a_partition);
    seen.when(1, "GET k -> nil");
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn reply_partition_lets_the_command_through() {
    let seen = play(1, &partition("direction = \"reply\""), across_a_partition);
    seen.when(1, "GET k -> v");
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn no_connection_opens_through_a_partition() {
    for direction in ["", "direction = \"reply\"", "direction = \"request\""] {
        let seen = play(1, &partition(direction), |actor| async move {
            if actor.role == 0 {
                actor.at(600).await;
                actor.send("SET k v").await;
            } else {
                actor.at(700).await;
                actor.send("GET k").await;
            }
        });
        seen.when(1, "GET k -> nil");
        assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
    }
}

/// A delayed message does not pass through a partition that begins during the delay.
#[test]
fn partition_stops_delayed_messages() {
    let faults = format!(
        "{}\n[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"200ms\"\ndirection = \"request\"\nworkers = [0]",
        partition("")
    );
    let seen = play(1, &faults, |actor| async move {
        if actor.role == 0 {
            actor.at(450).await;
            actor.send("SET k v").await;
        } else {
            actor.at(800).await;
            actor.send("GET k").await;
        }
    });
    seen.when(1, "GET k -> nil");
    // The delay ends long before the partition does.
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn only_the_selected_links_are_affected() {
    let faults = "[[fault]]\nkind = \"drop\"\nat = \"0s\"\nworkers = [0]\nnodes = [1]";
    let seen = play(2, faults, |actor| async move {
        actor.send_to_node(0, "PING").await;
        actor.send_to_node(1, "PING").await;
    });
    let answers = |role| {
        let texts = seen.by(role).into_iter().map(|(_, text)| text);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(answers(0), ["PING -> PONG", "PING -> timed out"]);
    assert_eq!(answers(1), ["PING -> PONG", "PING -> PONG"]);
}

/// A client notices the reset of an idle connection only when it uses the connection.
#[test]
fn first_command_after_a_cut_fails() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"300ms\"";
    let seen = play(1, cut, |actor| async move {
        if actor.role == 0 {
            actor.send("PING").await;
            actor.at(500).await;
            actor.send("SET k v").await;
            actor.send("EXISTS k").await;
        }
    });
    assert!(seen.when(0, "SET k v -> reset") < 503);
    seen.when(0, "EXISTS k -> 0");
}

/// Runs a lock. The command with which client 0 takes the lock is executed, but answered with an error.
fn run_with_false_answer(lock: &str) -> picklock_harness::trial::Outcome {
    let text = "name = \"lied-to\"\nsummary = \"The lock is taken, and refused in words.\"\n\
        [workload]\nstock = 6\n[[fault]]\nkind = \"false-answer\"\nerror = \"READONLY\"\n\
        when = { on = \"reply\", worker = 0, takes = true }\nworkers = \"same\"\nframes = 1\n";
    let lock = picklock_harness::sim::LockFactory::built_in(picklock_impls::find(lock).unwrap());
    let trial = picklock_harness::Trial::from_toml(text).unwrap();
    trial.seeds(0..5).run_lock(&lock).unwrap()
}

/// The lock reported that nothing had happened, because its server had reported that.
#[test]
fn lock_is_not_accused_of_repeating_a_false_answer() {
    run_with_false_answer("set-nx-px").assert_held(picklock_harness::check::Property::Claims);
}

/// The lock's reports of its other attempts are untrue without a false answer.
#[test]
fn lock_with_untrue_reports_of_its_own_is_accused() {
    let outcome = run_with_false_answer("encoded-release");
    let (claims, cause) = (
        picklock_harness::check::Property::Claims,
        picklock_harness::check::Cause::FalseRelease,
    );
    outcome.assert_violated(claims, cause);
}
