//! Data faults and failovers, requested from a complete backend and checked on its servers.

use std::sync::Arc;
use std::time::Duration;

use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::backend::{Data, DataChange, Nodes, Replication};
use picklock_harness::clock::Clock;
use picklock_harness::proxy::{NoInterceptor, Proxy};
use picklock_harness::server_backend::{Parts, ServerBackend};
use picklock_harness::servers::{
    Binary, Image, Layout, RunDir, ServerAddress, ServerKind, Servers,
};
use picklock_scenarios::{BackendName, Persistence, Resource};
use redis::aio::MultiplexedConnection;

use super::ask::{ask, refusal};
use super::reexecution::reaper;

const LOCK: &str = "lock:1";

/// A backend without workers, and the addresses of its first node and that node's replica.
struct TestBackend {
    backend: ServerBackend,
    node: ServerAddress,
    replica: Option<ServerAddress>,
    _dir: RunDir,
}

async fn start(name: BackendName, replicas: usize) -> TestBackend {
    let (reaper, layout) = (
        reaper(),
        Layout {
            sentinels: 0,
            nodes: 1,
            replicas,
            persistence: Persistence::None,
            clocks_shift: false,
        },
    );
    let dir = RunDir::create(&reaper).unwrap();
    let servers = if name == BackendName::Docker {
        let image = Image::choose(None, None)
            .await
            .expect("an engine and an image");
        let started = Servers::start(&ServerKind::Docker(image), layout, dir.path(), &reaper).await;
        started.unwrap()
    } else {
        let binary = Binary::find(None).expect("a redis-server on PATH");
        let started =
            Servers::start(&ServerKind::Process(binary), layout, dir.path(), &reaper).await;
        started.unwrap()
    };
    let node = servers.address(0);
    let replica = (replicas > 0).then(|| servers.replica_address(0, 0));
    let clock = Clock::start();
    let interceptor = Arc::new(NoInterceptor);
    let proxy = Proxy::new(clock.clone(), vec![LOCK.into()], 7, interceptor);
    let parts = Parts {
        shared: None,
        name,
        nodes: 1,
        proxy,
        clock,
        command: WorkerCommand::default(),
        logs: dir.path().to_owned(),
        reaper,
        clock_shim: None,
        workload: Default::default(),
        blocks_tasks: false,
    };
    TestBackend {
        backend: ServerBackend::new(servers, None, parts),
        node,
        replica,
        _dir: dir,
    }
}

