//! Links to Sentinels, and nodes with several servers.

use std::net::SocketAddr;

use picklock_harness::proxy::{LinkId, SentinelAddresses};

use super::client::Client;
use super::node::{Redis, Stage};
use super::{LINK, proxy};

const NOWHERE: &str = "10.255.0.9:6379";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Returns an array of bulk strings.
fn array(words: &[&str]) -> String {
    let bulks = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), bulks.collect::<String>())
}

#[tokio::test]
async fn announced_addresses_lead_through_the_proxy() {
    let sentinel = Stage::start().await;
    let proxy = proxy();
    let addresses = SentinelAddresses {
        listening: sentinel.address(),
        announced: at("10.255.0.1:26379"),
    };
    let servers = [(at(NOWHERE), at("127.0.0.1:40001"))];
    let links = proxy
        .open_sentinels(0, &[addresses], &servers)
        .await
        .unwrap();
    let mut client = Client::connect(links[0]).await;
    let mut node = sentinel.accept().await;
    client.send("SENTINEL GET-MASTER-ADDR-BY-NAME a").await;
    let request = array(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "a"]);
    assert_eq!(node.exactly(request.len()).await, request.as_bytes());
    // In two halves, as a network may deliver it.
    let answer = array(&["10.255.0.9", "6379"]);
    let (one, two) = answer.split_at(12);
    node.write(one.as_bytes()).await;
    node.write(two.as_bytes()).await;
    let expected = array(&["127.0.0.1", "40001"]);
    assert_eq!(client.reply_bytes().await, expected.as_bytes());
    // The other Sentinels are also reached through the proxy.
    let itself = array(&["ip", "10.255.0.1", "port", "26379"]);
    node.write(itself.as_bytes()).await;
    let (ip, port) = (links[0].ip().to_string(), links[0].port().to_string());
    let expected = array(&["ip", &ip, "port", &port]);
    assert_eq!(client.reply_bytes().await, expected.as_bytes());
    assert!(proxy.log().entries().is_empty());
    proxy.close().await;
    assert_eq!(client.rest().await.unwrap_or_default(), b"");
}

#[tokio::test]
async fn unparseable_reply_is_not_forwarded() {
    let sentinel = Stage::start().await;
    let proxy = proxy();
    let addresses = SentinelAddresses {
        listening: sentinel.address(),
        announced: sentinel.address(),
    };
    let links = proxy.open_sentinels(0, &[addresses], &[]).await.unwrap();
    let mut client = Client::connect(links[0]).await;
    let mut node = sentinel.accept().await;
    node.write(b"HTTP/1.1 200 OK\r\n").await;
    assert_eq!(client.rest().await.unwrap_or_default(), b"");
    proxy.close().await;
}

#[tokio::test]
async fn links_to_all_servers_of_a_node_count_as_that_node() {
    let (master, replica) = (Redis::start().await, Redis::start().await);
    let proxy = proxy();
    let first = proxy.open(LINK, master.address).await.unwrap();
    let second = proxy.open_server(LINK, 1, replica.address).await.unwrap();
    assert!(proxy.open_server(LINK, 1, replica.address).await.is_err());
    let other = LinkId { worker: 0, node: 1 };
    let apart = proxy.open(other, replica.address).await.unwrap();
    let mut clients = Vec::new();
    for address in [first, second, apart] {
        let mut client = Client::connect(address).await;
        assert_eq!(client.ask("SET lock:1 a").await, "+OK\\r\\n");
        clients.push(client);
    }
    let nodes: Vec<usize> = proxy
        .log()
        .entries()
        .iter()
        .map(|entry| entry.node)
        .collect();
    assert_eq!(nodes, [0, 0, 0, 0, 1, 1]);
    assert_eq!(proxy.cut(Some(&[0]), Some(&[0])), 2);
    clients[0].is_reset().await;
    clients[1].is_reset().await;
    assert_eq!(clients[2].ask("PING").await, "+PONG\\r\\n");
    // The first server came back at another address; the second one has not moved.
    proxy.redirect(0, replica.address).unwrap();
    let mut direct = replica.direct().await;
    direct.ask("SET lock:1 here").await;
    let mut moved = Client::connect(first).await;
    assert_eq!(moved.ask("GET lock:1").await, "$4\\r\\nhere\\r\\n");
    proxy.close().await;
}
