//! Faults that wait for an event fire exactly at that event.

use super::actor::{Actor, play};

/// Sets three keys one after the other, and checks which of them exist.
async fn set_three(actor: Actor) {
    if actor.role == 0 {
        for key in 1..=3 {
            actor.send(&format!("SET k{key} v")).await;
        }
        actor.send("EXISTS k1").await;
        actor.send("EXISTS k2").await;
        actor.send("EXISTS k3").await;
    }
}

fn existing_keys(seen: &super::actor::Seen) -> Vec<String> {
    let texts = seen.by(0).into_iter().map(|(_, text)| text);
    let texts = texts.filter(|text| text.starts_with("EXISTS"));
    texts
        .map(|text| text[text.len() - 1..].to_owned())
        .collect()
}

#[test]
fn fault_fires_before_its_request_is_executed() {
    let cut = "[[fault]]\nkind = \"cut\"\nwhen = { on = \"request\", command = \"SET\", nth = 2 }";
    let seen = play(1, cut, set_three);
    seen.when(0, "SET k2 v -> reset");
    assert_eq!(existing_keys(&seen), ["1", "0", "1"]);
}

#[test]
fn fault_at_a_reply_fires_after_the_execution() {
    let cut = "[[fault]]\nkind = \"cut\"\nwhen = { on = \"reply\", command = \"SET\", nth = 2 }";
    let seen = play(1, cut, set_three);
    seen.when(0, "SET k2 v -> reset");
    assert_eq!(existing_keys(&seen), ["1", "1", "1"]);
}

#[test]
fn fault_of_one_frame_affects_its_trigger() {
    let drop = "[[fault]]\nkind = \"drop\"\nwhen = { on = \"request\", command = \"SET\", nth = 2 }\nframes = 1";
    let seen = play(1, drop, set_three);
    assert_eq!(existing_keys(&seen), ["1", "0", "1"]);
}

#[test]
fn fault_of_two_frames_affects_two() {
    let drop = "[[fault]]\nkind = \"drop\"\nat = \"0s\"\nframes = 2\ndirection = \"request\"\nworkers = [0]";
    let seen = play(1, drop, |actor| async move {
        actor.at(10).await;
        set_three(actor).await;
    });
    assert_eq!(existing_keys(&seen), ["0", "0", "1"]);
}

/// While the frame waits at its barrier, no later frame on the connection moves, and the node dies
/// before any of them arrives.
#[test]
fn frames_behind_the_barrier_wait_as_well() {
    let crash = "[[fault]]\nkind = \"crash-node\"\nwhen = { on = \"request\", command = \"SET\" }\nfor = \"100ms\"";
    let seen = play(1, crash, |actor| async move {
        if actor.role == 0 {
            let both = ["INCR n", "SET k v", "INCR m"].map(|words| actor.send(words));
            futures_util::future::join_all(both).await;
            actor.at(500).await;
            actor.send("EXISTS n").await;
        }
    });
    seen.when(0, "SET k v -> reset");
    seen.when(0, "INCR m -> reset");
    seen.when(0, "EXISTS n -> 0");
}
