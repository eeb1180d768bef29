//! Faults of links: late, swallowed, kept back, cut, partitioned.

use super::actor::{Actor, play};

#[test]
fn a_delay_makes_each_message_late_and_does_not_add_up() {
    let delay = "[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"200ms\"\ndirection = \"request\"";
    let seen = play(1, delay, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            let asked = ["SET a 1", "SET b 2", "SET c 3"].map(|words| actor.ask(words));
            futures_util::future::join_all(asked).await;
        }
    });
    for words in ["SET a 1", "SET b 2", "SET c 3"] {
        let at_ms = seen.when(0, &format!("{words} -> OK"));
        assert!((300..=302).contains(&at_ms), "{words}: {at_ms}");
    }
}

#[test]
fn jitter_changes_no_order_on_a_connection() {
    let delay = "[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"1ms\"\njitter = \"100ms\"";
    let seen = play(1, delay, |actor| async move {
        if actor.role == 0 {
            let asked: Vec<_> = (1..=20).map(|n| format!("RPUSH q {n}")).collect();
            let asked = asked.iter().map(|words| actor.ask(words));
            futures_util::future::join_all(asked).await;
        }
    });
    let lengths: Vec<String> = seen.by(0).into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> = (1..=20).map(|n| format!("RPUSH q {n} -> {n}")).collect();
    assert_eq!(lengths, expected);
    assert!(seen.by(0).last().unwrap().0 > 20, "there was jitter at all");
}

/// Sets a key, gives up, and looks whether it is there.
async fn set_and_look(actor: Actor) {
    if actor.role == 0 {
        actor.at(100).await;
        actor.ask("SET k v").await;
        actor.ask("GET k").await;
    }
}

#[test]
fn a_swallowed_request_never_happened() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"request\", command = \"set\" }\nframes = 1";
    let seen = play(1, drop, set_and_look);
    assert_eq!(seen.when(0, "SET k v -> timed out"), 600);
    seen.when(0, "GET k -> nil");
}

#[test]
fn a_swallowed_reply_leaves_what_was_done() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"reply\", command = \"SET\" }\nframes = 1";
    let seen = play(1, drop, set_and_look);
    assert_eq!(seen.when(0, "SET k v -> timed out"), 600);
    seen.when(0, "GET k -> v");
}

/// The protocol has no numbers: who shares a connection would take the next reply for the one that is
/// missing.
#[test]
fn what_follows_a_swallowed_reply_resets_the_connection() {
    let drop =
        "[[fault]]\nkind = \"drop\"\nwhen = { on = \"reply\", command = \"SET\" }\nframes = 1";
    let seen = play(1, drop, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            futures_util::future::join(actor.ask("SET k v"), actor.ask("GET k")).await;
        }
    });
    assert!(seen.when(0, "SET k v -> reset") < 105);
    assert!(seen.when(0, "GET k -> reset") < 105);
}

#[test]
fn the_end_of_a_drop_resets_the_connections_in_which_something_is_missing() {
    let drop = "[[fault]]\nkind = \"drop\"\nat = \"50ms\"\nfor = \"200ms\"\nworkers = [0]";
    let seen = play(1, drop, |actor| async move {
        actor.at(100).await;
        actor.ask("SET k v").await;
        actor.ask("GET k").await;
    });
    assert_eq!(seen.when(0, "SET k v -> reset"), 250);
    assert!(seen.when(0, "GET k -> v") < 255, "worker 1 has set it");
    assert!(seen.when(1, "SET k v -> OK") < 105);
}

