//! Published messages: they reach the subscribers, and are affected by faults of links and nodes.

use super::actor::{Actor, Line, Seen, play};

/// One client subscribes, and the other publishes at 200 ms and 2000 ms.
async fn subscribe_and_publish(actor: Actor) {
    if actor.role == 0 {
        actor.subscribe("news", 4000).await;
    } else {
        for (at_ms, words) in [(200, "PUBLISH news one"), (2000, "PUBLISH news two")] {
            actor.at(at_ms).await;
            actor.send(words).await;
        }
    }
}

fn with(fault: &str) -> Seen {
    play(
        1,
        &format!("[[fault]]\nworkers = [0]\n{fault}"),
        subscribe_and_publish,
    )
}

fn received(seen: &Seen) -> Vec<Line> {
    let lines = seen.by(0).into_iter();
    lines
        .filter(|(_, text)| text.starts_with("received "))
        .collect()
}

#[test]
fn message_arrives_if_sent_after_the_subscription() {
    let seen = play(1, "", subscribe_and_publish);
    assert!(seen.when(0, "subscribed") <= 2);
    seen.when(1, "PUBLISH news one -> 1");
    let one = seen.when(0, "received one");
    assert!((200..=202).contains(&one), "{one}");
    let two = seen.when(0, "received two");
    assert!((2000..=2002).contains(&two), "{two}");
    // A later subscription does not receive the first message.
    let seen = play(1, "", |actor: Actor| async move {
        if actor.role == 0 {
            actor.at(1000).await;
        }
        subscribe_and_publish(actor).await;
    });
    seen.when(1, "PUBLISH news one -> 0");
    assert_eq!(received(&seen).len(), 1);
}

#[test]
fn message_after_a_dropped_one_ends_the_subscription() {
    let seen = with("kind = \"drop\"\nat = \"100ms\"\nframes = 1\ndirection = \"reply\"");
    seen.when(1, "PUBLISH news one -> 1");
    let lines = received(&seen);
    assert_eq!(lines.len(), 1, "{lines:?}");
    seen.when(0, "received reset");
}

#[test]
fn messages_are_delayed_and_held_like_replies() {
    let delay = with("kind = \"delay\"\nat = \"100ms\"\nby = \"300ms\"\ndirection = \"reply\"");
    let one = delay.when(0, "received one");
    assert!((500..=502).contains(&one), "{one}");
    let partition = with("kind = \"partition\"\nat = \"100ms\"\nfor = \"700ms\"");
    let one = partition.when(0, "received one");
    assert!((800..=802).contains(&one), "{one}");
}

#[test]
fn frozen_client_receives_messages_after_the_freeze() {
    let seen = with("kind = \"pause-client\"\nat = \"100ms\"\nfor = \"900ms\"");
    let one = seen.when(0, "received one");
    assert!((1000..=1002).contains(&one), "{one}");
}

#[test]
fn subscription_ends_with_its_connection() {
    let cut = with("kind = \"cut\"\nat = \"100ms\"");
    assert_eq!(cut.when(0, "received reset"), 100);
    cut.when(1, "PUBLISH news one -> 0");
    let crash = play(
        1,
        "[[fault]]\nkind = \"crash-node\"\nat = \"100ms\"\nfor = \"50ms\"\nnodes = [0]",
        subscribe_and_publish,
    );
    assert_eq!(crash.when(0, "received reset"), 100);
}

#[test]
fn unconfirmed_subscription_times_out() {
    let seen = with("kind = \"drop\"\nat = \"0ms\"\nframes = 1\ndirection = \"request\"");
    let lines = seen.by(0);
    let (at_ms, text) = &lines[0];
    assert_eq!(*at_ms, 500, "{lines:?}");
    assert!(text.starts_with("no subscription: "), "{text}");
}
