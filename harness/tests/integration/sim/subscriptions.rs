//! What is published: it comes to those who have subscribed, and faults of links and nodes reach it.

use super::actor::{Actor, Line, Seen, play};

/// One client hears, and the other publishes at 200 ms and 2000 ms.
async fn hear_and_publish(actor: Actor) {
    if actor.role == 0 {
        actor.hear("news", 4000).await;
    } else {
        for (at_ms, words) in [(200, "PUBLISH news one"), (2000, "PUBLISH news two")] {
            actor.at(at_ms).await;
            actor.ask(words).await;
        }
    }
}

fn with(fault: &str) -> Seen {
    play(
        1,
        &format!("[[fault]]\nworkers = [0]\n{fault}"),
        hear_and_publish,
    )
}

fn heard(seen: &Seen) -> Vec<Line> {
    let lines = seen.by(0).into_iter();
    lines
        .filter(|(_, text)| text.starts_with("heard "))
        .collect()
}

#[test]
fn a_message_comes_at_once_and_only_after_the_subscription() {
    let seen = play(1, "", hear_and_publish);
    assert!(seen.when(0, "subscribed") <= 2);
    seen.when(1, "PUBLISH news one -> 1");
    let one = seen.when(0, "heard one");
    assert!((200..=202).contains(&one), "{one}");
    let two = seen.when(0, "heard two");
    assert!((2000..=2002).contains(&two), "{two}");
    // Subscribed later, nothing of the first is heard.
    let seen = play(1, "", |actor: Actor| async move {
        if actor.role == 0 {
            actor.at(1000).await;
        }
        hear_and_publish(actor).await;
    });
    seen.when(1, "PUBLISH news one -> 0");
    assert_eq!(heard(&seen).len(), 1);
}

#[test]
fn a_swallowed_message_is_lost_and_the_next_one_ends_the_subscription() {
    let seen = with("kind = \"drop\"\nat = \"100ms\"\nframes = 1\ndirection = \"reply\"");
    seen.when(1, "PUBLISH news one -> 1");
    let lines = heard(&seen);
    assert_eq!(lines.len(), 1, "{lines:?}");
    seen.when(0, "heard reset");
}

#[test]
fn messages_are_late_and_kept_back_like_replies() {
    let delay = with("kind = \"delay\"\nat = \"100ms\"\nby = \"300ms\"\ndirection = \"reply\"");
    let one = delay.when(0, "heard one");
    assert!((500..=502).contains(&one), "{one}");
    let partition = with("kind = \"partition\"\nat = \"100ms\"\nfor = \"700ms\"");
    let one = partition.when(0, "heard one");
    assert!((800..=802).contains(&one), "{one}");
}

#[test]
fn a_frozen_client_hears_when_it_wakes() {
    let seen = with("kind = \"pause-client\"\nat = \"100ms\"\nfor = \"900ms\"");
    let one = seen.when(0, "heard one");
    assert!((1000..=1002).contains(&one), "{one}");
}

#[test]
fn a_subscription_ends_with_its_connection() {
    let cut = with("kind = \"cut\"\nat = \"100ms\"");
    assert_eq!(cut.when(0, "heard reset"), 100);
    cut.when(1, "PUBLISH news one -> 0");
    let crash = play(
        1,
        "[[fault]]\nkind = \"crash-node\"\nat = \"100ms\"\nfor = \"50ms\"\nnodes = [0]",
        hear_and_publish,
    );
    assert_eq!(crash.when(0, "heard reset"), 100);
}

#[test]
fn a_subscription_that_nobody_confirms_fails_like_a_command() {
    let seen = with("kind = \"drop\"\nat = \"0ms\"\nframes = 1\ndirection = \"request\"");
    let lines = seen.by(0);
    let (at_ms, text) = &lines[0];
    assert_eq!(*at_ms, 500, "{lines:?}");
    assert!(text.starts_with("no subscription: "), "{text}");
}
