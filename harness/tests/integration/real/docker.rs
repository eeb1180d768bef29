use std::collections::{BTreeSet, HashMap};

use bollard::models::PortBinding;
use bollard::query_parameters::{
    InspectContainerOptions, InspectNetworkOptions, ListContainersOptionsBuilder,
};
use picklock_harness::servers::{BackendError, Image, Layout, RunDir, ServerKind, Servers};
use picklock_scenarios::Persistence;

use super::ask::{ask, is_frozen, is_refused, set_with_replicas};
use super::data::check_loss_of_the_last_second;
use super::reexecution::reaper;

async fn start(
    nodes: usize,
    replicas: usize,
    persistence: Persistence,
) -> (Servers, RunDir, String) {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let image = Image::choose(None, None)
        .await
        .expect("these tests need a container engine and an image; see scripts/redis-image");
    let layout = Layout {
        nodes,
        replicas,
        sentinels: 0,
        persistence,
        clocks_shift: false,
    };
    let clock = picklock_harness::clock::Clock::start();
    let servers = Servers::start(&ServerKind::Docker(image), layout, dir.path(), &reaper)
        .await
        .unwrap();
    println!("{nodes} containers started in {:?}", clock.elapsed());
    let run = servers.run_id().unwrap().to_owned();
    (servers, dir, run)
}

/// Returns the IDs of the containers of a run.
pub async fn containers_of(run: &str) -> Vec<String> {
    let engine = bollard::Docker::connect_with_defaults().unwrap();
    let filters = HashMap::from([("label", vec![format!("picklock.run={run}")])]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    let found = engine.list_containers(Some(options)).await.unwrap();
    found
        .into_iter()
        .filter_map(|container| container.id)
        .collect()
}

/// Returns all published ports of the containers of a run.
async fn published(run: &str) -> Vec<PortBinding> {
    let engine = bollard::Docker::connect_with_defaults().unwrap();
    let mut bindings = Vec::new();
    for id in containers_of(run).await {
        let found = engine
            .inspect_container(&id, None::<InspectContainerOptions>)
            .await
            .unwrap();
        let ports = found.network_settings.unwrap().ports.unwrap();
        bindings.extend(ports.into_values().flatten().flatten());
    }
    bindings
}

#[tokio::test]
async fn five_containers_start_on_loopback_only_and_are_removed() {
    let (servers, dir, run) = start(5, 0, Persistence::None).await;
    for node in 0..5 {
        assert_eq!(ask(servers.address(node), &["PING"]).await, "PONG");
        let tail = servers.log_tail(node, 1).await;
        assert!(tail.contains("Ready to accept connections"), "{tail:?}");
    }
    assert!(
        servers
            .server()
            .version
            .starts_with(|c: char| c.is_ascii_digit())
    );
    let bindings = published(&run).await;
    assert_eq!(bindings.len(), 5);
    for binding in bindings {
        assert_eq!(binding.host_ip.as_deref(), Some("127.0.0.1"));
    }
    servers.stop().await.unwrap();
    assert!(containers_of(&run).await.is_empty());
    let log = std::fs::read_to_string(dir.path().join("node-4.log")).unwrap();
    assert!(log.contains("Ready to accept connections"));
}

#[tokio::test]
async fn servers_have_a_separate_network_and_limits() {
    let (servers, _dir, run) = start(2, 1, Persistence::None).await;
    let engine = bollard::Docker::connect_with_defaults().unwrap();
    let mut networks = BTreeSet::new();
    for id in containers_of(&run).await {
        let found = engine
            .inspect_container(&id, None::<InspectContainerOptions>)
            .await
            .unwrap();
        networks.extend(
            found
                .network_settings
                .unwrap()
                .networks
                .unwrap()
                .into_keys(),
        );
        let config = found.host_config.unwrap();
        assert!(config.memory.is_some_and(|bytes| bytes > 0));
        assert_eq!(config.memory_swap, config.memory, "no additional swap");
        assert!(config.pids_limit.is_some_and(|count| count > 0));
        assert_eq!(config.cap_drop, Some(vec!["ALL".to_owned()]));
        let arguments = found.args.unwrap().join(" ");
        assert!(arguments.contains("--protected-mode yes"), "{arguments}");
    }
    let networks: Vec<String> = networks.into_iter().collect();
    assert_eq!(networks.len(), 1, "{networks:?}");
    let look = async || {
        let options = None::<InspectNetworkOptions>;
        engine.inspect_network(&networks[0], options).await
    };
    assert_eq!(look().await.unwrap().containers.unwrap().len(), 4);
    servers.stop().await.unwrap();
    assert!(look().await.is_err(), "the network was not removed");
}

#[tokio::test]
async fn frozen_container_does_not_answer_until_it_is_thawed() {
    let (servers, _dir, _) = start(1, 0, Persistence::None).await;
    let address = servers.address(0);
    servers.pause(0).await.unwrap();
    assert!(is_frozen(address).await);
    servers.resume(0).await.unwrap();
    assert_eq!(ask(address, &["PING"]).await, "PONG");
    servers.pause(0).await.unwrap();
    servers
        .crash(0)
        .await
        .expect("a frozen container can be killed");
    assert!(is_refused(address).await);
    servers.stop().await.unwrap();
}

/// Returns the value of a key after the node was killed and restarted.
async fn value_after_a_crash(persistence: Persistence) -> String {
    let (servers, _dir, run) = start(1, 0, persistence).await;
    ask(servers.address(0), &["SET", "lock", "mine"]).await;
    servers.crash(0).await.unwrap();
    assert!(is_refused(servers.address(0)).await);
    assert!(matches!(servers.crash(0).await, Err(BackendError::Down(_))));
    let address = servers.restart(0).await.unwrap();
    assert_eq!(servers.address(0), address);
    assert!(matches!(servers.restart(0).await, Err(BackendError::Up(_))));
    assert_eq!(
        published(&run).await[0].host_ip.as_deref(),
        Some("127.0.0.1")
    );
    let value = ask(address, &["GET", "lock"]).await;
    servers.stop().await.unwrap();
    value
}

#[tokio::test]
async fn container_without_persistence_restarts_empty() {
    assert_eq!(value_after_a_crash(Persistence::None).await, "nil");
}

#[tokio::test]
async fn container_that_always_syncs_restarts_with_its_data() {
    assert_eq!(value_after_a_crash(Persistence::AofAlways).await, "mine");
}

#[tokio::test]
async fn container_loses_only_the_last_second_with_its_power() {
    let (servers, _dir, _) = start(1, 0, Persistence::AofEverysec).await;
    check_loss_of_the_last_second(&servers).await;
    servers.stop().await.unwrap();
}

#[tokio::test]
async fn replica_follows_its_master_after_a_restart() {
    let (servers, _dir, _) = start(1, 1, Persistence::AofAlways).await;
    let replica = servers.replica_address(0, 0);
    servers.crash(0).await.unwrap();
    let master = servers.restart(0).await.unwrap();
    set_with_replicas(master, "after", "it", 1).await;
    assert_eq!(ask(replica, &["GET", "after"]).await, "it");
    servers.stop().await.unwrap();
}
