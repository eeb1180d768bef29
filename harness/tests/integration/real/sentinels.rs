//! Sentinels with real servers find each other, promote a replica, and turn the stale master into a replica.

use picklock_harness::servers::{Binary, Image, Layout, RunDir, ServerKind, Servers, master_name};
use picklock_scenarios::Persistence;

use super::ask::{ask, ask_while_roles_change, is_frozen, is_refused, set_with_replicas};
use super::docker::containers_of;
use super::reexecution::reaper;

const LAYOUT: Layout = Layout {
    clocks_shift: false,
    nodes: 2,
    replicas: 1,
    sentinels: 3,
    persistence: Persistence::None,
};

/// Maximum number of attempts while [`check_failover`] is inconclusive.
const ATTEMPTS: usize = 3;

/// Repeats the attempt until it is conclusive.
async fn retry_until_conclusive(attempt: impl AsyncFn() -> bool) {
    for _ in 0..ATTEMPTS {
        if attempt().await {
            return;
        }
    }
    panic!("the Sentinels failed over too late or too often {ATTEMPTS} times");
}

/// Freezes the master of node 1, and checks the promotion and a key. Returns `false` if the test is inconclusive
/// because the machine was too busy: the Sentinels did not agree in time, or considered a master dead that was not
/// frozen. If they considered the new master dead, they promoted the old master again, with all its data.
async fn check_failover(servers: &Servers) -> bool {
    let group = servers.sentinel_group().unwrap();
    let (master, replica) = (servers.address(1), servers.replica_address(1, 0));
    for sentinel in group.listening() {
        assert!(sentinel.socket().ip().is_loopback());
        let quorum = ask(*sentinel, &["SENTINEL", "CKQUORUM", &master_name(1)]).await;
        assert!(quorum.starts_with("OK 3 usable Sentinels"), "{quorum}");
    }
    set_with_replicas(master, "lock", "mine", 1).await;
    if group.last_failover(1).await > 0 {
        return false;
    }
    servers.pause(1).await.unwrap();
    assert!(is_frozen(master).await);
    match group.promoted(1).await {
        Ok(replica) => assert_eq!(replica, 1),
        Err(_) => return false,
    }
    assert!(group.last_failover(1).await > 0);
    if group.last_failover(0).await > 0 {
        return false;
    }
    assert_eq!(ask(replica, &["GET", "lock"]).await, "mine");
    assert_eq!(ask(replica, &["SET", "lock", "another's"]).await, "OK");
    // Node 0 is not affected.
    assert_eq!(ask(servers.address(0), &["SET", "k", "v"]).await, "OK");
    servers.resume(1).await.unwrap();
    // The stale master still accepts writes.
    assert_eq!(ask(master, &["SET", "stale", "lost"]).await, "OK");
    while ask_while_roles_change(master, &["GET", "stale"]).await != "nil" {
        if group.promoted(1).await.is_err() {
            return false;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let lock = ask_while_roles_change(master, &["GET", "lock"]).await;
    assert_eq!(lock, "another's");
    true
}

#[tokio::test]
async fn sentinels_fail_over_processes() {
    retry_until_conclusive(async || {
        let reaper = reaper();
        let dir = RunDir::create(&reaper).unwrap();
        let binary = Binary::find(None).expect("these tests need a redis-server on PATH");
        let kind = ServerKind::Process(binary);
        let started = Servers::start(&kind, LAYOUT, dir.path(), &reaper).await;
        let servers = started.unwrap();
        let is_conclusive = check_failover(&servers).await;
        let sentinels = servers.sentinel_group().unwrap().listening().to_vec();
        servers.stop().await.unwrap();
        for sentinel in sentinels {
            assert!(is_refused(sentinel).await);
        }
        let log = std::fs::read_to_string(dir.path().join("sentinel-2.log")).unwrap();
        assert!(
            !is_conclusive || log.contains("+switch-master picklock-1"),
            "{log}"
        );
        is_conclusive
    })
    .await;
}

#[tokio::test]
async fn sentinels_fail_over_containers() {
    retry_until_conclusive(async || {
        let reaper = reaper();
        let dir = RunDir::create(&reaper).unwrap();
        let image = Image::choose(None, None)
            .await
            .expect("these tests need a container engine and an image; see scripts/redis-image");
        let kind = ServerKind::Docker(image);
        let started = Servers::start(&kind, LAYOUT, dir.path(), &reaper).await;
        let servers = started.unwrap();
        let run = servers.run_id().unwrap().to_owned();
        assert_eq!(containers_of(&run).await.len(), 7);
        let is_conclusive = check_failover(&servers).await;
        servers.stop().await.unwrap();
        assert!(containers_of(&run).await.is_empty());
        let log = std::fs::read_to_string(dir.path().join("sentinel-2.log")).unwrap();
        assert!(
            !is_conclusive || log.contains("+switch-master picklock-1"),
            "{log}"
        );
        is_conclusive
    })
    .await;
}
