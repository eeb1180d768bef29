//! Locks whose waiters sleep until they are notified: what wakes them, and which commands they send.

use std::rc::Rc;
use std::time::Duration;

use picklock_impls::Node;
use redis::{AsyncCommands, Script, Value};

use crate::client::{RealClock, SetClock, build, client, recorded, servers_for};
use crate::scripted::{Answer, Scripted};

const TTL: Duration = Duration::from_secs(3600);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "k";

/// Longer than any test, because a waiter also checks the key when its wait is over.
const WAIT: Duration = Duration::from_secs(3000);

/// Time after which a waiter that was not notified counts as asleep.
const PATIENCE: Duration = Duration::from_secs(20);

fn sha(code: &str) -> String {
    Script::new(code).get_hash().to_owned()
}

#[tokio::test]
async fn a_release_wakes_a_waiter_that_sleeps() {
    for name in ["signal-list", "pubsub"] {
        let servers = servers_for(name);
        let mut holder = client(name, &servers, 1).await;
        let (mut waiter, log) = recorded(name, &servers, Rc::new(RealClock), 2).await;
        let grant = holder.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        // The holder releases while the waiter sleeps, in BLPOP or with its subscription.
        let asleep = async {
            let mut redis = servers[0].connect().await;
            loop {
                let clients: String = redis::cmd("CLIENT")
                    .arg("LIST")
                    .query_async(&mut redis)
                    .await
                    .unwrap();
                let sleeps = |line: &str| line.contains("cmd=blpop") || line.contains(" sub=1");
                if clients.lines().any(sleeps) {
                    break;
                }
            }
            assert!(holder.release(KEY, &grant).await.unwrap(), "{name}");
        };
        let both = async { tokio::join!(waiter.acquire(KEY, TTL, WAIT), asleep) };
        let both = tokio::time::timeout(PATIENCE, both).await;
        let (waited, ()) = both.unwrap_or_else(|_| panic!("{name}: it never sleeps, or sleeps on"));
        assert!(waited.unwrap().is_some(), "{name}");
        let sent = log.take(&[]);
        let word = if name == "pubsub" {
            "SUBSCRIBE k:released"
        } else {
            "BLPOP k:signal "
        };
        assert!(
            sent.iter().any(|command| command.starts_with(word)),
            "{sent:?}"
        );
    }
}

/// No waiter is notified: the holder has lost its key.
#[tokio::test]
async fn a_waiter_looks_by_itself_when_the_lease_is_over() {
    let lease = Duration::from_millis(200);
    for name in ["signal-list", "pubsub"] {
        let servers = servers_for(name);
        let mut dead = client(name, &servers, 1).await;
        let mut waiter = client(name, &servers, 2).await;
        assert!(dead.acquire(KEY, lease, ONCE).await.unwrap().is_some());
        let granted = tokio::time::timeout(PATIENCE, waiter.acquire(KEY, lease, WAIT)).await;
        let granted = granted.unwrap_or_else(|_| panic!("{name}: it sleeps on"));
        assert!(granted.unwrap().is_some(), "{name}");
    }
}

#[tokio::test]
async fn signal_list() {
    let servers = servers_for("signal-list");
    let (mut lock, log) = recorded("signal-list", &servers, Rc::new(SetClock::default()), 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SET k TOKEN NX PX 3600000"]);
    assert!(lock.release(KEY, &grant).await.unwrap());
    let release = sha(include_str!("../../src/locks/delete_and_signal.lua"));
    let sent = log.take(&names);
    assert_eq!(
        sent[2],
        format!("EVALSHA {release} 2 k k:signal TOKEN 1000")
    );
    let mut redis = servers[0].connect().await;
    // However many releases there are, there is only one signal, and it expires.
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(lock.release(KEY, &grant).await.unwrap());
    let signals: Vec<String> = redis.lrange("k:signal", 0, -1).await.unwrap();
    assert_eq!(signals, ["1"]);
    let left_ms: i64 = redis.pttl("k:signal").await.unwrap();
    assert!((1..=1000).contains(&left_ms), "{left_ms}");
}

#[tokio::test]
async fn pubsub() {
    let servers = servers_for("pubsub");
    let (mut lock, log) = recorded("pubsub", &servers, Rc::new(SetClock::default()), 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let names = [(grant.token.as_str(), "NAME")];
    let take = sha(include_str!("../../src/locks/take_or_ttl.lua"));
    assert_eq!(
        log.take(&names)[2],
        format!("EVALSHA {take} 1 k NAME 3600000")
    );
    // The client holds the lock twice now; it is free after the second release.
    let again = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert_eq!(again.token, grant.token);
    let mut redis = servers[0].connect().await;
    let holds: i64 = redis.hget(KEY, &grant.token).await.unwrap();
    assert_eq!(holds, 2);
    for left in [true, false] {
        log.take(&[]);
        assert!(lock.release(KEY, &grant).await.unwrap());
        let there: bool = redis.exists(KEY).await.unwrap();
        assert_eq!(there, left);
    }
    let release = sha(include_str!("../../src/locks/release_and_publish.lua"));
    let sent = log.take(&names);
    assert_eq!(
        sent,
        [format!("EVALSHA {release} 2 k k:released NAME 3600000")]
    );
    assert!(!lock.release(KEY, &grant).await.unwrap());
}

/// The node offers no subscriptions, and the lock is taken.
#[tokio::test]
async fn refused_subscription_is_an_error() {
    let taken = Scripted::new([Answer::Says(Value::Int(1000))]);
    let mut lock = build("pubsub", vec![Node::new(taken)], Rc::new(RealClock), 1);
    assert_eq!(lock.acquire(KEY, TTL, ONCE).await.unwrap(), None);
    let error = lock.acquire(KEY, TTL, WAIT).await.unwrap_err();
    assert!(error.is_definite(), "{error}");
    assert!(error.to_string().contains("subscriptions"), "{error}");
}
