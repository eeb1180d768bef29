//! Faults of data and failovers, asked of a whole backend and seen at its servers.

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

/// A backend without workers, and where its first node and that one's replica listen.
struct Stage {
    backend: ServerBackend,
    node: ServerAddress,
    replica: Option<ServerAddress>,
    _dir: RunDir,
}

async fn stage(name: BackendName, replicas: usize) -> Stage {
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
    Stage {
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

async fn keys_and_scripts(stage: &Stage) {
    let change = |change: DataChange| async move { stage.backend.change_data(0, &change).await };
    let evict = || DataChange::Evict(vec![LOCK.into(), "lock:2".into()]);
    ask(stage.node, &["SET", LOCK, "mine"]).await;
    ask(stage.node, &["SET", "other", "mine"]).await;
    assert_eq!(change(evict()).await, Ok(1));
    assert_eq!(ask(stage.node, &["GET", LOCK]).await, "nil");
    assert_eq!(ask(stage.node, &["GET", "other"]).await, "mine");
    assert_eq!(change(evict()).await, Ok(0));

    let script = ask(stage.node, &["SCRIPT", "LOAD", "return 'known'"]).await;
    change(DataChange::FlushAll).await.unwrap();
    assert_eq!(ask(stage.node, &["GET", "other"]).await, "nil");
    assert_eq!(ask(stage.node, &["EVALSHA", &script, "0"]).await, "known");
    change(DataChange::FlushScripts).await.unwrap();
    let unknown = refusal(stage.node, &["EVALSHA", &script, "0"]).await;
    assert!(unknown.contains("No matching script"), "{unknown}");
}

async fn memory(stage: &Stage) {
    let change = |change: DataChange| async move { stage.backend.change_data(0, &change).await };
    let before = ["maxmemory-policy", "allkeys-lru"];
    ask(stage.node, &["CONFIG", "SET", before[0], before[1]]).await;
    ask(stage.node, &["SET", "there", "before"]).await;
    change(DataChange::Exhaust(Resource::Memory)).await.unwrap();
    let full = refusal(stage.node, &["SET", LOCK, "mine"]).await;
    assert!(full.contains("OOM") || full.contains("maxmemory"), "{full}");
    assert_eq!(ask(stage.node, &["GET", "there"]).await, "before");
    // Another fault of the same kind, and one that must come through all the same.
    change(DataChange::Exhaust(Resource::Memory)).await.unwrap();
    change(DataChange::Replenish(Resource::Memory))
        .await
        .unwrap();
    refusal(stage.node, &["SET", LOCK, "mine"]).await;
    change(DataChange::Replenish(Resource::Memory))
        .await
        .unwrap();
    assert_eq!(ask(stage.node, &["SET", LOCK, "mine"]).await, "OK");
    let mut connection = connected(stage.node).await;
    for (name, value) in [("maxmemory", "0"), (before[0], before[1])] {
        let mut command = redis::cmd("CONFIG");
        let told = command.arg("GET").arg(name).query_async(&mut connection);
        let told: Vec<String> = told.await.unwrap();
        assert_eq!(told, [name, value]);
    }
}

async fn connections(stage: &Stage) {
    let change = |change: DataChange| async move { stage.backend.change_data(0, &change).await };
    let ping = async |connection: &mut MultiplexedConnection| {
        let ping = redis::cmd("PING");
        ping.query_async::<String>(connection).await
    };
    let mut old = connected(stage.node).await;
    assert_eq!(ping(&mut old).await.unwrap(), "PONG");
    ask(stage.node, &["SET", LOCK, "mine"]).await;
    change(DataChange::Exhaust(Resource::Connections))
        .await
        .unwrap();
    let words = refusal(stage.node, &["PING"]).await;
    println!("a new client is told: {words}");
    assert_eq!(ping(&mut old).await.unwrap(), "PONG");
    // We ourselves are still let in.
    let evict = DataChange::Evict(vec![LOCK.into()]);
    assert_eq!(change(evict).await, Ok(1));
    // Nor does anybody get in for whom the old one made room.
    drop(old);
    refusal(stage.node, &["PING"]).await;
    change(DataChange::Replenish(Resource::Connections))
        .await
        .unwrap();
    assert_eq!(ask(stage.node, &["PING"]).await, "PONG");
}

/// Started anew, a server has what its command line says.
async fn after_a_restart(stage: &Stage) {
    for resource in [Resource::Memory, Resource::Connections] {
        let exhaust = DataChange::Exhaust(resource);
        stage.backend.change_data(0, &exhaust).await.unwrap();
        stage.backend.crash_node(0).await.unwrap();
        let dead = stage.backend.change_data(0, &DataChange::FlushAll).await;
        assert!(dead.is_err(), "{dead:?}");
        stage.backend.restart_node(0).await.unwrap();
        assert_eq!(ask(stage.node, &["SET", LOCK, "mine"]).await, "OK");
        let relief = DataChange::Replenish(resource);
        stage.backend.change_data(0, &relief).await.unwrap();
    }
}

#[tokio::test]
async fn processes_are_tampered_with() {
    let stage = stage(BackendName::Process, 0).await;
    keys_and_scripts(&stage).await;
    memory(&stage).await;
    connections(&stage).await;
    after_a_restart(&stage).await;
    stage.backend.take_down().await.unwrap();
}

#[tokio::test]
async fn containers_are_tampered_with() {
    let stage = stage(BackendName::Docker, 0).await;
    keys_and_scripts(&stage).await;
    memory(&stage).await;
    connections(&stage).await;
    stage.backend.take_down().await.unwrap();
}

/// The replica has the early write, and the late one only if the link was whole.
async fn fails_over(name: BackendName, cut: bool) {
    let stage = stage(name, 1).await;
    let replica = stage.replica.unwrap();
    super::ask::set_with_replicas(stage.node, "early", "there", 1).await;
    if cut {
        stage.backend.cut_replication(0).await.unwrap();
    }
    ask(stage.node, &["SET", "late", "there"]).await;
    if cut {
        assert_eq!(ask(replica, &["GET", "late"]).await, "nil");
    }
    stage.backend.fail_over(0).await.unwrap();
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
        super::ask::is_refused(stage.node).await,
        "the old master lives"
    );
    // What is asked of the node is asked of the new master.
    let evict = DataChange::Evict(vec!["early".into()]);
    assert_eq!(stage.backend.change_data(0, &evict).await, Ok(1));
    assert_eq!(ask(replica, &["GET", "early"]).await, "nil");
    stage.backend.take_down().await.unwrap();
}

#[tokio::test]
async fn a_process_fails_over_to_what_its_replica_got() {
    fails_over(BackendName::Process, false).await;
    fails_over(BackendName::Process, true).await;
}

#[tokio::test]
async fn a_container_fails_over_to_what_its_replica_got() {
    fails_over(BackendName::Docker, false).await;
    fails_over(BackendName::Docker, true).await;
}

/// Kills the first node within a second of a write, and once more after it came back.
pub async fn loses_the_last_second_and_no_more(servers: &Servers) {
    let second = Duration::from_secs(1);
    let tell = async |words: &[&str]| ask(servers.address(0), words).await;
    loop {
        tell(&["SET", "old", "kept"]).await;
        // An earlier round may have left it.
        tell(&["DEL", "young"]).await;
        tokio::time::sleep(2 * second).await;
        let clock = Clock::start();
        tell(&["SET", "young", "lost"]).await;
        servers.crash(0).await.unwrap();
        let in_time = clock.elapsed() < second;
        servers.restart(0).await.unwrap();
        assert_eq!(tell(&["GET", "old"]).await, "kept");
        // On a machine so busy that the kill took a second the young one was safe by then.
        if in_time {
            break;
        }
    }
    assert_eq!(tell(&["GET", "young"]).await, "nil");
    // What it came back with is on the disk: the next loss does not take it.
    servers.crash(0).await.unwrap();
    servers.restart(0).await.unwrap();
    assert_eq!(tell(&["GET", "old"]).await, "kept");
}
