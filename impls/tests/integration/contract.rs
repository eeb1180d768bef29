//! Requirements on every lock, on real servers without faults.

use std::time::Duration;

use picklock_impls::{Grant, LOCKS, LockError};
use redis::AsyncCommands;

use crate::client::{client, client_with_tasks, left, servers_for};

const TTL: Duration = Duration::from_secs(20);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "stock:1";

fn names() -> impl Iterator<Item = &'static str> {
    LOCKS.iter().map(|lock| lock.name)
}

#[tokio::test]
async fn excludes_until_it_is_released() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut first = client(name, &servers, 1).await;
            let mut second = client(name, &servers, 2).await;
            let grant = first.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            assert_eq!(
                second.acquire(KEY, TTL, ONCE).await.unwrap(),
                None,
                "{name}"
            );
            assert!(
                second
                    .acquire("another", TTL, ONCE)
                    .await
                    .unwrap()
                    .is_some(),
                "{name}: another key is another lock"
            );
            assert!(first.release(KEY, &grant).await.unwrap(), "{name}");
            let again = second.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            // A clock does not identify a holder: two grants in the same millisecond have the same timestamp.
            if name != "getset" {
                assert_ne!(grant.token, again.token, "{name}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn reported_validity_is_less_than_the_requested_lease() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut lock = client(name, &servers, 1).await;
            let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            let valid_for = left(&grant);
            assert!(valid_for < TTL && !valid_for.is_zero(), "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_waiting_client_gets_it_when_it_is_released() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut holder = client(name, &servers, 1).await;
            let mut waiter = client(name, &servers, 2).await;
            let grant = holder.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            let (_, waited) = tokio::join!(
                async { assert!(holder.release(KEY, &grant).await.unwrap(), "{name}") },
                waiter.acquire(KEY, TTL, TTL)
            );
            assert!(waited.unwrap().is_some(), "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_lock_that_nobody_releases_expires() {
    client_with_tasks(async {
        let ttl = Duration::from_millis(300);
        for name in names() {
            let servers = servers_for(name);
            let mut dead = client(name, &servers, 1).await;
            let mut waiter = client(name, &servers, 2).await;
            // The wait ends when the lock is granted. The limit only bounds a defective lock.
            let granted = dead.acquire(KEY, ttl, 100 * ttl).await.unwrap();
            assert!(granted.is_some(), "{name}");
            // The client is dropped, so no task renews its lease.
            drop(dead);
            let granted = waiter.acquire(KEY, ttl, 100 * ttl).await.unwrap();
            assert!(granted.is_some(), "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_extended_lock_lives_longer() {
    client_with_tasks(async {
        for name in names().filter(|name| *name != "getset") {
            let servers = servers_for(name);
            let mut lock = client(name, &servers, 1).await;
            let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            let longer = lock
                .extend(KEY, &grant, 5 * TTL)
                .await
                .unwrap()
                .expect(name);
            assert!(left(&longer) > TTL, "{name}");
            let mut redis = servers[0].connect().await;
            let left: u128 = redis.pttl(KEY).await.unwrap();
            assert!(left > TTL.as_millis(), "{name}: {left}");
            assert!(lock.release(KEY, &longer).await.unwrap(), "{name}");
        }
    })
    .await;
}

/// An extension that re-creates a lost key would hide the gap (bug class S3).
#[tokio::test]
async fn a_lost_lock_is_neither_extended_nor_created_anew() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut lock = client(name, &servers, 1).await;
            let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            for server in &servers {
                let _: () = server.connect().await.del(KEY).await.unwrap();
            }
            assert_eq!(lock.extend(KEY, &grant, TTL).await.unwrap(), None, "{name}");
            assert!(!lock.release(KEY, &grant).await.unwrap(), "{name}");
            for server in &servers {
                let there: bool = server.connect().await.exists(KEY).await.unwrap();
                assert!(!there, "{name}");
            }
        }
    })
    .await;
}

/// Locks that promise to check the token must do so. Two are known not to check it.
#[tokio::test]
async fn only_some_look_whose_lock_they_release() {
    client_with_tasks(async {
        for name in names() {
            let checks_token = !["setnx-expire", "getset"].contains(&name);
            let servers = servers_for(name);
            let mut holder = client(name, &servers, 1).await;
            let mut thief = client(name, &servers, 2).await;
            holder.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            let forged = Grant {
                token: "not the holder's".into(),
                fence: None,
                valid_until: None,
            };
            let extended = thief.extend(KEY, &forged, TTL).await.unwrap();
            assert_eq!(extended.is_none(), checks_token, "{name}");
            let stolen = thief.release(KEY, &forged).await.unwrap();
            assert_eq!(stolen, !checks_token, "{name}");
        }
    })
    .await;
}

/// `PEXPIRE key 0` deletes the key, so a lease of zero must not reach Redis (bug class S6).
#[tokio::test]
async fn a_lease_of_nothing_is_a_bad_call() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut lock = client(name, &servers, 1).await;
            for ttl in [Duration::ZERO, Duration::from_micros(999)] {
                let error = lock.acquire(KEY, ttl, ONCE).await.unwrap_err();
                assert!(matches!(error, LockError::BadCall(_)), "{name}: {error}");
                assert!(error.is_definite(), "{name}");
            }
            let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
            let error = lock.extend(KEY, &grant, Duration::ZERO).await.unwrap_err();
            assert!(matches!(error, LockError::BadCall(_)), "{name}: {error}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_lock_without_a_node_is_a_bad_call() {
    client_with_tasks(async {
        for built_in in LOCKS {
            let mut lock = crate::client::build(
                built_in.name,
                Vec::new(),
                std::rc::Rc::new(crate::client::RealClock),
                1,
            );
            let error = lock.acquire(KEY, TTL, ONCE).await.unwrap_err();
            assert!(matches!(error, LockError::BadCall(_)), "{}", built_in.name);
        }
    })
    .await;
}

/// After SCRIPT FLUSH the next release must send its script again (bug class L11).
#[tokio::test]
async fn a_flushed_script_cache_does_not_prevent_the_release() {
    client_with_tasks(async {
        for name in names() {
            let servers = servers_for(name);
            let mut lock = client(name, &servers, 1).await;
            for _ in 0..2 {
                let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
                assert!(lock.release(KEY, &grant).await.unwrap(), "{name}");
                for server in &servers {
                    let mut redis = server.connect().await;
                    redis::cmd("SCRIPT")
                        .arg("FLUSH")
                        .exec_async(&mut redis)
                        .await
                        .unwrap();
                }
            }
        }
    })
    .await;
}