#[test]
fn an_answered_command_is_not_executed_and_fails_its_transaction() {
    let answer =
        "[[fault]]\nkind = \"answer\"\nerror = \"READONLY\"\nat = \"50ms\"\nfor = \"200ms\"";
    let seen = play(1, answer, |actor| async move {
        if actor.role == 0 {
            actor.at(100).await;
            let asked = ["SET k v", "GET k", "MULTI", "SET k w", "EXEC"];
            futures_util::future::join_all(asked.map(|words| actor.ask(words))).await;
            actor.at(300).await;
            actor.ask("SET k v").await;
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
fn a_command_that_is_answered_after_all_was_executed() {
    let answer = "[[fault]]\nkind = \"false-answer\"\nerror = \"LOADING\"\nframes = 1\nwhen = { on = \"reply\", command = \"SET\" }";
    let seen = play(1, answer, set_and_look);
    seen.when(
        0,
        "SET k v -> BusyLoading: Redis is loading the dataset in memory",
    );
    seen.when(0, "GET k -> v");
}

#[test]
fn what_is_held_comes_when_the_fault_ends() {
    let hold = "[[fault]]\nkind = \"hold\"\nat = \"500ms\"\nfor = \"300ms\"";
    let seen = play(1, hold, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.ask("SET k v").await;
        }
    });
    assert!((800..=802).contains(&seen.when(0, "SET k v -> OK")));
}

/// The client that sent it has given up long ago, and closed its connection.
#[test]
fn a_held_command_arrives_after_its_client_gave_up() {
    let hold = "[[fault]]\nkind = \"hold\"\nat = \"500ms\"\nfor = \"2s\"\nworkers = [0]\ndirection = \"request\"";
    let seen = play(1, hold, |actor| async move {
        if actor.role == 0 {
            actor.at(600).await;
            actor.ask("SET k v").await;
        } else {
            actor.at(2_400).await;
            actor.ask("GET k").await;
            actor.at(2_600).await;
            actor.ask("GET k").await;
        }
    });
    assert_eq!(seen.when(0, "SET k v -> timed out"), 1_100);
    seen.when(1, "GET k -> nil");
    seen.when(1, "GET k -> v");
}

#[test]
fn a_cut_resets_connections_and_the_next_command_opens_another() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"300ms\"\nworkers = [0]";
    let seen = play(1, cut, |actor| async move {
        actor.at(100).await;
        actor.ask("BLPOP nothing 0").await;
        actor.ask("PING").await;
    });
    assert_eq!(seen.when(0, "BLPOP nothing 0 -> reset"), 300);
    assert!(seen.when(0, "PING -> PONG") < 305);
    // The other client's connection was not meant.
    assert_eq!(seen.when(1, "BLPOP nothing 0 -> timed out"), 600);
}

async fn across_a_partition(actor: Actor) {
    if actor.role == 0 {
        actor.ask("PING").await;
        actor.at(600).await;
        actor.ask("SET k v").await;
    } else {
        actor.at(700).await;
        actor.ask("GET k").await;
    }
}

fn partition(direction: &str) -> String {
    format!(
        "[[fault]]\nkind = \"partition\"\nat = \"500ms\"\nfor = \"400ms\"\nworkers = [0]\n{direction}"
    )
}

#[test]
fn a_partition_of_requests_keeps_the_command_away_until_it_ends() {
    let seen = play(1, &partition("direction = \"request\""), across_a_partition);
    seen.when(1, "GET k -> nil");
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn a_partition_of_replies_lets_the_command_through() {
    let seen = play(1, &partition("direction = \"reply\""), across_a_partition);
    seen.when(1, "GET k -> v");
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn through_any_partition_no_new_connection_is_made() {
    for direction in ["", "direction = \"reply\"", "direction = \"request\""] {
        let seen = play(1, &partition(direction), |actor| async move {
            if actor.role == 0 {
                actor.at(600).await;
                actor.ask("SET k v").await;
            } else {
                actor.at(700).await;
                actor.ask("GET k").await;
            }
        });
        seen.when(1, "GET k -> nil");
        assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
    }
}

/// A message that is late already does not slip through a partition that begins meanwhile.
#[test]
fn a_partition_stops_what_is_late() {
    let faults = format!(
        "{}\n[[fault]]\nkind = \"delay\"\nat = \"0s\"\nby = \"200ms\"\ndirection = \"request\"\nworkers = [0]",
        partition("")
    );
    let seen = play(1, &faults, |actor| async move {
        if actor.role == 0 {
            actor.at(450).await;
            actor.ask("SET k v").await;
        } else {
            actor.at(800).await;
            actor.ask("GET k").await;
        }
    });
    seen.when(1, "GET k -> nil");
    // The delay has long run out when the partition ends.
    assert!((900..=902).contains(&seen.when(0, "SET k v -> OK")));
}

#[test]
fn only_the_links_that_are_named_are_struck() {
    let faults = "[[fault]]\nkind = \"drop\"\nat = \"0s\"\nworkers = [0]\nnodes = [1]";
    let seen = play(2, faults, |actor| async move {
        actor.ask_node(0, "PING").await;
        actor.ask_node(1, "PING").await;
    });
    let answers = |role| {
        let texts = seen.by(role).into_iter().map(|(_, text)| text);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(answers(0), ["PING -> PONG", "PING -> timed out"]);
    assert_eq!(answers(1), ["PING -> PONG", "PING -> PONG"]);
}

/// A client learns that an idle connection is gone when it uses it, and not before.
#[test]
fn the_first_command_after_a_cut_fails() {
    let cut = "[[fault]]\nkind = \"cut\"\nat = \"300ms\"";
    let seen = play(1, cut, |actor| async move {
        if actor.role == 0 {
            actor.ask("PING").await;
            actor.at(500).await;
            actor.ask("SET k v").await;
            actor.ask("EXISTS k").await;
        }
    });
    assert!(seen.when(0, "SET k v -> reset") < 503);
    seen.when(0, "EXISTS k -> 0");
}

/// A run in which the command with which worker 0 takes the lock is executed, and answered with a refusal.
fn lied_to(lock: &str) -> picklock_harness::trial::Outcome {
    let text = "name = \"lied-to\"\nsummary = \"The lock is taken, and refused in words.\"\n\
        [workload]\nstock = 6\n[[fault]]\nkind = \"false-answer\"\nerror = \"READONLY\"\n\
        when = { on = \"reply\", worker = 0, takes = true }\nworkers = \"same\"\nframes = 1\n";
    let lock = picklock_harness::sim::LockFactory::built_in(picklock_impls::find(lock).unwrap());
    let trial = picklock_harness::Trial::from_toml(text).unwrap();
    trial.seeds(0..5).run_lock(&lock).unwrap()
}

/// It said that certainly nothing had happened, because its server had said so.
#[test]
fn a_lock_is_not_held_to_what_a_server_told_it_falsely() {
    lied_to("set-nx-px").assert_held(picklock_harness::check::Property::Claims);
}

/// What it says of its other attempts is untrue by itself.
#[test]
fn a_lock_that_lies_by_itself_beside_a_lying_server_is_accused() {
    let ran = lied_to("encoded-release");
    let (claims, cause) = (
        picklock_harness::check::Property::Claims,
        picklock_harness::check::Cause::FalseRelease,
    );
    ran.assert_violated(claims, cause);
}
