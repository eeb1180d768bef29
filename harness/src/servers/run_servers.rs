//! All servers of a run behind one type, whatever their host: the nodes with their replicas, and the Sentinels.

use std::fmt;
use std::path::Path;

use futures_util::future::{join_all, try_join_all};

use super::container_host::ContainerHost;
use super::external_host::ExternalHost;
use super::server::{Host, KeyReport, Server};
use super::server_node::Node;
use super::server_order::{Layout, Orders};
use super::server_process::ProcessHost;
use super::{
    BackendError, Password, Reaper, SentinelGroup, ServerAddress, ServerKind, server_queries,
};
use crate::record;

/// The Redis servers of a run, of any kind. Nodes and replicas are numbered from 0. A number outside the layout is an
/// error of the caller, and panics.
///
/// All methods except [`stop`](Servers::stop) take `&self`, because the nemesis breaks nodes while the workload runs.
/// They must be called from a single thread.
pub struct Servers {
    host: Box<dyn Host>,
    nodes: Vec<Node>,
    sentinels: Vec<Box<dyn Server>>,
    sentinel_group: Option<SentinelGroup>,
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
    /// Starts all servers at the same time. Their data and logs (`node-0.log`) go into `dir`, which must be a new
    /// directory of this run.
    ///
    /// # Errors
    /// Returns an error if a server does not start, or a requirement is not met. Servers that did start are stopped
    /// again.
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
            sentinel_group: None,
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

    /// Starts all nodes at the same time, and then the Sentinels.
    async fn start_all(&mut self, orders: &Orders) -> Result<(), BackendError> {
        let (host, layout) = (&*self.host, orders.layout);
        let nodes = (0..layout.nodes).map(|node| Node::start(host, orders, node));
        self.nodes = try_join_all(nodes).await?;
        if let Some(node) = self.nodes.first() {
            self.server = match node.master.server.identity() {
                Some(identity) => identity,
                None => server_queries::identify(node.master.address()).await?,
            };
        }
        if layout.sentinels == 0 {
            return Ok(());
        }
        let announced_by_node = self.nodes.iter().map(|node| {
            let announced = node.servers().map(|member| member.server.announced());
            try_join_all(announced)
        });
        let servers = try_join_all(announced_by_node).await?;
        let sentinels =
            (0..layout.sentinels).map(|number| host.start(orders.sentinel(number, &servers)));
        self.sentinels = try_join_all(sentinels).await?;
        let announced =
            try_join_all(self.sentinels.iter().map(|sentinel| sentinel.announced())).await?;
        let listening = self.sentinels.iter().map(|sentinel| sentinel.address());
        self.sentinel_group =
            Some(SentinelGroup::begin(listening.collect(), announced, servers).await?);
        Ok(())
    }

    /// Returns the loopback address of the node's master. A container may have another port after a
    /// [`restart`](Servers::restart), so call this again.
    pub fn address(&self, node: usize) -> ServerAddress {
        self.nodes[node].master.address()
    }

    /// Returns the loopback address of a replica of the node.
    pub fn replica_address(&self, node: usize, replica: usize) -> ServerAddress {
        self.nodes[node].replicas[replica].address()
    }

    /// Returns the events that the node's master reports about its keys.
    pub fn report(&self, node: usize) -> KeyReport {
        self.nodes[node].master.server.report()
    }

    /// Returns the PID of the server at this address, if it is a process of this machine.
    pub fn process_at(&self, address: ServerAddress) -> Option<u32> {
        let mut servers = self.nodes.iter().flat_map(Node::servers);
        let server = servers.find(|member| member.address() == address)?;
        server.server.process_id()
    }

    /// Returns the password of all servers and Sentinels.
    pub fn password(&self) -> Password {
        self.password
    }

    /// Returns the Sentinels and their announced addresses, or `None` without Sentinels.
    pub fn sentinel_group(&self) -> Option<&SentinelGroup> {
        self.sentinel_group.as_ref()
    }

    /// Returns the name and version of the servers.
    pub fn server(&self) -> &record::Redis {
        &self.server
    }

    /// Returns the value of the label `picklock.run` that only these containers have, or `None` if the servers are not
    /// containers.
    pub fn run_id(&self) -> Option<&str> {
        self.host.run_id()
    }

    /// Freezes the node. Returns after the node has stopped. Its connections stay open, but no command is answered.
    ///
    /// # Errors
    /// Returns an error if the node is down, or the engine refuses.
    pub async fn pause(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.server.pause().await
    }

    /// Thaws the node.
    ///
    /// # Errors
    /// Returns an error if the node is down, or the engine refuses.
    pub async fn resume(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.server.resume().await
    }

    /// Kills the node with SIGKILL, frozen or not. Returns after the node has died. Until it is restarted, no other
    /// program gets its port (processes only). With `aof-everysec` the kill simulates a power loss, which removes the
    /// last second of the append-only file.
    ///
    /// # Errors
    /// Returns an error if the node is already down, the engine refuses, or the file cannot be cut.
    pub async fn crash(&self, node: usize) -> Result<(), BackendError> {
        self.nodes[node].master.crash().await
    }

    /// Restarts the killed node with the data that it left. Returns when the node answers.
    ///
    /// # Errors
    /// Returns an error if the node is up, or does not start. The error contains the end of its log.
    pub async fn restart(&self, node: usize) -> Result<ServerAddress, BackendError> {
        let Node { master, replicas } = &self.nodes[node];
        master.server.restart().await?;
        master.begin_recording();
        if master.server.moves() {
            // Replicas that still replicate from this master need its new address.
            for replica in replicas {
                if server_queries::is_replica(replica.address()).await? {
                    master.lead(replica).await?;
                }
            }
        }
        Ok(master.address())
    }

    /// Shifts the wall clock of the node's master, or of one of its replicas, by `off_ns` nanoseconds (negative: back).
    /// Returns after the server has seen the shift. The server keeps the shift across a restart.
    ///
    /// # Errors
    /// Returns an error if the clock cannot be shifted, or the server does not answer or does not see the shift. The
    /// offset may have been written anyway; a dead server then has it after its restart.
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

    /// Returns the last `lines` lines of the log of the node's first server, or nothing if it cannot be read.
    pub async fn log_tail(&self, node: usize, lines: usize) -> String {
        self.nodes[node].master.server.log_tail(lines).await
    }

    /// Describes the condition of the node's first server for the end of an error message: whether its process has
    /// exited, and the end of its log.
    pub async fn condition(&self, node: usize) -> String {
        self.nodes[node].master.server.condition().await
    }

    /// Stops all servers, and removes their containers. Logs remain in the run's directory.
    ///
    /// # Errors
    /// Returns an error if a server cannot be stopped. The others are stopped anyway.
    pub async fn stop(self) -> Result<(), BackendError> {
        let servers = self.nodes.iter().flat_map(Node::servers);
        let servers = servers.map(|member| &member.server).chain(&self.sentinels);
        let ends = join_all(servers.map(|server| server.end())).await;
        self.host.end().await;
        ends.into_iter().collect()
    }
}
