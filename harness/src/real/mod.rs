//! Real Redis servers, as processes of this machine or in containers; and the guarantee that
//! nothing that a run started outlives it, whatever ended the run.
//!
//! - [`Servers`]: what a run and its nemesis ask of the nodes; [`ProcessServers`] and
//!   [`DockerServers`] keep the promise, [`RealServers`] is either of them
//! - [`detect`]: which of the two this machine can offer, and why
//! - [`guard`]: every child dies with us; [`signals`]: it is frozen when we say so
//! - [`Reaper`]: the helper process that cleans up after us, even after SIGKILL; [`sweep`]: what
//!   even that one could not, the next run does
//!
//! This room does not know workers, wires or scenarios beyond [`Persistence`]. It is for Linux:
//! it reads `/proc` and relies on the parent death signal.

mod binary;
mod detect;
mod docker;
mod engine;
mod error;
pub mod guard;
mod image;
mod node_log;
mod owner;
mod port;
mod probe;
mod process;
mod reaper;
mod run_dir;
mod sentinel;
mod server_container;
mod server_process;
mod settings;
pub mod signals;
mod sweep;
mod unsynced;
mod wall;

use std::net::SocketAddr;

use picklock_scenarios::Persistence;

pub use binary::Binary;
pub use detect::{Detection, World, detect};
pub use docker::DockerServers;
pub use error::WorldError;
pub use image::{Image, LOCAL_IMAGE, OFFICIAL_IMAGE};
pub use owner::Owner;
pub use process::ProcessServers;
pub use reaper::{Reaper, ReaperError, Registration, run_reaper};
pub use run_dir::RunDir;
pub use sentinel::{Watch, master_name};
pub use sweep::{Swept, sweep};
pub use wall::{ShiftedWall, WallShim};

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
    /// What each server keeps over a restart.
    pub persistence: Persistence,
    /// True: servers are started so that their wall clocks can be set wrong.
    pub clocks_shift: bool,
}

/// The Redis servers of a run. Nodes and replicas are numbered from 0; a number that the layout
/// does not have is a defect of the caller, and panics.
///
/// All methods take `&self`: the nemesis breaks nodes while the workload runs. They are meant for
/// one thread; the futures need not be `Send`.
#[expect(async_fn_in_trait, reason = "callers run it on one thread")]
pub trait Servers {
    /// Where the node's master listens, on loopback. A container may come back from
    /// [`restart`](Servers::restart) on another port: ask again.
    fn address(&self, node: usize) -> SocketAddr;

    /// Where a replica of the node listens, on loopback.
    fn replica_address(&self, node: usize, replica: usize) -> SocketAddr;

    /// The Sentinels, and what they announce; `None` where there are none.
    fn watch(&self) -> Option<&Watch>;

    /// What the servers call themselves.
    fn server(&self) -> &record::Redis;

    /// Freezes the node. It has stopped when this returns: connections stay open, nothing is
    /// answered.
    ///
    /// # Errors
    /// Where the node is down, or the engine refuses.
    async fn pause(&self, node: usize) -> Result<(), WorldError>;

    /// Thaws the node.
    ///
    /// # Errors
    /// Where the node is down, or the engine refuses.
    async fn resume(&self, node: usize) -> Result<(), WorldError>;

    /// Kills the node with SIGKILL, frozen or not. It is dead when this returns; nobody else gets
    /// its port (of a process) meanwhile. With `aof-everysec` it is a power loss: the last second
    /// of the append-only file is gone.
    ///
    /// # Errors
    /// Where the node is down already, or the engine refuses; and with `aof-everysec` in a
    /// container, whose files are out of reach: nothing is killed then.
    async fn crash(&self, node: usize) -> Result<(), WorldError>;

    /// Starts the killed node again on the data that it left. It answers when this returns.
    ///
    /// # Errors
    /// Where the node is up, or does not come up again; with its own last words.
    async fn restart(&self, node: usize) -> Result<SocketAddr, WorldError>;

    /// From now on the wall clock of the node's master, or of a replica of it, is ahead by so many
    /// nanoseconds, or behind; the server has seen it when this returns. It keeps that over a
    /// restart.
    ///
    /// # Errors
    /// Where the clock cannot be shifted, or the server does not answer, or does not see it. An
    /// offset that was written all the same counts when a dead server comes back.
    async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), WorldError>;

    /// Whether a crash can be made as the node's persistence asks for.
    ///
    /// # Errors
    /// [`WorldError::NoPowerLoss`].
    fn can_crash(&self) -> Result<(), WorldError> {
        Ok(())
    }

    /// The last `lines` lines of the node's own log; empty where it cannot be had.
    async fn log_tail(&self, node: usize, lines: usize) -> String;

    /// Ends all servers, and removes what the engine holds of them. Logs stay in the run's
    /// directory.
    ///
    /// # Errors
    /// Where a server could not be ended; the others are ended all the same.
    async fn stop(self) -> Result<(), WorldError>;
}

/// The servers of either real world.
#[derive(Debug)]
pub enum RealServers {
    /// Processes of this machine.
    Process(ProcessServers),
    /// Containers.
    Docker(DockerServers),
}

/// Asks whichever world it is.
macro_rules! ask {
    ($servers:expr, $inner:ident => $answer:expr) => {
        match $servers {
            RealServers::Process($inner) => $answer,
            RealServers::Docker($inner) => $answer,
        }
    };
}

impl Servers for RealServers {
    fn address(&self, node: usize) -> SocketAddr {
        ask!(self, servers => servers.address(node))
    }

    fn replica_address(&self, node: usize, replica: usize) -> SocketAddr {
        ask!(self, servers => servers.replica_address(node, replica))
    }

    fn watch(&self) -> Option<&Watch> {
        ask!(self, servers => servers.watch())
    }

    fn server(&self) -> &record::Redis {
        ask!(self, servers => servers.server())
    }

    async fn pause(&self, node: usize) -> Result<(), WorldError> {
        ask!(self, servers => servers.pause(node).await)
    }

    async fn resume(&self, node: usize) -> Result<(), WorldError> {
        ask!(self, servers => servers.resume(node).await)
    }

    async fn crash(&self, node: usize) -> Result<(), WorldError> {
        ask!(self, servers => servers.crash(node).await)
    }

    async fn restart(&self, node: usize) -> Result<SocketAddr, WorldError> {
        ask!(self, servers => servers.restart(node).await)
    }

    async fn set_clock_off(
        &self,
        node: usize,
        replica: Option<usize>,
        off_ns: i64,
    ) -> Result<(), WorldError> {
        ask!(self, servers => servers.set_clock_off(node, replica, off_ns).await)
    }

    fn can_crash(&self) -> Result<(), WorldError> {
        ask!(self, servers => servers.can_crash())
    }

    async fn log_tail(&self, node: usize, lines: usize) -> String {
        ask!(self, servers => servers.log_tail(node, lines).await)
    }

    async fn stop(self) -> Result<(), WorldError> {
        ask!(self, servers => servers.stop().await)
    }
}
