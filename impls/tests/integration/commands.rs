//! A lock sends the commands that its documentation names.

use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{Grant, LOCKS};
use redis::Script;

use crate::client::{SetClock, client_with_tasks, recorded, servers_for};
use crate::redis_server::RedisServer;

const ONCE: Duration = Duration::ZERO;
const KEY: &str = "k";

fn second() -> Duration {
    Duration::from_secs(1)
}

fn compare_and_delete() -> Script {
    Script::new(include_str!("../../src/locks/compare_and_delete.lua"))
}

fn compare_and_pexpire() -> Script {
    Script::new(include_str!("../../src/locks/compare_and_pexpire.lua"))
}

#[tokio::test]
async fn setnx_expire() {
    let servers = servers_for("setnx-expire");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("setnx-expire", &servers, clock, 1).await;
    let grant = lock
        .acquire(KEY, 2 * second(), ONCE)
        .await
        .unwrap()
        .unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SETNX k TOKEN", "EXPIRE k 2"]);
    lock.extend(KEY, &grant, second() / 2).await.unwrap();
    assert_eq!(log.take(&names), ["PEXPIRE k 500"]);
    lock.release(KEY, &grant).await.unwrap();
    assert_eq!(log.take(&names), ["DEL k"]);
}

#[tokio::test]
async fn getset() {
    let servers = servers_for("getset");
    let clock = SetClock::at(Duration::from_secs(100));
    let (mut first, first_log) = recorded("getset", &servers, Rc::new(clock.clone()), 1).await;
    let (mut other, other_log) = recorded("getset", &servers, Rc::new(clock.clone()), 2).await;
    let grant = first.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    assert_eq!(first_log.take(&[]), ["SETNX k 101001"]);

    // The key is not yet expired in the millisecond of its expiry; it is one millisecond later.
    clock.advance(Duration::from_millis(1001));
    assert_eq!(other.acquire(KEY, second(), ONCE).await.unwrap(), None);
    assert_eq!(other_log.take(&[]), ["SETNX k 102002", "GET k"]);
    clock.advance(Duration::from_millis(1));
    let taken = other.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    let taking = ["SETNX k 102003", "GET k", "GETSET k 102003"];
    assert_eq!(other_log.take(&[]), taking);

    // The late old holder deletes the other client's lock, because it only checks the time.
    assert!(first.release(KEY, &grant).await.unwrap());
    assert_eq!(first_log.take(&[]), ["GET k", "DEL k"]);
    assert!(!other.release(KEY, &taken).await.unwrap());
    assert_eq!(other_log.take(&[]), ["GET k"]);

    let grant = first.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    first_log.take(&[]);
    let longer = first.extend(KEY, &grant, 2 * second()).await.unwrap();
    assert_eq!(longer.unwrap().token, "103003");
    assert_eq!(first_log.take(&[]), ["GET k", "GETSET k 103003"]);
}

/// Returns the commands of the first call of `script`, on a server that has not seen it.
fn first_call(script: &Script, code: &str, arguments: &str) -> Vec<String> {
    let call = format!("EVALSHA {} 1 k {arguments}", script.get_hash());
    vec![call.clone(), format!("SCRIPT LOAD {code}"), call]
}

#[tokio::test]
async fn set_nx_px() {
    let servers = servers_for("set-nx-px");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("set-nx-px", &servers, clock, 1).await;
    let grant = lock.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    assert_eq!(grant.token.len(), 40);
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SET k TOKEN NX PX 1000"]);

    let code = include_str!("../../src/locks/compare_and_pexpire.lua");
    lock.extend(KEY, &grant, 2 * second()).await.unwrap();
    let extending = first_call(&compare_and_pexpire(), code, "TOKEN 2000");
    assert_eq!(log.take(&names), extending);

    let code = include_str!("../../src/locks/compare_and_delete.lua");
    assert!(lock.release(KEY, &grant).await.unwrap());
    let releasing = first_call(&compare_and_delete(), code, "TOKEN");
    assert_eq!(log.take(&names), releasing);
    assert!(!lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), releasing[2..]);
}

#[tokio::test]
async fn redlock() {
    let servers: Vec<RedisServer> = (0..3).map(|_| RedisServer::start()).collect();
    for server in &servers {
        let mut redis = server.connect().await;
        compare_and_delete().load_async(&mut redis).await.unwrap();
        compare_and_pexpire().load_async(&mut redis).await.unwrap();
    }
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("redlock", &servers, clock.clone(), 1).await;
    let grant = lock
        .acquire(KEY, 20 * second(), ONCE)
        .await
        .unwrap()
        .unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SET k TOKEN NX PX 20000"; 3]);
    lock.extend(KEY, &grant, 30 * second()).await.unwrap();
    let extending = format!(
        "EVALSHA {} 1 k TOKEN 30000",
        compare_and_pexpire().get_hash()
    );
    assert_eq!(log.take(&names), vec![extending; 3]);

    // A loser cleans up on all nodes.
    let deleting = format!("EVALSHA {} 1 k ", compare_and_delete().get_hash());
    let (mut loser, loser_log) = recorded("redlock", &servers, clock, 2).await;
    assert_eq!(loser.acquire(KEY, second(), ONCE).await.unwrap(), None);
    let commands = loser_log.take(&[]);
    assert_eq!(commands.len(), 6);
    assert!(commands[..3].iter().all(|c| c.starts_with("SET k ")));
    assert!(commands[3..].iter().all(|c| c.starts_with(&deleting)));

    let forged = Grant {
        token: "TOKEN".into(),
        ..grant.clone()
    };
    assert!(!lock.release(KEY, &forged).await.unwrap());
    assert!(lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), vec![format!("{deleting}TOKEN"); 6]);
}

