use std::path::Path;
use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::servers::{BackendError, Binary, Layout, RunDir, ServerKind, Servers};
use picklock_scenarios::Persistence;

use super::ask::{ask, is_frozen, is_refused, set_with_replicas};
use super::data::loses_the_last_second_and_no_more;
use super::reexecution::reaper;

fn layout(nodes: usize, replicas: usize, persistence: Persistence) -> Layout {
    Layout {
        nodes,
        replicas,
        sentinels: 0,
        persistence,
        clocks_shift: false,
    }
}

/// Servers, and the directory that must outlive them.
async fn start(layout: Layout) -> (Servers, RunDir) {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let binary = Binary::find(None).expect("these tests need a redis-server on PATH");
    let clock = Clock::start();
    let servers = Servers::start(&ServerKind::Process(binary), layout, dir.path(), &reaper)
        .await
        .unwrap();
    println!(
        "{} processes started in {:?}",
        layout.nodes,
        clock.elapsed()
    );
    (servers, dir)
}

#[tokio::test]
async fn five_nodes_come_up_and_tell_who_they_are() {
    let (servers, dir) = start(layout(5, 0, Persistence::None)).await;
    for node in 0..5 {
        assert!(servers.address(node).socket().ip().is_loopback());
        assert_eq!(ask(servers.address(node), &["PING"]).await, "PONG");
        assert!(
            servers
                .log_tail(node, 1)
                .await
                .contains("Ready to accept connections")
        );
    }
    assert!(["redis", "valkey"].contains(&&*servers.server().server));
    assert!(
        servers
            .server()
            .version
            .starts_with(|c: char| c.is_ascii_digit())
    );
    let addresses: Vec<_> = (0..5).map(|node| servers.address(node)).collect();
    servers.stop().await.unwrap();
    for address in addresses {
        assert!(is_refused(address).await);
    }
    let log = std::fs::read_to_string(dir.path().join("node-4.log")).unwrap();
    assert!(log.contains("Ready to accept connections"));
}

#[tokio::test]
async fn a_frozen_node_answers_nothing_until_it_is_thawed() {
    let (servers, _dir) = start(layout(2, 0, Persistence::None)).await;
    servers.pause(0).await.unwrap();
    assert!(is_frozen(servers.address(0)).await);
    assert_eq!(ask(servers.address(1), &["PING"]).await, "PONG");
    servers
        .pause(0)
        .await
        .expect("freezing the frozen changes nothing");
    servers.resume(0).await.unwrap();
    assert_eq!(ask(servers.address(0), &["PING"]).await, "PONG");
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn a_frozen_node_can_be_killed_and_ended() {
    let (servers, _dir) = start(layout(2, 0, Persistence::None)).await;
    servers.pause(0).await.unwrap();
    servers.crash(0).await.unwrap();
    assert!(is_refused(servers.address(0)).await);
    servers.pause(1).await.unwrap();
    servers.stop().await.unwrap();
}

/// What a key is after the node was killed and started again.
async fn after_a_crash(persistence: Persistence) -> String {
    let (servers, _dir) = start(layout(1, 0, persistence)).await;
    let address = servers.address(0);
    assert_eq!(ask(address, &["SET", "lock", "mine"]).await, "OK");
    servers.crash(0).await.unwrap();
    assert!(is_refused(address).await);
    assert!(matches!(servers.crash(0).await, Err(BackendError::Down(_))));
    assert!(matches!(servers.pause(0).await, Err(BackendError::Down(_))));
    assert_eq!(servers.restart(0).await.unwrap(), address);
    assert!(matches!(servers.restart(0).await, Err(BackendError::Up(_))));
    let kept = ask(address, &["GET", "lock"]).await;
    servers.stop().await.unwrap();
    kept
}

#[tokio::test]
async fn a_node_without_persistence_comes_back_empty_at_the_same_address() {
    assert_eq!(after_a_crash(Persistence::None).await, "nil");
}

#[tokio::test]
async fn a_node_that_syncs_always_comes_back_with_its_data() {
    assert_eq!(after_a_crash(Persistence::AofAlways).await, "mine");
}

#[tokio::test]
async fn a_node_whose_snapshot_was_not_due_comes_back_empty() {
    assert_eq!(after_a_crash(Persistence::Rdb).await, "nil");
}

#[tokio::test]
async fn a_power_loss_takes_the_last_second_and_no_more() {
    let (servers, _dir) = start(layout(1, 0, Persistence::AofEverysec)).await;
    loses_the_last_second_and_no_more(&servers).await;
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn replicas_get_what_their_master_is_told_also_after_a_restart() {
    let (servers, _dir) = start(layout(2, 2, Persistence::AofAlways)).await;
    for node in 0..2 {
        let name = node.to_string();
        set_with_replicas(servers.address(node), "node", &name, 2).await;
        for replica in 0..2 {
            let address = servers.replica_address(node, replica);
            assert_eq!(ask(address, &["GET", "node"]).await, name);
        }
    }
    servers.crash(0).await.unwrap();
    let master = servers.restart(0).await.unwrap();
    set_with_replicas(master, "after", "it", 2).await;
    assert_eq!(
        ask(servers.replica_address(0, 1), &["GET", "after"]).await,
        "it"
    );
    servers.stop().await.unwrap();
}

/// Its clock goes on while it is dead: a lease that was kept has run out by then.
#[tokio::test]
async fn a_restart_may_come_after_every_lease() {
    let (servers, _dir) = start(layout(1, 0, Persistence::AofAlways)).await;
    let address = servers.address(0);
    ask(address, &["SET", "lease", "mine", "PX", "500"]).await;
    ask(address, &["SET", "kept", "mine"]).await;
    servers.crash(0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    servers.restart(0).await.unwrap();
    assert_eq!(ask(address, &["GET", "kept"]).await, "mine");
    assert_eq!(ask(address, &["GET", "lease"]).await, "nil");
    servers.stop().await.unwrap();
}

/// A server that finds its port taken the first time, as another program may have been faster.
#[tokio::test]
async fn a_taken_port_is_given_up_for_another() {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let real = Binary::find(None).unwrap();
    let script = format!(
        "#!/bin/sh\nif mkdir {marker} 2>/dev/null; then\n  echo 'bind: Address already in use'\n  exit 1\nfi\nexec {real} \"$@\"\n",
        marker = dir.path().join("refused-once").display(),
        real = real.path().display(),
    );
    let path = write_program(dir.path(), &script);
    let binary = Binary::find(Some(&path)).unwrap();
    let layout = layout(1, 0, Persistence::None);
    let servers = Servers::start(&ServerKind::Process(binary), layout, dir.path(), &reaper)
        .await
        .unwrap();
    assert!(dir.path().join("refused-once").exists());
    assert_eq!(ask(servers.address(0), &["PING"]).await, "PONG");
    servers.stop().await.unwrap();
}

/// Writes a script that can be executed. Another process does it: a file that this one has open
/// for writing, or that a fork of another test's has for a moment, cannot be executed.
pub fn write_program(dir: &Path, script: &str) -> std::path::PathBuf {
    let path = dir.join("server");
    let status = std::process::Command::new("sh")
        .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .arg(script)
        .status()
        .unwrap();
    assert!(status.success());
    path
}