async fn connected(server: ServerAddress) -> MultiplexedConnection {
    let client = server.client().unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

async fn check_keys_and_scripts(test: &TestBackend) {
    let change = |change: DataChange| async move { test.backend.change_data(0, &change).await };
    let evict = || DataChange::Evict(vec![LOCK.into(), "lock:2".into()]);
    ask(test.node, &["SET", LOCK, "mine"]).await;
    ask(test.node, &["SET", "other", "mine"]).await;
    assert_eq!(change(evict()).await, Ok(1));
    assert_eq!(ask(test.node, &["GET", LOCK]).await, "nil");
    assert_eq!(ask(test.node, &["GET", "other"]).await, "mine");
    assert_eq!(change(evict()).await, Ok(0));

    let script = ask(test.node, &["SCRIPT", "LOAD", "return 'known'"]).await;
    change(DataChange::FlushAll).await.unwrap();
    assert_eq!(ask(test.node, &["GET", "other"]).await, "nil");
    assert_eq!(ask(test.node, &["EVALSHA", &script, "0"]).await, "known");
    change(DataChange::FlushScripts).await.unwrap();
    let unknown = refusal(test.node, &["EVALSHA", &script, "0"]).await;
    assert!(unknown.contains("No matching script"), "{unknown}");
}

async fn check_memory(test: &TestBackend) {
    let change = |change: DataChange| async move { test.backend.change_data(0, &change).await };
    let before = ["maxmemory-policy", "allkeys-lru"];
    ask(test.node, &["CONFIG", "SET", before[0], before[1]]).await;
    ask(test.node, &["SET", "there", "before"]).await;
    change(DataChange::Exhaust(Resource::Memory)).await.unwrap();
    let full = refusal(test.node, &["SET", LOCK, "mine"]).await;
    assert!(full.contains("OOM") || full.contains("maxmemory"), "{full}");
    assert_eq!(ask(test.node, &["GET", "there"]).await, "before");
    // A second fault of the same kind, after which a command must still succeed.
    change(DataChange::Exhaust(Resource::Memory)).await.unwrap();
    change(DataChange::Replenish(Resource::Memory))
        .await
        .unwrap();
    refusal(test.node, &["SET", LOCK, "mine"]).await;
    change(DataChange::Replenish(Resource::Memory))
        .await
        .unwrap();
    assert_eq!(ask(test.node, &["SET", LOCK, "mine"]).await, "OK");
    let mut connection = connected(test.node).await;
    for (name, value) in [("maxmemory", "0"), (before[0], before[1])] {
        let mut command = redis::cmd("CONFIG");
        let get = command.arg("GET").arg(name).query_async(&mut connection);
        let setting: Vec<String> = get.await.unwrap();
        assert_eq!(setting, [name, value]);
    }
}

async fn check_connections(test: &TestBackend) {
    let change = |change: DataChange| async move { test.backend.change_data(0, &change).await };
    let ping = async |connection: &mut MultiplexedConnection| {
        let ping = redis::cmd("PING");
        ping.query_async::<String>(connection).await
    };
    let mut old = connected(test.node).await;
    assert_eq!(ping(&mut old).await.unwrap(), "PONG");
    ask(test.node, &["SET", LOCK, "mine"]).await;
    change(DataChange::Exhaust(Resource::Connections))
        .await
        .unwrap();
    let error = refusal(test.node, &["PING"]).await;
    println!("a new client gets: {error}");
    assert_eq!(ping(&mut old).await.unwrap(), "PONG");
    // The backend's own connection still works.
    let evict = DataChange::Evict(vec![LOCK.into()]);
    assert_eq!(change(evict).await, Ok(1));
    // After the old client has left, no other client may get its slot.
    drop(old);
    refusal(test.node, &["PING"]).await;
    change(DataChange::Replenish(Resource::Connections))
        .await
        .unwrap();
    assert_eq!(ask(test.node, &["PING"]).await, "PONG");
}

/// A restarted server has the settings from its command line.
async fn check_after_a_restart(test: &TestBackend) {
    for resource in [Resource::Memory, Resource::Connections] {
        let exhaust = DataChange::Exhaust(resource);
        test.backend.change_data(0, &exhaust).await.unwrap();
        test.backend.crash_node(0).await.unwrap();
        let dead = test.backend.change_data(0, &DataChange::FlushAll).await;
        assert!(dead.is_err(), "{dead:?}");
        test.backend.restart_node(0).await.unwrap();
        assert_eq!(ask(test.node, &["SET", LOCK, "mine"]).await, "OK");
        let relief = DataChange::Replenish(resource);
        test.backend.change_data(0, &relief).await.unwrap();
    }
}

#[tokio::test]
async fn data_faults_work_on_processes() {
    let test = start(BackendName::Process, 0).await;
    check_keys_and_scripts(&test).await;
    check_memory(&test).await;
    check_connections(&test).await;
    check_after_a_restart(&test).await;
    test.backend.take_down().await.unwrap();
}

#[tokio::test]
async fn data_faults_work_on_containers() {
    let test = start(BackendName::Docker, 0).await;
    check_keys_and_scripts(&test).await;
    check_memory(&test).await;
    check_connections(&test).await;
    test.backend.take_down().await.unwrap();
}

/// Checks that the replica has the early write, and the late one only if the replication link was not cut.
async fn check_failover(name: BackendName, cut: bool) {
    let test = start(name, 1).await;
    let replica = test.replica.unwrap();
    super::ask::set_with_replicas(test.node, "early", "there", 1).await;
    if cut {
        test.backend.cut_replication(0).await.unwrap();
    }
    ask(test.node, &["SET", "late", "there"]).await;
    if cut {
        assert_eq!(ask(replica, &["GET", "late"]).await, "nil");
    }
    test.backend.fail_over(0).await.unwrap();
    assert!(
        refusal(replica, &["NONSENSE"])
            .await
            .contains("unknown command")
    );
    assert_eq!(ask(replica, &["GET", "early"]).await, "there");
    let late = if cut { "nil" } else { "there" };
    assert_eq!(ask(replica, &["GET", "late"]).await, late);
    assert_eq!(ask(replica, &["SET", "more", "there"]).await, "OK");
    assert!(
        super::ask::is_refused(test.node).await,
        "the old master is running"
    );
    // Requests for the node now go to the new master.
    let evict = DataChange::Evict(vec!["early".into()]);
    assert_eq!(test.backend.change_data(0, &evict).await, Ok(1));
    assert_eq!(ask(replica, &["GET", "early"]).await, "nil");
    test.backend.take_down().await.unwrap();
}

#[tokio::test]
async fn process_fails_over_to_its_replica() {
    check_failover(BackendName::Process, false).await;
    check_failover(BackendName::Process, true).await;
}

#[tokio::test]
async fn container_fails_over_to_its_replica() {
    check_failover(BackendName::Docker, false).await;
    check_failover(BackendName::Docker, true).await;
}

/// Kills the first node within a second of a write, and once more after its restart. Checks that only that write is
/// lost.
pub async fn check_loss_of_the_last_second(servers: &Servers) {
    let second = Duration::from_secs(1);
    let ask_node = async |words: &[&str]| ask(servers.address(0), words).await;
    loop {
        ask_node(&["SET", "old", "kept"]).await;
        // An earlier attempt may have left the key.
        ask_node(&["DEL", "young"]).await;
        tokio::time::sleep(2 * second).await;
        let clock = Clock::start();
        ask_node(&["SET", "young", "lost"]).await;
        servers.crash(0).await.unwrap();
        let in_time = clock.elapsed() < second;
        servers.restart(0).await.unwrap();
        assert_eq!(ask_node(&["GET", "old"]).await, "kept");
        // If the machine was so busy that the kill took a second, the young key was already durable.
        if in_time {
            break;
        }
    }
    assert_eq!(ask_node(&["GET", "young"]).await, "nil");
    // The data that the server restarted with is on the disk, so the next loss does not affect it.
    servers.crash(0).await.unwrap();
    servers.restart(0).await.unwrap();
    assert_eq!(ask_node(&["GET", "old"]).await, "kept");
}
