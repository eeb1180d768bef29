//! Faults that strike at an event strike exactly there.

use super::actor::{Actor, play};

/// Sets three keys one after the other, and looks which are there.
async fn set_three(actor: Actor) {
    if actor.role == 0 {
        for key in 1..=3 {
            actor.ask(&format!("SET k{key} v")).await;
        }
        actor.ask("EXISTS k1").await;
        actor.ask("EXISTS k2").await;
        actor.ask("EXISTS k3").await;
    }
}

fn there(seen: &super::actor::Seen) -> Vec<String> {
    let texts = seen.by(0).into_iter().map(|(_, text)| text);
    let texts = texts.filter(|text| text.starts_with("EXISTS"));
    texts
        .map(|text| text[text.len() - 1..].to_owned())
        .collect()
}

#[test]
fn the_request_at_the_gate_has_not_happened_yet() {
    let cut = "[[fault]]\nkind = \"cut\"\nwhen = { on = \"request\", command = \"SET\", nth = 2 }";
    let seen = play(1, cut, set_three);
    seen.when(0, "SET k2 v -> reset");
    assert_eq!(there(&seen), ["1", "0", "1"]);
}

#[test]
fn the_request_of_a_reply_at_the_gate_has_happened() {
    let cut = "[[fault]]\nkind = \"cut\"\nwhen = { on = \"reply\", command = \"SET\", nth = 2 }";
    let seen = play(1, cut, set_three);
    seen.when(0, "SET k2 v -> reset");
    assert_eq!(there(&seen), ["1", "1", "1"]);
}

#[test]
fn one_frame_is_the_frame_that_set_it_off() {
    let drop = "[[fault]]\nkind = \"drop\"\nwhen = { on = \"request\", command = \"SET\", nth = 2 }\nframes = 1";
    let seen = play(1, drop, set_three);
    assert_eq!(there(&seen), ["1", "0", "1"]);
}

#[test]
fn a_fault_for_two_frames_strikes_two() {
    let drop = "[[fault]]\nkind = \"drop\"\nat = \"0s\"\nframes = 2\ndirection = \"request\"\nworkers = [0]";
    let seen = play(1, drop, |actor| async move {
        actor.at(10).await;
        set_three(actor).await;
    });
    assert_eq!(there(&seen), ["0", "0", "1"]);
}

/// While the frame stands at its gate nothing behind it on the connection moves, and the node
/// dies before any of it arrives.
#[test]
fn what_is_behind_the_gate_waits_as_well() {
    let crash = "[[fault]]\nkind = \"crash-node\"\nwhen = { on = \"request\", command = \"SET\" }\nfor = \"100ms\"";
    let seen = play(1, crash, |actor| async move {
        if actor.role == 0 {
            let both = ["INCR n", "SET k v", "INCR m"].map(|words| actor.ask(words));
            futures_util::future::join_all(both).await;
            actor.at(500).await;
            actor.ask("EXISTS n").await;
        }
    });
    seen.when(0, "SET k v -> reset");
    seen.when(0, "INCR m -> reset");
    seen.when(0, "EXISTS n -> 0");
}
