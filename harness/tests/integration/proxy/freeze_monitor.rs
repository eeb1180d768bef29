//! Data from a worker that is frozen or dead, and data that was in transit before.

use picklock_harness::proxy::FreezeBreach;

use super::client::Client;
use super::node::Stage;
use super::{LINK, proxy};

#[tokio::test]
async fn only_data_written_before_the_freeze_is_allowed() {
    let stage = Stage::start().await;
    let proxy = proxy();
    assert!(!proxy.freeze_monitor().has_sent_data(0));
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    client.send("PING").await;
    proxy.freeze_monitor().expect_no_traffic(0).await.unwrap();
    assert_eq!(node.exactly(14).await, b"*1\r\n$4\r\nPING\r\n");
    assert!(proxy.freeze_monitor().has_sent_data(0) && !proxy.freeze_monitor().has_sent_data(1));
    assert_eq!(proxy.freeze_monitor().freeze_breach(0), None);
    // The second command exceeds the number of bytes that the kernel may have counted at both ends.
    for _ in 0..2 {
        client.send("PING").await;
        node.exactly(14).await;
    }
    let freeze_breach = proxy.freeze_monitor().freeze_breach(0).unwrap();
    assert_eq!(freeze_breach.node, Some(0));
    assert!(freeze_breach.arrived_at_ns > 0);
    proxy.freeze_monitor().allow_traffic(0);
    client.send("PING").await;
    node.exactly(14).await;
    assert_eq!(proxy.freeze_monitor().freeze_breach(0), None);
    proxy.close().await;
}

/// A command that the proxy has read already does not count as in transit.
#[tokio::test]
async fn first_command_after_a_reply_is_a_breach() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    client.send("PING").await;
    node.exactly(14).await;
    node.write(b"+PONG\r\n").await;
    client.reply().await;
    proxy.freeze_monitor().expect_no_traffic(0).await.unwrap();
    client.send("PING").await;
    node.exactly(14).await;
    assert!(matches!(
        proxy.freeze_monitor().freeze_breach(0),
        Some(FreezeBreach { node: Some(0), .. })
    ));
    assert_eq!(proxy.freeze_monitor().freeze_breach(1), None);
    proxy.close().await;
}

#[tokio::test]
async fn new_connection_is_a_breach() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let address = proxy.open(LINK, stage.address()).await.unwrap();
    let _before = Client::connect(address).await;
    proxy.freeze_monitor().expect_no_traffic(0).await.unwrap();
    stage.accept().await;
    assert_eq!(proxy.freeze_monitor().freeze_breach(0), None);
    let _after = Client::connect(address).await;
    stage.accept().await;
    assert!(proxy.freeze_monitor().freeze_breach(0).is_some());
    proxy.close().await;
}
