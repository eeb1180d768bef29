use std::path::Path;
use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::servers::{BackendError, Binary, Layout, RunDir, ServerKind, Servers};
use picklock_scenarios::Persistence;

use super::ask::{ask, is_frozen, is_refused, set_with_replicas};
use super::data::check_loss_of_the_last_second;
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

/// Starts servers. Returns them with their directory, which must outlive them.
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
async fn five_nodes_start_and_report_their_version() {
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
async fn frozen_node_does_not_answer_until_it_is_thawed() {
    let (servers, _dir) = start(layout(2, 0, Persistence::None)).await;
    servers.pause(0).await.unwrap();
    assert!(is_frozen(servers.address(0)).await);
    assert_eq!(ask(servers.address(1), &["PING"]).await, "PONG");
    servers
        .pause(0)
        .await
        .expect("freezing a frozen node has no effect");
    servers.resume(0).await.unwrap();
    assert_eq!(ask(servers.address(0), &["PING"]).await, "PONG");
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn frozen_node_can_be_killed_and_stopped() {
    let (servers, _dir) = start(layout(2, 0, Persistence::None)).await;
    servers.pause(0).await.unwrap();
    servers.crash(0).await.unwrap();
    assert!(is_refused(servers.address(0)).await);
    servers.pause(1).await.unwrap();
    servers.stop().await.unwrap();
}

/// Returns the value of a key after the node was killed and restarted.
async fn value_after_a_crash(persistence: Persistence) -> String {
    let (servers, _dir) = start(layout(1, 0, persistence)).await;
    let address = servers.address(0);
    assert_eq!(ask(address, &["SET", "lock", "mine"]).await, "OK");
    servers.crash(0).await.unwrap();
    assert!(is_refused(address).await);
    assert!(matches!(servers.crash(0).await, Err(BackendError::Down(_))));
    assert!(matches!(servers.pause(0).await, Err(BackendError::Down(_))));
    assert_eq!(servers.restart(0).await.unwrap(), address);
    assert!(matches!(servers.restart(0).await, Err(BackendError::Up(_))));
    let value = ask(address, &["GET", "lock"]).await;
    servers.stop().await.unwrap();
    value
}

#[tokio::test]
async fn node_without_persistence_restarts_empty_at_the_same_address() {
    assert_eq!(value_after_a_crash(Persistence::None).await, "nil");
}

#[tokio::test]
async fn node_that_always_syncs_restarts_with_its_data() {
    assert_eq!(value_after_a_crash(Persistence::AofAlways).await, "mine");
}

#[tokio::test]
async fn node_whose_snapshot_was_not_due_restarts_empty() {
    assert_eq!(value_after_a_crash(Persistence::Rdb).await, "nil");
}

#[tokio::test]
async fn power_loss_removes_only_the_last_second() {
    let (servers, _dir) = start(layout(1, 0, Persistence::AofEverysec)).await;
    check_loss_of_the_last_second(&servers).await;
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn replicas_follow_their_master_after_a_restart() {
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

/// The server's clock continues while the server is dead, so a lease that was saved has expired by the restart.
#[tokio::test]
async fn lease_can_expire_while_its_server_is_dead() {
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

/// The server finds its port in use at the first attempt, as if another program had been faster.
#[tokio::test]
async fn server_retries_on_another_port_if_its_port_is_in_use() {
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

/// Writes an executable script. Another process writes it, because a file that is open for writing in this process, or
/// briefly in a fork for another test, cannot be executed.
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