/// These locks release and extend like `set-nx-px`.
#[tokio::test]
async fn commands_of_a_script_that_take_the_lock() {
    let scripts = [
        (
            "setnx-lua",
            include_str!("../../src/locks/setnx_pexpire.lua"),
            "1 k",
        ),
        (
            "fenced",
            include_str!("../../src/locks/set_and_count.lua"),
            "2 k k:fence",
        ),
    ];
    for (name, code, keys) in scripts {
        let servers = servers_for(name);
        let clock = Rc::new(SetClock::default());
        let (mut lock, log) = recorded(name, &servers, clock, 1).await;
        let grant = lock.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
        let names = [(grant.token.as_str(), "TOKEN")];
        let call = format!("EVALSHA {} {keys} TOKEN 1000", Script::new(code).get_hash());
        let taking = [call.clone(), format!("SCRIPT LOAD {code}"), call];
        assert_eq!(log.take(&names), taking);
        assert!(lock.release(KEY, &grant).await.unwrap());
        let code = include_str!("../../src/locks/compare_and_delete.lua");
        assert_eq!(
            log.take(&names),
            first_call(&compare_and_delete(), code, "TOKEN")
        );
    }
}

#[tokio::test]
async fn get_then_del() {
    let servers = servers_for("get-then-del");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("get-then-del", &servers, clock, 1).await;
    let grant = lock.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SET k TOKEN NX PX 1000"]);
    lock.extend(KEY, &grant, 2 * second()).await.unwrap();
    assert_eq!(log.take(&names), ["GET k", "PEXPIRE k 2000"]);
    assert!(lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), ["GET k", "DEL k"]);
    assert!(!lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), ["GET k"]);
}

/// The transaction is sent in one batch, which is not recorded.
#[tokio::test]
async fn lock_take() {
    let servers = servers_for("lock-take");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("lock-take", &servers, clock, 1).await;
    let grant = lock.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(log.take(&names), ["SET k TOKEN NX PX 1000"]);
    lock.extend(KEY, &grant, 2 * second()).await.unwrap();
    assert_eq!(log.take(&names), ["WATCH k", "GET k"]);
    assert!(lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), ["WATCH k", "GET k"]);
    assert!(!lock.release(KEY, &grant).await.unwrap());
    assert_eq!(log.take(&names), ["WATCH k", "GET k", "UNWATCH"]);
}

#[tokio::test]
async fn replicated() {
    let servers = servers_for("replicated");
    let clock = Rc::new(SetClock::default());
    let (mut lock, log) = recorded("replicated", &servers, clock, 1).await;
    let grant = lock
        .acquire(KEY, 100 * second(), ONCE)
        .await
        .unwrap()
        .unwrap();
    let names = [(grant.token.as_str(), "TOKEN")];
    assert_eq!(
        log.take(&names),
        ["SET k TOKEN NX PX 100000", "WAIT 1 10000"]
    );
    assert!(
        lock.extend(KEY, &grant, 200 * second())
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(log.take(&names).last().unwrap(), "WAIT 1 20000");
    assert!(lock.release(KEY, &grant).await.unwrap());
    log.take(&[]);

    // Without its replica the lock deletes the key again, and reports a refusal.
    servers[0].cut_replicas();
    assert_eq!(lock.acquire(KEY, second(), ONCE).await.unwrap(), None);
    let commands = log.take(&[]);
    assert!(commands[0].starts_with("SET k "), "{commands:?}");
    assert_eq!(commands[1], "WAIT 1 100");
    assert!(commands[2].starts_with("EVALSHA "), "{commands:?}");
    let mut redis = servers[0].connect().await;
    let left: bool = redis::Cmd::exists(KEY)
        .query_async(&mut redis)
        .await
        .unwrap();
    assert!(!left);
}

/// The counter survives the lock.
#[tokio::test]
async fn fencing_tokens_count_every_grant_and_nothing_else() {
    let servers = servers_for("fenced");
    let clock = Rc::new(SetClock::default());
    let (mut one, _) = recorded("fenced", &servers, clock.clone(), 1).await;
    let (mut other, _) = recorded("fenced", &servers, clock, 2).await;
    for round in 0..3 {
        let grant = one.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
        assert_eq!(grant.fence, Some(2 * round + 1));
        assert_eq!(other.acquire(KEY, second(), ONCE).await.unwrap(), None);
        let longer = one
            .extend(KEY, &grant, 2 * second())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(longer.fence, grant.fence);
        assert!(one.release(KEY, &grant).await.unwrap());
        let grant = other.acquire(KEY, second(), ONCE).await.unwrap().unwrap();
        assert_eq!(grant.fence, Some(2 * round + 2));
        assert!(other.release(KEY, &grant).await.unwrap());
    }
}

/// No lock's commands leave a key without a TTL, except for locks that are known for it.
#[tokio::test]
async fn the_key_has_a_ttl() {
    for name in LOCKS.iter().map(|lock| lock.name) {
        let expires = name != "getset";
        let servers = servers_for(name);
        let clock = Rc::new(SetClock::default());
        let (mut lock, _) = recorded(name, &servers, clock, 1).await;
        client_with_tasks(lock.acquire(KEY, 20 * second(), ONCE))
            .await
            .unwrap()
            .unwrap();
        for server in &servers {
            let mut redis = server.connect().await;
            let ttl_ms: i64 = redis::Cmd::pttl(KEY).query_async(&mut redis).await.unwrap();
            assert_eq!((1..=20_000).contains(&ttl_ms), expires, "{name}: {ttl_ms}");
            assert!(expires || ttl_ms == -1, "{name}: {ttl_ms}");
        }
    }
}
