use std::path::{Path, PathBuf};

use futures_util::future::{join_all, try_join_all};

use picklock_scenarios::Persistence;
use testcontainers::bollard::Docker;

use super::container_data::DataDirectories;
use super::error::io_error;
use super::node_log::last_words;
use super::reaper::ContainerWatch;
use super::sentinel::{self, Watch};
use super::server_container::{Recipe, ServerContainer};
use super::{
    BackendError, Image, Layout, Password, Reaper, ServerAddress, Servers, container_removal,
    engine, server_arguments, server_network, server_queries,
};
use crate::record;

/// Redis servers in containers, published on loopback only.
#[derive(Debug)]
pub struct DockerServers {
    nodes: Vec<Node>,
    sentinels: Vec<ServerContainer>,
    sentinel_watch: Option<Watch>,
    server: record::Redis,
    dir: PathBuf,
    watch: ContainerWatch,
    password: Password,
}

#[derive(Debug)]
struct Node {
    master: ServerContainer,
    replicas: Vec<ServerContainer>,
}

impl DockerServers {
    /// Starts all containers together, after pulling the image if necessary. Their logs go into
    /// `dir` (`node-0.log`) when they are stopped.
    ///
    /// # Errors
    /// No engine answers, the image cannot be pulled, or a server does not start. Servers that did
    /// start are removed again.
    pub async fn start(
        image: &Image,
        layout: Layout,
        dir: &Path,
        reaper: &Reaper,
    ) -> Result<DockerServers, BackendError> {
        let engine = engine::connect().await?;
        image.fetch().await?;
        let program = image.program(&engine).await?;
        let clock_shim = server_arguments::clock_shim(layout, dir)?;
        let data = data_directories(&engine, layout, dir).await?;
        let password = Password::fresh().map_err(io_error("make a password"))?;
        let run = reaper.fresh_run();
        let watch = reaper.containers(&run)?;
        let owner = reaper.owner().to_string();
        let network = server_network::create(&engine, &run, &owner).await?;
        let recipe = Recipe {
            engine: &engine,
            image,
            layout,
            program: &program,
            run: &run,
            owner: &owner,
            network: &network,
            password,
            clock_shim: clock_shim.as_ref(),
            data: data.as_ref(),
        };
        let started = async {
            let (nodes, server) = start_nodes(recipe).await?;
            let (sentinels, watch) = start_sentinels(recipe, &nodes).await?;
            Ok((nodes, server, sentinels, watch))
        };
        let (nodes, server, sentinels, sentinel_watch) = match started.await {
            Ok(started) => started,
            Err(error) => {
                // Other starts, which were cancelled because of this failure, may have left
                // containers.
                container_removal::remove_run(&run).await;
                return Err(error);
            }
        };
        Ok(DockerServers {
            nodes,
            sentinels,
            sentinel_watch,
            server,
            dir: dir.to_owned(),
            watch,
            password,
        })
    }

    /// The value of the label `picklock.run` of these containers, and of no others.
    pub fn run_id(&self) -> &str {
        self.watch.run()
    }
}

/// Where the servers keep their data, if a crash is to be a power loss; `None` leaves it in the
/// containers.
async fn data_directories(
    engine: &Docker,
    layout: Layout,
    dir: &Path,
) -> Result<Option<DataDirectories>, BackendError> {
    if layout.persistence != Persistence::AofEverysec {
        return Ok(None);
    }
    let dir = std::path::absolute(dir).map_err(io_error(format!("use {}", dir.display())))?;
    let user = engine::user_of_our_files(engine).await;
    Ok(Some(DataDirectories::below(&dir, user)))
}

/// Starts all containers at once, and links replicas to masters as soon as both are up.
async fn start_nodes(recipe: Recipe<'_>) -> Result<(Vec<Node>, record::Redis), BackendError> {
    let Layout {
        nodes, replicas, ..
    } = recipe.layout;
    let start_node = |node| async move {
        let family = &format!("node-{node}");
        let master = ServerContainer::start(family.clone(), family, recipe);
        let replica = |replica| {
            let name = format!("{family}-replica-{replica}");
            ServerContainer::start(name, family, recipe)
        };
        let replicas = try_join_all((0..replicas).map(replica));
        let (master, replicas) = futures_util::try_join!(master, replicas)?;
        let node = Node { master, replicas };
        try_join_all(node.replicas.iter().map(|replica| node.link(replica))).await?;
        Ok::<Node, BackendError>(node)
    };
    let nodes = try_join_all((0..nodes).map(start_node)).await?;
    let server = match nodes.first() {
        Some(node) => server_queries::identify(node.master.address()).await?,
        None => record::Redis::default(),
    };
    Ok((nodes, server))
}

