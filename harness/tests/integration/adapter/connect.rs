//! Connections to real servers that die and come back, and to a server that swallows replies.

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
async fn restarted_server_is_reconnected() {
    let mut server = RedisServer::start();
    let mut node = node(&server.url(), TIMEOUT);
    let mut clone = node.clone();
    set(&mut node, "k").await.unwrap();
    for _ in 0..2 {
        server.kill();
        for _ in 0..3 {
            let error = set(&mut node, "k").await.unwrap_err();
            assert!(error.is_io_error(), "{error}");
            // The command failed because there is no server, not because of a timeout.
            assert!(!error.is_timeout(), "{error}");
        }
        server.start_again();
        // The very first command after the restart works, on every clone.
        set(&mut node, "k").await.unwrap();
        set(&mut clone, "k").await.unwrap();
    }
}

#[tokio::test]
async fn dead_node_does_not_prevent_the_start() {
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
async fn error_reply_keeps_the_connection() {
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

/// Starts a server that swallows the first reply on its first connection, and echoes the last word of every other
/// command.
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
                        // Each command arrives in one piece here, and ends with its expected reply.
                        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                        let word = text.lines().last().unwrap();
                        let reply = format!("+{word}\r\n");
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

/// A reply must not be matched to the preceding command, whose reply never arrived.
#[tokio::test]
async fn command_after_a_lost_reply_gets_its_own() {
    let (url, serving) = swallowing_server().await;
    let mut node = node(&url, Duration::from_millis(500));
    let error = echo(&mut node, "one").await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(echo(&mut node, "two").await.unwrap(), "two");
    serving.abort();
}

/// The caller's timeout ends before the connection's, as in redlock.
#[tokio::test]
async fn command_after_a_cancelled_one_gets_its_own() {
    let (url, serving) = swallowing_server().await;
    let mut node = node(&url, TIMEOUT);
    let cancelled = tokio::time::timeout(Duration::from_millis(50), echo(&mut node, "one")).await;
    assert!(cancelled.is_err());
    assert_eq!(echo(&mut node, "two").await.unwrap(), "two");
    serving.abort();
}

/// The positive control: redis-rs's own manager matches the second reply to the first command.
#[tokio::test]
async fn redis_rs_manager_mismatches_replies() {
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
async fn invalid_address_is_named() {
    let error = connect(&["http://example.org".into()], TIMEOUT)
        .err()
        .unwrap();
    assert!(error.to_string().contains("http://example.org"), "{error}");
}
