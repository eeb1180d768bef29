//! The end and the redirection of connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use picklock_harness::proxy::{FrameOutcome, LinkId};

use super::client::Client;
use super::node::{Redis, Stage};
use super::{LINK, proxy, within};

#[tokio::test]
async fn cut_resets_both_sides_of_the_chosen_links_only() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut pairs = Vec::new();
    for (worker, node) in [(0, 0), (0, 1), (1, 0)] {
        let address = proxy.open(LinkId { worker, node }, stage.address()).await;
        let client = Client::connect(address.unwrap()).await;
        pairs.push((client, stage.accept().await));
    }
    assert_eq!(proxy.cut(Some(&[0]), Some(&[0])), 1);
    let (client, node) = &mut pairs[0];
    client.is_reset().await;
    node.is_reset().await;
    for (client, node) in &mut pairs[1..] {
        client.send("PING").await;
        assert_eq!(node.exactly(14).await, b"*1\r\n$4\r\nPING\r\n");
        assert!(client.is_silent());
    }
    proxy.close().await;
    pairs[1].0.is_reset().await;
}

#[tokio::test]
async fn half_closed_connection_still_carries_the_reply() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let mut node = stage.accept().await;
    client.send("PING").await;
    // An incomplete frame is forwarded, too.
    client.write(b"*2\r\n$4\r\nEC").await;
    client.shut().await;
    let all = node.rest().await.unwrap();
    assert_eq!(all, b"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nEC");
    node.write(b"+PONG\r\n").await;
    assert_eq!(client.reply().await, "+PONG\\r\\n");
    node.shut().await;
    assert_eq!(client.rest().await.unwrap(), b"");
    // Both sides have ended, so the proxy has nothing left to cut.
    within("the end", async {
        while proxy.cut(None, None) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    proxy.close().await;
}

#[tokio::test]
async fn reset_is_forwarded() {
    let stage = Stage::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, stage.address()).await.unwrap()).await;
    let node = stage.accept().await;
    node.stream.set_zero_linger().unwrap();
    drop(node);
    client.is_reset().await;
    proxy.close().await;
}

#[tokio::test]
async fn refusing_node_resets_the_worker() {
    let stage = Stage::start().await;
    let closed_address = stage.address();
    drop(stage);
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, closed_address).await.unwrap()).await;
    client.is_reset().await;
    proxy.close().await;
    let entries = proxy.log().entries();
    assert_eq!(entries[0].outcome, FrameOutcome::Unreachable);
    assert!(entries[0].preview.starts_with(&closed_address.to_string()));
}

#[tokio::test]
async fn redirected_node_is_reached_at_the_old_address() {
    let (before, after) = (Redis::start().await, Redis::start().await);
    let proxy = proxy();
    let address = proxy.open(LINK, before.address).await.unwrap();
    let mut client = Client::connect(address).await;
    client.ask("SET where before").await;
    proxy.redirect(0, after.address).unwrap();
    client.is_reset().await;
    let mut client = Client::connect(address).await;
    assert_eq!(client.ask("GET where").await, "$-1\\r\\n");
    assert_eq!(
        before.direct().await.ask("GET where").await,
        "$6\\r\\nbefore\\r\\n"
    );
    // The links of another node are not redirected.
    proxy.redirect(1, before.address).unwrap();
    assert_eq!(client.ask("PING").await, "+PONG\\r\\n");
    proxy.close().await;
}

#[tokio::test]
async fn links_lead_to_loopback_only_and_are_opened_once() {
    let proxy = proxy();
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 6379));
    let refused = proxy.open(LINK, elsewhere).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    let refused = proxy.redirect(0, elsewhere).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let address = proxy.open(LINK, here).await.unwrap();
    assert!(address.ip().is_loopback());
    let twice = proxy.open(LINK, here).await.unwrap_err();
    assert_eq!(twice.kind(), io::ErrorKind::AlreadyExists);
    within("closing", proxy.close()).await;
    assert!(Client::try_connect(address).await.is_err());
    assert!(
        proxy
            .open(LinkId { worker: 1, node: 0 }, here)
            .await
            .is_err()
    );
}
