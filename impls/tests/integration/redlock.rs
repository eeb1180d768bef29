//! Redlock with nodes missing, on real servers.

use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{DynLock, Node};
use redis::{AsyncCommands, Value};

use crate::client::{RealClock, build, client, left};
use crate::redis_server::RedisServer;
use crate::scripted::{Answer, Scripted};

const TTL: Duration = Duration::from_secs(20);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "stock:1";

fn servers(count: usize) -> Vec<RedisServer> {
    (0..count).map(|_| RedisServer::start()).collect()
}

#[tokio::test]
async fn two_dead_nodes_of_five_do_not_matter() {
    let mut servers = servers(5);
    let mut first = client("redlock", &servers, 1).await;
    let mut second = client("redlock", &servers, 2).await;
    servers[1].kill();
    servers[3].kill();
    let grant = first.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert_eq!(second.acquire(KEY, TTL, ONCE).await.unwrap(), None);
    let grant = first.extend(KEY, &grant, TTL).await.unwrap().unwrap();
    assert!(first.release(KEY, &grant).await.unwrap());
    assert!(second.acquire(KEY, TTL, ONCE).await.unwrap().is_some());
}

#[tokio::test]
async fn three_dead_nodes_of_five_are_a_failure_and_no_refusal() {
    let mut servers = servers(5);
    let mut lock = client("redlock", &servers, 1).await;
    for server in &mut servers[..3] {
        server.kill();
    }
    let error = lock.acquire(KEY, TTL, ONCE).await.unwrap_err();
    assert!(!error.is_definite(), "{error}");
    assert!(error.to_string().contains("3 of 5 nodes"), "{error}");
    // The keys that the two living nodes had taken are deleted.
    for server in &servers[3..] {
        assert!(!server.connect().await.exists::<_, bool>(KEY).await.unwrap());
    }
}

#[tokio::test]
async fn foreign_majority_is_a_refusal_without_leftovers() {
    let servers = servers(5);
    for server in &servers[..3] {
        let _: () = server.connect().await.set(KEY, "another's").await.unwrap();
    }
    let mut lock = client("redlock", &servers, 1).await;
    assert_eq!(lock.acquire(KEY, TTL, ONCE).await.unwrap(), None);
    for (index, server) in servers.iter().enumerate() {
        let left: Option<String> = server.connect().await.get(KEY).await.unwrap();
        assert_eq!(left.is_some(), index < 3, "node {index}: {left:?}");
    }
}

#[tokio::test]
async fn any_number_of_nodes_will_do() {
    for (count, enough) in [(1, 1), (2, 2), (3, 2), (4, 3)] {
        let servers = servers(count);
        let mut lock = client("redlock", &servers, 1).await;
        // All nodes but a majority are taken, so the lock is granted. With one more taken, it is not.
        for server in &servers[..count - enough] {
            let _: () = server.connect().await.set(KEY, "another's").await.unwrap();
        }
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        assert!(lock.release(KEY, &grant).await.unwrap(), "{count} nodes");
        let one_more = &servers[count - enough];
        let _: () = one_more
            .connect()
            .await
            .set(KEY, "another's")
            .await
            .unwrap();
        assert_eq!(lock.acquire(KEY, TTL, ONCE).await.unwrap(), None);
    }
}

/// A release counts nodes, too: three of five decide whether the client had the lock.
#[tokio::test]
async fn released_means_that_a_majority_deleted_it() {
    let servers = servers(5);
    for (lost, released) in [(2, true), (3, false)] {
        let mut lock = client("redlock", &servers, lost).await;
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        for server in servers.iter().take(lost as usize) {
            let _: () = server.connect().await.del(KEY).await.unwrap();
        }
        assert_eq!(lock.release(KEY, &grant).await.unwrap(), released);
    }
}

fn on_scripts(scripts: Vec<Scripted>) -> Box<dyn DynLock> {
    let nodes = scripts.into_iter().map(Node::new).collect();
    build("redlock", nodes, Rc::new(RealClock), 1)
}

/// A node that never answers costs a tenth of the lease, once for all silent nodes together.
#[tokio::test(start_paused = true)]
async fn silent_nodes_are_not_waited_for() {
    let says = |value: Value| Scripted::new([Answer::Says(value)]);
    let silent = || Scripted::new([Answer::Silent]);
    let ok = || says(Value::Okay);
    let mut lock = on_scripts(vec![ok(), silent(), ok(), silent(), ok()]);
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let expected = TTL - TTL / 10 - TTL / 100 - Duration::from_millis(2);
    assert_eq!(left(&grant), expected);
    // Two nodes did not answer, and the result depends on them, so it is uncertain.
    let deleted = || {
        Scripted::new([
            Answer::Says(Value::Okay),
            Answer::Says(Value::Int(1)),
            Answer::Says(Value::Int(0)),
        ])
    };
    let mut lock = on_scripts(vec![deleted(), deleted(), silent(), silent(), ok()]);
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(lock.release(KEY, &grant).await.unwrap());
    let error = lock.release(KEY, &grant).await.unwrap_err();
    assert!(!error.is_definite(), "{error}");
}
