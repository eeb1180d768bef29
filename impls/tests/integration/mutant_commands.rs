//! Commands and assumptions of the mutants that a sound lock does not share.

use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{DynLock, Grant, Node};
use redis::{AsyncCommands, Value};

use crate::client::{RealClock, SetClock, build, client, left, recorded, servers_for};
use crate::redis_server::RedisServer;
use crate::scripted::{Answer, Scripted};

const TTL: Duration = Duration::from_millis(20_500);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "picklock:stock:0007";

async fn get(servers: &[RedisServer], key: &str) -> Option<String> {
    servers[0].connect().await.get(key).await.unwrap()
}

async fn put(servers: &[RedisServer], key: &str, value: &str) {
    let _: () = servers[0].connect().await.set(key, value).await.unwrap();
}

/// Returns the commands of one acquisition, and the validity of its grant.
async fn first_commands(name: &str) -> (Vec<String>, Duration) {
    let servers = servers_for(name);
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded(name, &servers, clock, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let sent = log.take(&[(grant.token.as_str(), "TOKEN")]);
    (sent, left(&grant))
}

#[tokio::test]
async fn wrong_expiries_and_wrong_keys_are_sent() {
    for (name, sent) in [
        ("set-nx-px", format!("SET {KEY} TOKEN NX PX 20500")),
        ("whole-seconds", format!("SET {KEY} TOKEN NX EX 20")),
        ("seconds-as-millis", format!("SET {KEY} TOKEN NX PX 20")),
        (
            "truncated-key",
            "SET picklock:stock:0 TOKEN NX PX 20500".into(),
        ),
        ("one-key-for-all", "SET lock TOKEN NX PX 20500".into()),
    ] {
        let (commands, valid_for) = first_commands(name).await;
        assert_eq!(commands, [sent], "{name}");
        // The grant reports the requested lease anyway.
        assert!(valid_for > TTL - Duration::from_secs(5), "{name}");
    }
}

#[tokio::test]
async fn token_per_client_never_changes() {
    let servers = servers_for("token-per-client");
    let mut lock = client("token-per-client", &servers, 1).await;
    let first = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(lock.release(KEY, &first).await.unwrap());
    let second = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert_eq!(first.token, second.token);
}

#[tokio::test]
async fn releases_every_key_clears_the_server() {
    let servers = servers_for("releases-every-key");
    let mut lock = client("releases-every-key", &servers, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    put(&servers, "another lock", "another's").await;
    assert!(lock.release(KEY, &grant).await.unwrap());
    assert_eq!(get(&servers, "another lock").await, None);
    // If it has lost its lock, the mutant deletes neither that lock nor any other.
    put(&servers, KEY, "another's").await;
    assert!(!lock.release(KEY, &grant).await.unwrap());
    assert!(get(&servers, KEY).await.is_some());
}

/// Extends after the key has become another client's, and after it is gone.
async fn late_extensions(name: &str) -> [Option<Grant>; 2] {
    crate::client::client_with_tasks(async {
        let servers = servers_for(name);
        let mut lock = client(name, &servers, 1).await;
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        put(&servers, KEY, "another's").await;
        let anothers = lock.extend(KEY, &grant, TTL).await.unwrap();
        let _: () = servers[0].connect().await.del(KEY).await.unwrap();
        let gone = lock.extend(KEY, &grant, TTL).await.unwrap();
        [anothers, gone]
    })
    .await
}

#[tokio::test]
async fn late_extensions_are_granted() {
    for (name, anothers, gone) in [
        ("set-nx-px", false, false),
        ("extend-without-token", true, false),
        ("extend-recreates", false, true),
        ("renews-by-set", true, true),
    ] {
        let granted = late_extensions(name).await.map(|grant| grant.is_some());
        assert_eq!(granted, [anothers, gone], "{name}");
    }
}

#[tokio::test]
async fn stale_hold_count_grants_without_asking() {
    let servers = servers_for("stale-hold-count");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("stale-hold-count", &servers, clock, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(lock.release(KEY, &grant).await.unwrap());
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    put(&servers, KEY, "another's").await;
    assert!(!lock.release(KEY, &grant).await.unwrap());
    log.take(&[]);
    assert!(lock.acquire(KEY, TTL, ONCE).await.unwrap().is_some());
    assert!(log.take(&[]).is_empty());
}

#[tokio::test]
async fn half_quorum_is_content_with_two_of_four() {
    let servers = servers_for("half-quorum");
    put(&servers[..1], KEY, "another's").await;
    put(&servers[1..2], KEY, "another's").await;
    let mut lock = client("half-quorum", &servers, 1).await;
    assert!(lock.acquire(KEY, TTL, ONCE).await.unwrap().is_some());
}

#[tokio::test]
async fn needs_every_node_is_refused_by_one_of_five() {
    let servers = servers_for("needs-every-node");
    let mut lock = client("needs-every-node", &servers, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(lock.release(KEY, &grant).await.unwrap());
    put(&servers[..1], KEY, "another's").await;
    assert!(lock.acquire(KEY, TTL, ONCE).await.unwrap().is_none());
}

fn scripted(name: &str, answers: impl IntoIterator<Item = Answer>) -> Box<dyn DynLock> {
    let node = Node::new(Scripted::new(answers));
    build(name, vec![node], Rc::new(RealClock), 1)
}

#[tokio::test(start_paused = true)]
async fn errors_pass_for_success() {
    let lost = || Answer::Breaks(std::io::ErrorKind::TimedOut);
    let mut lock = scripted("error-is-grant", [Answer::Refuses("OOM no")]);
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let mut lock = scripted("timeout-is-release", [lost()]);
    assert!(lock.release(KEY, &grant).await.unwrap());
    // An error reply is an answer, but not a success.
    let mut lock = scripted("timeout-is-release", [Answer::Refuses("OOM no")]);
    assert!(lock.release(KEY, &grant).await.is_err());
    let mut lock = scripted("retry-without-token", [lost(), Answer::Says(Value::Int(1))]);
    assert!(lock.release(KEY, &grant).await.unwrap());
}

/// The replies come after the lease has run out.
#[tokio::test(start_paused = true)]
async fn validity_underflow_believes_in_ages() {
    let late = || Answer::SaysAfter(1_100, Value::Okay);
    let ttl = Duration::from_secs(1);
    let mut sound = scripted("redlock", [late()]);
    assert!(!matches!(sound.acquire(KEY, ttl, ONCE).await, Ok(Some(_))));
    let mut lock = scripted("validity-underflow", [late()]);
    let grant = lock.acquire(KEY, ttl, ONCE).await.unwrap().unwrap();
    assert!(left(&grant) > Duration::from_secs(1 << 50));
}

#[tokio::test]
async fn sleeps_until_notified_looks_again_only_after_a_release() {
    let servers = servers_for("sleeps-until-notified");
    let mut holder = client("sleeps-until-notified", &servers, 1).await;
    let mut waiter = client("sleeps-until-notified", &servers, 2).await;
    let grant = holder.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let (_, waited) = tokio::join!(
        async { assert!(holder.release(KEY, &grant).await.unwrap()) },
        waiter.acquire(KEY, TTL, TTL)
    );
    assert!(waited.unwrap().is_some(), "it was woken");

    // Another client has the lock, and no release wakes the waiter, which only naps.
    let servers = servers_for("sleeps-until-notified");
    put(&servers, KEY, "another's").await;
    let clock = Rc::new(SetClock::default());
    let (mut waiter, log) = recorded("sleeps-until-notified", &servers, clock, 1).await;
    let wait = Duration::from_millis(30);
    assert_eq!(waiter.acquire(KEY, TTL, wait).await.unwrap(), None);
    let sent = log.take(&[]);
    assert!(sent[0].starts_with("SET "), "{sent:?}");
    let naps = sent[1..]
        .iter()
        .all(|command| command.starts_with("BLPOP "));
    assert!(sent.len() > 1 && naps, "{sent:?}");
}
