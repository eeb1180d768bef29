use std::fmt;
use std::path::Path;

use futures_util::future::{join_all, try_join_all};

use super::container_host::ContainerHost;
use super::external_host::ExternalHost;
use super::server::{Host, KeyReport, Server};
use super::server_node::Node;
use super::server_order::{Layout, Orders};
use super::server_process::ProcessHost;
use super::{BackendError, Password, Reaper, ServerAddress, ServerKind, Watch, server_queries};
use crate::record;

/// The Redis servers of a run, of whatever kind. Nodes and replicas are numbered from 0; a number that the layout
/// does not have is an error of the caller, and panics.
///
/// All methods but the last take `&self`: the nemesis breaks nodes while the workload runs. They are
/// meant for one thread.
pub struct Servers {
    host: Box<dyn Host>,
    nodes: Vec<Node>,
    sentinels: Vec<Box<dyn Server>>,
    watch: Option<Watch>,
    server: record::Redis,
    password: Password,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.nodes.iter().map(|node| node.master.address());
        f.debug_list().entries(addresses).finish()
    }
}

impl Servers {
    /// Starts all servers together. Their data and logs (`node-0.log`) go into `dir`, which must
    /// be a fresh directory of this run.
    ///
    /// # Errors
    /// A server does not start, or what it needs is not there. Servers that did start are ended again.
    pub async fn start(
        kind: &ServerKind,
        layout: Layout,
        dir: &Path,
        reaper: &Reaper,
    ) -> Result<Servers, BackendError> {
        let orders = Orders::new(layout, dir)?;
        let host: Box<dyn Host> = match kind {
            ServerKind::Process(binary) => Box::new(ProcessHost::new(binary, reaper)),
            ServerKind::Docker(image) => {
                Box::new(ContainerHost::prepare(image, layout, reaper).await?)
            }
            ServerKind::External(servers) => Box::new(ExternalHost::new(servers)?),
        };
        let mut servers = Servers {
            host,
            nodes: Vec::new(),
            sentinels: Vec::new(),
            watch: None,
            server: record::Redis::default(),
            password: orders.password,
        };
        match servers.start_all(&orders).await {
            Ok(()) => Ok(servers),
            Err(error) => {
                servers.host.abandon().await;
                Err(error)
            }
        }
    }

    /// Starts all nodes at once, and then the Sentinels.
    async fn start_all(&mut self, orders: &Orders) -> Result<(), BackendError> {
        let (host, layout) = (&*self.host, orders.layout);
        let nodes = (0..layout.nodes).map(|node| Node::start(host, orders, node));
        self.nodes = try_join_all(nodes).await?;
        if let Some(node) = self.nodes.first() {
            self.server = match node.master.server.identity() {
                Some(told) => told,
                None => server_queries::identify(node.master.address()).await?,
            };
        }
        if layout.sentinels == 0 {
            return Ok(());
        }
        let servers = self.nodes.iter().map(|node| {
            let announced = node.servers().map(|member| member.server.announced());
            try_join_all(announced)
        });
        let servers = try_join_all(servers).await?;
        let started =
            (0..layout.sentinels).map(|number| host.start(orders.sentinel(number, &servers)));
        self.sentinels = try_join_all(started).await?;
        let announced = self.sentinels.iter().map(|sentinel| sentinel.announced());
        let announced = try_join_all(announced).await?;
        let listening = self.sentinels.iter().map(|sentinel| sentinel.address());
        self.watch = Some(Watch::begin(listening.collect(), announced, servers).await?);
        Ok(())
    }

    /// Where the node's master listens, on loopback. A container may come back from
    /// [`restart`](Servers::restart) on another port: ask again.
    pub fn address(&self, node: usize) -> ServerAddress {
        self.nodes[node].master.address()
    }

    /// Where a replica of the node listens, on loopback.
    pub fn replica_address(&self, node: usize, replica: usize) -> ServerAddress {
        self.nodes[node].replicas[replica].address()
    }

    /// What the node's master tells of its keys.
    pub fn report(&self, node: usize) -> KeyReport {
        self.nodes[node].master.server.report()
    }

    /// The process of the server that listens there, where it is one of this machine.
    pub fn process_at(&self, address: ServerAddress) -> Option<u32> {
        let mut servers = self.nodes.iter().flat_map(Node::servers);
        let server = servers.find(|member| member.address() == address)?;
        server.server.process_id()
    }

    /// What every server and Sentinel wants of its clients.
    pub fn password(&self) -> Password {
        self.password
    }

    /// The Sentinels and the addresses that they announce; `None` without Sentinels.
    pub fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    /// Name and version of the servers.
    pub fn server(&self) -> &record::Redis {
        &self.server
    }

    /// The value of the label `picklock.run` of these containers, and of no others; `None` where the
    /// servers are no containers.
    pub fn run_id(&self) -> Option<&str> {
        self.host.run_id()
    }

    /// Freezes the node. It has stopped when this returns: connections stay open, nothing is
    /// answered.
    ///
    /// # Errors
    /// The node is down, or the engine refuses.
    pub async fn pause(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.server.pause().await
    }

    /// Thaws the node.
    ///
    /// # Errors
    /// The node is down, or the engine refuses.
    pub async fn resume(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.server.resume().await
    }

    /// Kills the node with SIGKILL, frozen or not. It is dead when this returns; no other program
    /// gets its port in the meantime (processes only). With `aof-everysec` it is a power loss:
    /// the last second of the append-only file is gone.
    ///
    /// # Errors
    /// The node is down already, the engine refuses, or the file cannot be cut.
    pub async fn crash(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.crash().await
    }

    /// Starts the killed node again with the data that it left. It answers when this returns.
    ///
    /// # Errors
    /// The node is up, or does not start again. The error contains the end of its log.
    pub async fn restart(&self, node: usize) -> Result<ServerAddress, BackendError> {
        let Node { master, replicas } = &self.nodes[node];
        master.server.restart().await?;
        master.begin();
        if master.server.moves() {
            // Replicas that still follow it must be told where it is now.
            for replica in replicas {
                if server_queries::is_replica(replica.address()).await? {
                    master.leads(replica).await?;
                }
            }
        }
        Ok(master.address())
    }

    /// Shifts the wall clock of the node's master, or of one of its replicas, forward by so many
    /// nanoseconds, or back if negative. The server has seen the shift when this returns, and keeps
    /// it across a restart.
    ///
    /// # Errors
    /// The clock cannot be shifted, or the server does not answer, or does not see it. The offset
    /// may be written nevertheless; then a dead server has it when it comes back.
    pub async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), BackendError> {
        let node = &self.nodes[node];
        let server = replica.map_or(&node.master, |replica| &node.replicas[replica]);
        server.set_clock_off(off_ns).await
    }

    /// The last `lines` lines of the node's own log; empty if it cannot be read.
    pub async fn log_tail(&self, node: usize, lines: usize) -> String {
        self.nodes[node].master.server.log_tail(lines).await
    }

    /// How the node's own server is, as the end of an error message: whether its process has ended,
    /// and its last words.
    pub async fn condition(&self, node: usize) -> String {
        self.nodes[node].master.server.condition().await
    }

    /// Ends all servers, and removes their containers. Logs stay in the run's directory.
    ///
    /// # Errors
    /// A server could not be ended. The others are ended nevertheless.
    pub async fn stop(self) -> Result<(), BackendError> {
        let servers = self.nodes.iter().flat_map(Node::servers);
        let servers = servers.map(|member| &member.server).chain(&self.sentinels);
        let ends = join_all(servers.map(|server| server.end())).await;
        self.host.end().await;
        ends.into_iter().collect()
    }
}