/// Starts the Sentinels that the layout wants, and waits until they know all servers and each
/// other.
async fn start_sentinels(
    recipe: Recipe<'_>,
    nodes: &[Node],
) -> Result<(Vec<ServerContainer>, Option<Watch>), BackendError> {
    let count = recipe.layout.sentinels;
    if count == 0 {
        return Ok((Vec::new(), None));
    }
    let servers = try_join_all(nodes.iter().map(|node| {
        let servers = std::iter::once(&node.master).chain(&node.replicas);
        try_join_all(servers.map(ServerContainer::address_among_containers))
    }))
    .await?;
    let start = |number| {
        let name = format!("sentinel-{number}");
        let text = sentinel::configuration(&servers, number, count, Some(recipe.password));
        ServerContainer::start_sentinel(name, text, recipe)
    };
    let sentinels = try_join_all((0..count).map(start)).await?;
    let announced = sentinels
        .iter()
        .map(ServerContainer::address_among_containers);
    let announced = try_join_all(announced).await?;
    let listening = sentinels.iter().map(ServerContainer::address).collect();
    let watch = Watch::begin(listening, announced, servers).await?;
    Ok((sentinels, watch))
}

impl Node {
    async fn link(&self, replica: &ServerContainer) -> Result<(), BackendError> {
        let master = self.master.address_among_containers().await?;
        server_queries::follow(replica.address(), master).await
    }
}

/// Copies a container's whole log into the run's directory, and removes the container.
async fn end(server: &ServerContainer, dir: &Path) -> Result<(), BackendError> {
    let path = dir.join(format!("{}.log", server.name()));
    let text = server.log("all").await;
    server.remove().await?;
    let doing = format!("write {}", path.display());
    std::fs::write(path, text).map_err(io_error(doing))
}

impl Servers for DockerServers {
    fn address(&self, node: usize) -> ServerAddress {
        self.nodes[node].master.address()
    }

    fn replica_address(&self, node: usize, replica: usize) -> ServerAddress {
        self.nodes[node].replicas[replica].address()
    }

    fn password(&self) -> Option<Password> {
        Some(self.password)
    }

    fn watch(&self) -> Option<&Watch> {
        self.sentinel_watch.as_ref()
    }

    fn server(&self) -> &record::Redis {
        &self.server
    }

    async fn pause(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.pause().await
    }

    async fn resume(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.resume().await
    }

    async fn crash(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.crash().await
    }

    async fn restart(&self, node: usize) -> Result<ServerAddress, BackendError> {
        let node = &self.nodes[node];
        let address = node.master.restart().await?;
        // The container's own address may have changed: replicas that still follow it must be told.
        for replica in &node.replicas {
            if server_queries::is_replica(replica.address()).await? {
                node.link(replica).await?;
            }
        }
        Ok(address)
    }

    async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), BackendError> {
        let node = &self.nodes[node];
        let server = replica.map_or(&node.master, |replica| &node.replicas[replica]);
        server.set_clock_off(off_ns).await
    }

    async fn log_tail(&self, node: usize, lines: usize) -> String {
        let text = self.nodes[node].master.log(&lines.to_string()).await;
        text.trim_end().to_owned()
    }

    async fn condition(&self, node: usize) -> String {
        last_words(&self.log_tail(node, 10).await)
    }

    async fn stop(self) -> Result<(), BackendError> {
        let servers = self
            .nodes
            .iter()
            .flat_map(|node| std::iter::once(&node.master).chain(&node.replicas))
            .chain(&self.sentinels);
        let ends = join_all(servers.map(|server| end(server, &self.dir))).await;
        // The network is left, now that they are gone.
        if container_removal::remove_run(self.run_id()).await {
            self.watch.settle();
        }
        ends.into_iter().collect()
    }
}
