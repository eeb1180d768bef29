use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::{join_all, try_join_all};

use picklock_scenarios::Persistence;

use super::sentinel::{self, Watch};
use super::server_process::{Recipe, ServerProcess};
use super::{
    BackendError, Binary, Layout, Password, Reaper, ServerAddress, Servers, server_arguments,
    server_queries,
};
use crate::record;

/// Redis servers as processes of this machine.
#[derive(Debug)]
pub struct ProcessServers {
    nodes: Vec<Node>,
    sentinels: Vec<ServerProcess>,
    watch: Option<Watch>,
    server: record::Redis,
    password: Password,
}

#[derive(Debug)]
struct Node {
    master: ServerProcess,
    replicas: Vec<ServerProcess>,
}

impl ProcessServers {
    /// Starts all servers together. Their data and logs (`node-0.log`) go into `dir`, which must
    /// be a fresh directory of this run.
    ///
    /// # Errors
    /// A server does not start. Servers that did start are killed again.
    pub async fn start(
        binary: &Binary,
        layout: Layout,
        dir: &Path,
        reaper: &Reaper,
    ) -> Result<ProcessServers, BackendError> {
        let dir = std::path::absolute(dir)
            .map_err(super::error::io_error(format!("use {}", dir.display())))?;
        let clock_shim = server_arguments::clock_shim(layout, &dir)?;
        let password = Password::fresh().map_err(super::error::io_error("make a password"))?;
        let recipe = |name: String| -> Result<Recipe, BackendError> {
            let wall_clock = clock_shim
                .as_ref()
                .map(|shim| shim.clock(&name))
                .transpose()?;
            Ok(Recipe {
                program: binary.path().to_owned(),
                arguments: server_arguments::arguments(layout.persistence),
                sentinel: None,
                password,
                data: dir.join(&name),
                log: dir.join(format!("{name}.log")),
                loses_tail: layout.persistence == Persistence::AofEverysec,
                wall_clock: wall_clock.map(Arc::new),
                name,
            })
        };
        let nodes = try_join_all((0..layout.nodes).map(async |node| {
            let master = recipe(format!("node-{node}"))?;
            let replicas = (0..layout.replicas)
                .map(|replica| recipe(format!("node-{node}-replica-{replica}")))
                .collect::<Result<_, _>>()?;
            start_node(master, replicas, reaper).await
        }))
        .await?;
        let server = match nodes.first() {
            Some(node) => server_queries::identify(node.master.address()).await?,
            None => record::Redis::default(),
        };
        let servers: Vec<Vec<SocketAddr>> = nodes.iter().map(Node::addresses).collect();
        let sentinels = try_join_all((0..layout.sentinels).map(async |number| {
            let recipe = Recipe {
                arguments: Vec::new(),
                sentinel: Some(sentinel::configuration(
                    &servers,
                    number,
                    layout.sentinels,
                    Some(password),
                )),
                loses_tail: false,
                ..recipe(format!("sentinel-{number}"))?
            };
            ServerProcess::start(recipe, reaper.clone()).await
        }))
        .await?;
        let listening: Vec<ServerAddress> = sentinels.iter().map(ServerProcess::address).collect();
        let announced = listening.iter().map(ServerAddress::socket).collect();
        let watch = Watch::begin(listening, announced, servers).await?;
        Ok(ProcessServers {
            nodes,
            sentinels,
            watch,
            server,
            password,
        })
    }
}

impl Node {
    fn addresses(&self) -> Vec<SocketAddr> {
        let servers = std::iter::once(&self.master).chain(&self.replicas);
        servers.map(|server| server.address().socket()).collect()
    }
}

async fn start_node(
    master: Recipe,
    replicas: Vec<Recipe>,
    reaper: &Reaper,
) -> Result<Node, BackendError> {
    let start = |recipe| ServerProcess::start(recipe, reaper.clone());
    let (master, replicas) =
        futures_util::try_join!(start(master), try_join_all(replicas.into_iter().map(start)))?;
    // Replicas are linked after all servers are up: a replica that is started with an unreachable
    // master retries only every second.
    let links = replicas
        .iter()
        .map(|replica| server_queries::follow(replica.address(), master.address().socket()));
    try_join_all(links).await?;
    Ok(Node { master, replicas })
}

impl Servers for ProcessServers {
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
        self.watch.as_ref()
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
        self.nodes[node].master.restart().await
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
        self.nodes[node].master.log_tail(lines).await
    }

    async fn condition(&self, node: usize) -> String {
        self.nodes[node].master.condition().await
    }

    async fn stop(self) -> Result<(), BackendError> {
        let servers = self
            .nodes
            .iter()
            .flat_map(|node| std::iter::once(&node.master).chain(&node.replicas))
            .chain(&self.sentinels);
        let ends = join_all(servers.map(ServerProcess::stop)).await;
        ends.into_iter().collect()
    }
}
