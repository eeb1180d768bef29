//! Connections to real servers that die and come back, and to one that swallows replies.

use std::time::Duration;

use picklock_harness::adapter::connect::connect;
use picklock_impls::Node;
use redis::{Cmd, IntoConnectionInfo, RedisResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::redis_server::RedisServer;

const TIMEOUT: Duration = Duration::from_secs(5);

fn node(url: &str, timeout: Duration) -> Node {
    connect(&[url.to_owned()], timeout).unwrap().remove(0)
}

async fn set(node: &mut Node, key: &str) -> RedisResult<()> {
    Cmd::set(key, 1).exec_async(node).await
}

#[tokio::test]
async fn a_server_that_dies_and_comes_back_is_connected_again() {
    let mut server = RedisServer::start();
    let mut node = node(&server.url(), TIMEOUT);
    let mut clone = node.clone();
    set(&mut node, "k").await.unwrap();
    for _ in 0..2 {
        server.kill();
        for _ in 0..3 {
            let error = set(&mut node, "k").await.unwrap_err();
            assert!(error.is_io_error(), "{error}");
            // It failed because there is no server, and not by waiting for one.
            assert!(!error.is_timeout(), "{error}");
        }
        server.start_again();
        // The very first command after that works, on every clone.
        set(&mut node, "k").await.unwrap();
        set(&mut clone, "k").await.unwrap();
    }
}

#[tokio::test]
async fn a_dead_node_does_not_prevent_the_start() {
    let mut server = RedisServer::start();
    server.kill();
    let mut node = node(&server.url(), TIMEOUT);
    assert!(
        set(&mut node, "k")
            .await
            .unwrap_err()
            .is_connection_refusal()
    );
    server.start_again();
    set(&mut node, "k").await.unwrap();
}

#[tokio::test]
async fn an_error_reply_leaves_the_connection_as_it_is() {
    let server = RedisServer::start();
    let mut node = node(&server.url(), TIMEOUT);
    let id = redis::cmd("CLIENT").arg("ID").to_owned();
    let before: u64 = id.query_async(&mut node).await.unwrap();
    let wrong = redis::cmd("EXPIRE").arg("k").to_owned();
    assert!(
        wrong
            .exec_async(&mut node)
            .await
            .unwrap_err()
            .code()
            .is_some()
    );
    let after: u64 = id.query_async(&mut node).await.unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn pipelines_go_through() {
    let server = RedisServer::start();
    let mut node = node(&server.url(), TIMEOUT);
    let (set, get): (String, i64) = redis::pipe()
        .set("k", 5)
        .get("k")
        .query_async(&mut node)
        .await
        .unwrap();
    assert_eq!((set.as_str(), get), ("OK", 5));
}

/// A server that swallows the first reply and answers everything after that with its number, on
/// each connection anew.
async fn swallowing_server() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut swallow = true;
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let swallowing = std::mem::replace(&mut swallow, false);
            tokio::spawn(async move {
                let mut bytes = [0; 1024];
                let mut first = swallowing;
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    if !std::mem::replace(&mut first, false) {
                        // Each command comes in one piece here, and says what it wants to hear.
                        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                        let wanted = text.lines().last().unwrap();
                        let reply = format!("+{wanted}\r\n");
                        stream.write_all(reply.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    (url, serving)
}

async fn echo(node: &mut Node, word: &str) -> RedisResult<String> {
    redis::cmd("ECHO").arg(word).query_async(node).await
}

/// Replies must not be taken for those of the command before, whose reply never came.
#[tokio::test]
async fn after_a_lost_reply_the_next_command_gets_its_own() {
    let (url, serving) = swallowing_server().await;
    let mut node = node(&url, Duration::from_millis(500));
    let error = echo(&mut node, "one").await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(echo(&mut node, "two").await.unwrap(), "two");
    serving.abort();
}

/// The same when the caller's own patience ends first, as redlock's does.
#[tokio::test]
async fn after_a_command_that_was_given_up_too() {
    let (url, serving) = swallowing_server().await;
    let mut node = node(&url, TIMEOUT);
    let given_up = tokio::time::timeout(Duration::from_millis(50), echo(&mut node, "one")).await;
    assert!(given_up.is_err());
    assert_eq!(echo(&mut node, "two").await.unwrap(), "two");
    serving.abort();
}

/// The positive control: redis-rs's own manager takes the second reply for the first.
#[tokio::test]
async fn the_manager_of_redis_rs_would_fail_that() {
    let (url, serving) = swallowing_server().await;
    let config = redis::aio::ConnectionManagerConfig::new()
        .set_response_timeout(Some(Duration::from_millis(50)));
    let info = url.into_connection_info().unwrap();
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    let client = redis::Client::open(info.set_redis_settings(settings)).unwrap();
    let manager = redis::aio::ConnectionManager::new_lazy_with_config(client, config).unwrap();
    let mut node = Node::new(manager);
    assert!(echo(&mut node, "one").await.is_err());
    for word in ["two", "three", "four"] {
        assert!(echo(&mut node, word).await.is_err(), "{word} was answered");
    }
    serving.abort();
}

#[tokio::test]
async fn what_is_no_address_is_named() {
    let error = connect(&["http://example.org".into()], TIMEOUT)
        .err()
        .unwrap();
    assert!(error.to_string().contains("http://example.org"), "{error}");
}
