//! Every mutant has the defect that its name describes, and the two lists do not overlap.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{LOCKS, MUTANTS, find};
use redis::AsyncCommands;

use crate::client::{SetClock, client, recorded, servers_for};

const TTL: Duration = Duration::from_secs(20);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "stock:1";

#[test]
fn every_name_is_found_and_is_one_of_a_kind() {
    let all = || LOCKS.iter().chain(MUTANTS);
    let names: BTreeSet<&str> = all().map(|lock| lock.name).collect();
    assert_eq!(names.len(), all().count());
    for lock in all() {
        let found = find(lock.name).map(|found| found.summary);
        assert_eq!(found, Some(lock.summary));
    }
    assert!(find("redlok").is_none());
}

#[tokio::test]
async fn no_lock_lets_everybody_in() {
    let servers = servers_for("no-lock");
    let mut first = client("no-lock", &servers, 1).await;
    let mut second = client("no-lock", &servers, 2).await;
    let grant = first.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let other = second.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert_ne!(grant.token, other.token);
    assert!(first.release(KEY, &grant).await.unwrap());
}

#[tokio::test]
async fn redlock_no_quorum_is_content_with_one() {
    let servers = servers_for("redlock-no-quorum");
    for server in &servers[..4] {
        let _: () = server.connect().await.set(KEY, "another's").await.unwrap();
    }
    let mut lock = client("redlock-no-quorum", &servers, 1).await;
    assert!(lock.acquire(KEY, TTL, ONCE).await.unwrap().is_some());
}

#[tokio::test]
async fn release_without_token_takes_what_it_finds() {
    let servers = servers_for("release-without-token");
    let mut late = client("release-without-token", &servers, 1).await;
    let mut successor = client("release-without-token", &servers, 2).await;
    let grant = late.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let _: () = servers[0].connect().await.del(KEY).await.unwrap();
    let theirs = successor.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(late.release(KEY, &grant).await.unwrap());
    assert!(!successor.release(KEY, &theirs).await.unwrap());
}

#[tokio::test]
async fn no_expiry_never_expires() {
    let servers = servers_for("no-expiry");
    let mut lock = client("no-expiry", &servers, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let ttl_ms: i64 = servers[0].connect().await.pttl(KEY).await.unwrap();
    assert_eq!(ttl_ms, -1);
    assert!(lock.release(KEY, &grant).await.unwrap());
}

#[tokio::test]
async fn twice_as_slow_asks_once_more_than_it_needs() {
    let servers = servers_for("twice-as-slow");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("twice-as-slow", &servers, clock, 1).await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    let looked = format!("GET {KEY}");
    let took = format!("SET {KEY} TOKEN NX PX 20000");
    assert_eq!(log.take(&names), [looked, took]);
    assert!(lock.release(KEY, &grant).await.unwrap());
}

/// Returns the key's remaining time to live in milliseconds after its holder has taken the lock again for a second, and
/// after it has released that inner hold.
async fn reentered(name: &str) -> (i64, i64) {
    let servers = servers_for(name);
    let mut redis = servers[0].connect().await;
    let mut lock = client(name, &servers, 1).await;
    let outer = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let brief = Duration::from_secs(1);
    let inner = lock.acquire(KEY, brief, ONCE).await.unwrap().unwrap();
    let inside: i64 = redis.pttl(KEY).await.unwrap();
    lock.release(KEY, &inner).await.unwrap();
    let after: i64 = redis.pttl(KEY).await.unwrap();
    let stood = lock.release(KEY, &outer).await.unwrap();
    assert_eq!(stood, after > 0);
    (inside, after)
}

#[tokio::test]
async fn inner_pair_keeps_the_lease_except_in_mutants() {
    let (inside, after) = reentered("reentrant").await;
    assert!(inside > 10_000 && after > 10_000, "{inside}, {after}");
    let (inside, after) = reentered("inner-lease-counts").await;
    assert!(inside <= 1_000 && after <= 1_000, "{inside}, {after}");
    let (inside, after) = reentered("inner-release-frees").await;
    assert!(inside > 10_000 && after == -2, "{inside}, {after}");
}

#[tokio::test]
async fn count_of_a_sound_reentrant_lock_dies_with_the_key() {
    let servers = servers_for("reentrant");
    let mut redis = servers[0].connect().await;
    let mut lock = client("reentrant", &servers, 1).await;
    let lost = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    let _: () = redis.set(KEY, "another's").await.unwrap();
    assert!(lock.acquire(KEY, TTL, ONCE).await.unwrap().is_none());
    assert!(!lock.release(KEY, &lost).await.unwrap());
}
