//! Real Redis servers, as processes of this machine or in containers, and the clean-up: nothing
//! that a run started outlives it, however it ends.
//!
//! - [`Servers`]: what a run and its nemesis ask of the nodes; [`ProcessServers`] and
//!   [`DockerServers`] implement it, [`RealServers`] is either of them
//! - [`WorkerContainers`]: workers in containers; [`carry_streams`]: their standard streams
//! - [`detect`]: which of the two this machine supports, and why
//! - [`parent_death_signal`]: every child dies with this process; [`signals`]: freezes children and
//!   waits until they have stopped; [`adopt_orphans`]: what workers leave behind comes to this process
//! - [`DescriptorNeed`]: whether a run fits into the limit of this process
//! - [`Reaper`]: the helper process that cleans up when this process ends, even by SIGKILL;
//!   [`sweep`]: the next run removes what the helper could not
//!
//! This module does not know workers, wires or scenarios beyond [`Persistence`]. It needs Linux: it
//! reads `/proc` and relies on the parent death signal.

mod binary;
mod child_subreaper;
mod container_data;
mod container_limits;
mod container_removal;
mod container_streams;
mod descriptor_limit;
mod detect;
mod docker;
mod engine;
mod error;
mod image;
mod node_log;
mod orphan_sweep;
pub mod parent_death_signal;
mod port;
mod power_loss;
mod process;
mod process_identity;
mod program_fault;
mod reaper;
mod run_dir;
mod sentinel;
mod server_address;
mod server_arguments;
mod server_container;
mod server_network;
mod server_process;
mod server_queries;
pub mod signals;
mod wall_clock_shim;
mod worker_container;

use picklock_scenarios::Persistence;

pub use binary::Binary;
pub use child_subreaper::adopt_orphans;
pub use container_streams::carry_streams;
pub use descriptor_limit::DescriptorNeed;
pub use detect::{Detection, ServerKind, detect};
pub use docker::DockerServers;
pub use error::BackendError;
pub use image::{Image, LOCAL_IMAGE, OFFICIAL_IMAGE};
pub use orphan_sweep::{Swept, sweep};
pub use process::ProcessServers;
pub use process_identity::ProcessIdentity;
pub use program_fault::ProgramFault;
pub use reaper::{Reaper, ReaperError, Registration, run_reaper};
pub use run_dir::RunDir;
pub use sentinel::{Watch, master_name};
pub use server_address::{Password, ServerAddress};
pub use wall_clock_shim::{ShiftedWallClock, WallClockShim};
pub use worker_container::{WorkerContainer, WorkerContainers};

use crate::record;

/// Which servers a run wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Independent nodes.
    pub nodes: usize,
    /// Replicas of each node.
    pub replicas: usize,
    /// Sentinels that watch all nodes.
    pub sentinels: usize,
    /// What each server keeps across a restart.
    pub persistence: Persistence,
    /// True: servers are started in such a way that their wall clocks can be shifted.
    pub clocks_shift: bool,
}

/// The Redis servers of a run. Nodes and replicas are numbered from 0; a number that the layout
/// does not have is an error of the caller, and panics.
///
/// All methods take `&self`: the nemesis breaks nodes while the workload runs. They are meant for
/// one thread; the futures need not be `Send`.
#[expect(async_fn_in_trait, reason = "callers run it on one thread")]
pub trait Servers {
    /// Where the node's master listens, on loopback. A container may come back from
    /// [`restart`](Servers::restart) on another port: ask again.
    fn address(&self, node: usize) -> ServerAddress;

    /// Where a replica of the node listens, on loopback.
    fn replica_address(&self, node: usize, replica: usize) -> ServerAddress;

    /// What every server and Sentinel wants of its clients; `None`: nothing.
    fn password(&self) -> Option<Password>;

    /// The Sentinels and the addresses that they announce; `None` without Sentinels.
    fn watch(&self) -> Option<&Watch>;

    /// Name and version of the servers.
    fn server(&self) -> &record::Redis;

