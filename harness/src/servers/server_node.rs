//! One node of a run: a master and its replicas.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::try_join_all;
use futures_util::try_join;

use super::error::io_error;
use super::power_loss::UnsyncedTail;
use super::server::{Host, Server};
use super::server_order::{Orders, ServerOrder, family};
use super::{BackendError, ServerAddress, ShiftedWallClock, server_queries, wall_clock_shim};

/// A node: a master and its replicas, of any kind.
pub(super) struct Node {
    pub master: Member,
    pub replicas: Vec<Member>,
}

/// One of a node's servers.
pub(super) struct Member {
    name: String,
    pub server: Box<dyn Server>,
    wall_clock: Option<Arc<ShiftedWallClock>>,
    /// The data that a power loss would remove. `None` if the server is down, or if a kill does not simulate a power
    /// loss.
    unsynced_tail: Mutex<Option<UnsyncedTail>>,
    data: Option<PathBuf>,
}

impl Node {
    /// Starts all servers at the same time, and then links the replicas to the master.
    pub(super) async fn start(
        host: &dyn Host,
        orders: &Orders,
        node: usize,
    ) -> Result<Node, BackendError> {
        let family = family(node);
        let start = async |name: String| {
            let order = orders.server(name, node)?;
            Member::start(host, order).await
        };
        let replica = |replica| start(format!("{family}-replica-{replica}"));
        let replicas = try_join_all((0..orders.layout.replicas).map(replica));
        let (master, replicas) = try_join!(start(family.clone()), replicas)?;
        // Replicas are linked after all servers are up, because a replica that is started with an unreachable master
        // retries only every second.
        try_join_all(replicas.iter().map(|replica| master.lead(replica))).await?;
        Ok(Node { master, replicas })
    }

    /// Returns all servers, master first.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.master).chain(&self.replicas)
    }
}

impl Member {
    async fn start(host: &dyn Host, order: ServerOrder) -> Result<Member, BackendError> {
        let name = order.name.clone();
        let wall_clock = order.wall_clock.clone();
        let data = order.loses_tail.then(|| order.data.clone());
        let member = Member {
            server: host.start(order).await?,
            name,
            wall_clock,
            unsynced_tail: Mutex::default(),
            data,
        };
        member.begin_recording();
        Ok(member)
    }

    /// Starts to record the unsynced data. Must be called when the server is ready, because the data that it has loaded
    /// is durable, but data that it appends from now on is not durable at first.
    pub(super) fn begin_recording(&self) {
        *self.tail() = self.data.as_deref().map(UnsyncedTail::watch);
    }

    /// Kills the server. If the kill simulates a power loss, removes the data that was not durable.
    pub(super) async fn crash(&self) -> Result<(), BackendError> {
        self.server.check_is_up().await?;
        let lost_at_ns = self.tail().as_ref().map(UnsyncedTail::now_ns);
        self.server.kill().await?;
        match (self.tail().take(), lost_at_ns) {
            (Some(unsynced_tail), Some(lost_at_ns)) => {
                let doing = format!("cut the append-only file of {}", self.name);
                unsynced_tail.cut(lost_at_ns).map_err(io_error(doing))
            }
            _ => Ok(()),
        }
    }

    /// Makes `replica` a replica of this server, and waits until it has the data.
    pub(super) async fn lead(&self, replica: &Member) -> Result<(), BackendError> {
        let master = self.server.announced().await?;
        server_queries::follow(replica.address(), master).await
    }

    pub(super) async fn set_clock_off(&self, off_ns: i64) -> Result<(), BackendError> {
        let wall_clock = self.wall_clock.as_deref();
        wall_clock_shim::set_off(&self.name, self.address(), wall_clock, off_ns).await
    }

    pub(super) fn address(&self) -> ServerAddress {
        self.server.address()
    }

    fn tail(&self) -> MutexGuard<'_, Option<UnsyncedTail>> {
        let tail = self.unsynced_tail.lock();
        tail.unwrap_or_else(PoisonError::into_inner)
    }
}
