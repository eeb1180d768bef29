//! The servers to start and their settings, which are the same for all kinds.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use picklock_scenarios::Persistence;

use super::error::io_error;
use super::{BackendError, Password, ShiftedWallClock, WallClockShim, sentinel};

/// Description of a server, which can be started any number of times.
#[derive(Debug)]
pub(super) struct ServerOrder {
    /// Name: `node-0`, `node-0-replica-1`, `sentinel-2`.
    pub name: String,
    /// Number of the server's node.
    pub node: usize,
    /// Name of the first server of the node. Only servers of the same node replicate each other.
    pub family: String,
    pub arguments: Vec<String>,
    /// The configuration of a Sentinel, which the Sentinel rewrites. `None` for other servers.
    pub sentinel: Option<String>,
    /// The password that clients need, and that the server sends to its master.
    pub password: Password,
    /// The server's data directory, which need not exist.
    pub data: PathBuf,
    /// The server's log file.
    pub log: PathBuf,
    /// Whether a kill simulates a power loss, which removes the last second from the append-only file in `data`.
    pub loses_tail: bool,
    /// The server's wall clock, or `None` if it cannot be shifted.
    pub wall_clock: Option<Arc<ShiftedWallClock>>,
}

/// The descriptions of a run's servers.
#[derive(Debug)]
pub(super) struct Orders {
    pub layout: Layout,
    pub password: Password,
    dir: PathBuf,
    /// The library that shifts wall clocks, if the layout needs it and this machine supports it.
    clock_shim: Option<WallClockShim>,
}

impl Orders {
    /// Creates the descriptions. Data and logs go into `dir`.
    ///
    /// # Errors
    /// Returns an error if the directory is not writable, or there is no entropy.
    pub(super) fn new(layout: Layout, dir: &Path) -> Result<Orders, BackendError> {
        let absolute = std::path::absolute(dir);
        Ok(Orders {
            layout,
            password: Password::fresh().map_err(io_error("create a password"))?,
            dir: absolute.map_err(io_error(format!("use {}", dir.display())))?,
            clock_shim: if layout.clocks_shift {
                WallClockShim::install(dir)?
            } else {
                None
            },
        })
    }

    /// Describes a server of a node. The first server of a node is called `node-0` and so on.
    ///
    /// # Errors
    /// Returns an error if the file of its clock cannot be written.
    pub(super) fn server(&self, name: String, node: usize) -> Result<ServerOrder, BackendError> {
        let wall_clock = self.clock_shim.as_ref().map(|shim| shim.clock(&name));
        let persistence = self.layout.persistence;
        Ok(ServerOrder {
            arguments: arguments(persistence),
            loses_tail: persistence == Persistence::AofEverysec,
            wall_clock: wall_clock.transpose()?.map(Arc::new),
            node,
            family: family(node),
            ..self.plain(name)
        })
    }

    /// Describes a Sentinel that monitors these servers, which are grouped by node, master first.
    pub(super) fn sentinel(&self, number: usize, servers: &[Vec<SocketAddr>]) -> ServerOrder {
        let text = sentinel::configuration(servers, number, self.layout.sentinels, self.password);
        ServerOrder {
            sentinel: Some(text),
            ..self.plain(format!("sentinel-{number}"))
        }
    }

    fn plain(&self, name: String) -> ServerOrder {
        ServerOrder {
            node: 0,
            family: String::new(),
            arguments: Vec::new(),
            sentinel: None,
            password: self.password,
            data: self.dir.join(&name),
            log: self.dir.join(format!("{name}.log")),
            loses_tail: false,
            wall_clock: None,
            name,
        }
    }
}

/// Returns the name of the first server of a node.
pub(super) fn family(node: usize) -> String {
    format!("node-{node}")
}

/// Returns the arguments of every server of a run.
///
/// No configuration file of the host is read. All other settings keep Redis's defaults, so that the lock is tested with
/// the usual configuration. This includes `hz`: a lock's key still expires exactly, because every access checks its
/// expiry. The only deviation is that a replica's first synchronisation starts at once instead of after five seconds.
fn arguments(persistence: Persistence) -> Vec<String> {
    let mut arguments =
        words("--daemonize no --repl-diskless-sync yes --repl-diskless-sync-delay 0");
    arguments.extend(match persistence {
        Persistence::None => no_snapshots("--appendonly no"),
        // Redis's default save points, in the form that old servers also accept.
        Persistence::Rdb => words("--save 3600 1 --save 300 100 --save 60 10000 --appendonly no"),
        Persistence::AofEverysec => no_snapshots(
            // The file is never rewritten, so that its tail can be cut off.
            "--appendonly yes --appendfsync everysec --auto-aof-rewrite-percentage 0",
        ),
        Persistence::AofAlways => no_snapshots("--appendonly yes --appendfsync always"),
    });
    arguments
}

fn no_snapshots(others: &str) -> Vec<String> {
    let mut arguments = vec!["--save".to_owned(), String::new()];
    arguments.extend(words(others));
    arguments
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The number and kind of servers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Number of independent nodes.
    pub nodes: usize,
    /// Number of replicas per node.
    pub replicas: usize,
    /// Number of Sentinels, which all monitor all nodes.
    pub sentinels: usize,
    /// The data that each server keeps across a restart.
    pub persistence: Persistence,
    /// Whether the run must be able to shift the servers' wall clocks.
    pub clocks_shift: bool,
}