    /// Freezes the node. It has stopped when this returns: connections stay open, nothing is
    /// answered.
    ///
    /// # Errors
    /// The node is down, or the engine refuses.
    async fn pause(&self, node: usize) -> Result<(), BackendError>;

    /// Thaws the node.
    ///
    /// # Errors
    /// The node is down, or the engine refuses.
    async fn resume(&self, node: usize) -> Result<(), BackendError>;

    /// Kills the node with SIGKILL, frozen or not. It is dead when this returns; no other program
    /// gets its port in the meantime (process backend only). With `aof-everysec` it is a power loss:
    /// the last second of the append-only file is gone.
    ///
    /// # Errors
    /// The node is down already, the engine refuses, or the file cannot be cut.
    async fn crash(&self, node: usize) -> Result<(), BackendError>;

    /// Starts the killed node again with the data that it left. It answers when this returns.
    ///
    /// # Errors
    /// The node is up, or does not start again. The error contains the end of its log.
    async fn restart(&self, node: usize) -> Result<ServerAddress, BackendError>;

    /// Shifts the wall clock of the node's master, or of one of its replicas, forward by so many
    /// nanoseconds, or back if negative. The server has seen the shift when this returns, and keeps
    /// it across a restart.
    ///
    /// # Errors
    /// The clock cannot be shifted, or the server does not answer, or does not see it. The offset
    /// may be written nevertheless; then a dead server has it when it comes back.
    async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), BackendError>;

    /// The last `lines` lines of the node's own log; empty if it cannot be read.
    async fn log_tail(&self, node: usize, lines: usize) -> String;

    /// How the node's own server is, as the end of an error message: whether its process has ended,
    /// and its last words.
    async fn condition(&self, node: usize) -> String;

    /// Ends all servers, and removes their containers. Logs stay in the run's directory.
    ///
    /// # Errors
    /// A server could not be ended. The others are ended nevertheless.
    async fn stop(self) -> Result<(), BackendError>;
}

/// The servers of either server backend.
#[derive(Debug)]
pub enum RealServers {
    /// Processes of this machine.
    Process(ProcessServers),
    /// Containers.
    Docker(DockerServers),
}

/// Forwards a call to the servers of either backend.
macro_rules! ask {
    ($servers:expr, $inner:ident => $answer:expr) => {
        match $servers {
            RealServers::Process($inner) => $answer,
            RealServers::Docker($inner) => $answer,
        }
    };
}

impl Servers for RealServers {
    fn address(&self, node: usize) -> ServerAddress {
        ask!(self, servers => servers.address(node))
    }

    fn replica_address(&self, node: usize, replica: usize) -> ServerAddress {
        ask!(self, servers => servers.replica_address(node, replica))
    }

    fn password(&self) -> Option<Password> {
        ask!(self, servers => servers.password())
    }

    fn watch(&self) -> Option<&Watch> {
        ask!(self, servers => servers.watch())
    }

    fn server(&self) -> &record::Redis {
        ask!(self, servers => servers.server())
    }

    async fn pause(&self, node: usize) -> Result<(), BackendError> {
        ask!(self, servers => servers.pause(node).await)
    }

    async fn resume(&self, node: usize) -> Result<(), BackendError> {
        ask!(self, servers => servers.resume(node).await)
    }

    async fn crash(&self, node: usize) -> Result<(), BackendError> {
        ask!(self, servers => servers.crash(node).await)
    }

    async fn restart(&self, node: usize) -> Result<ServerAddress, BackendError> {
        ask!(self, servers => servers.restart(node).await)
    }

    async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), BackendError> {
        ask!(self, servers => servers.set_clock_off(node, replica, off_ns).await)
    }

    async fn log_tail(&self, node: usize, lines: usize) -> String {
        ask!(self, servers => servers.log_tail(node, lines).await)
    }

    async fn condition(&self, node: usize) -> String {
        ask!(self, servers => servers.condition(node).await)
    }

    async fn stop(self) -> Result<(), BackendError> {
        ask!(self, servers => servers.stop().await)
    }
}
