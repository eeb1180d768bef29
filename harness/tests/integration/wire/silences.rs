//! What comes from a worker that is frozen or dead, and what was on its way before.

use picklock_harness::wire::FreezeLeak;

use super::client::Client;
use super::node::Stage;
use super::{LINK, wire};

#[tokio::test]
async fn what_was_written_before_is_no_escape_and_what_comes_later_is() {
    let stage = Stage::start().await;
    let wire = wire();
    assert!(!wire.silences().has_spoken(0));
    let mut client = Client::connect(wire.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    client.send("PING").await;
    wire.silences().begin(0).await.unwrap();
    assert_eq!(node.exactly(14).await, b"*1\r\n$4\r\nPING\r\n");
    assert!(wire.silences().has_spoken(0) && !wire.silences().has_spoken(1));
    assert_eq!(wire.silences().escape(0), None);
    // The second is one more than the kernel may have counted at both ends.
    for _ in 0..2 {
        client.send("PING").await;
        node.exactly(14).await;
    }
    let escape = wire.silences().escape(0).unwrap();
    assert_eq!(escape.node, Some(0));
    assert!(escape.came_ns > 0);
    wire.silences().end(0);
    client.send("PING").await;
    node.exactly(14).await;
    assert_eq!(wire.silences().escape(0), None);
    wire.close().await;
}

/// A command that the wire has read is not expected again.
#[tokio::test]
async fn the_first_command_after_an_answer_is_an_escape() {
    let stage = Stage::start().await;
    let wire = wire();
    let mut client = Client::connect(wire.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    client.send("PING").await;
    node.exactly(14).await;
    node.write(b"+PONG\r\n").await;
    client.reply().await;
    wire.silences().begin(0).await.unwrap();
    client.send("PING").await;
    node.exactly(14).await;
    assert!(matches!(
        wire.silences().escape(0),
        Some(FreezeLeak { node: Some(0), .. })
    ));
    assert_eq!(wire.silences().escape(1), None);
    wire.close().await;
}

#[tokio::test]
async fn a_new_connection_is_an_escape() {
    let stage = Stage::start().await;
    let wire = wire();
    let address = wire.open(LINK, stage.address()).await.unwrap();
    let _before = Client::connect(address).await;
    wire.silences().begin(0).await.unwrap();
    stage.accept().await;
    assert_eq!(wire.silences().escape(0), None);
    let _after = Client::connect(address).await;
    stage.accept().await;
    assert!(wire.silences().escape(0).is_some());
    wire.close().await;
}
