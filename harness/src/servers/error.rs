use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::program_fault::ProgramFault;
use super::reaper::ReaperError;
use super::{ExternalFault, ServerAddress};
use crate::external_servers::NOT_OURS;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// Why servers could not be started, or a fault could not be applied to one or undone.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// No server on PATH.
    #[error(
        "no Redis server found: looked for {looked_for} on PATH; install one (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`), name one with `--redis-server PATH`, or choose another backend"
    )]
    NoBinary {
        /// The names that were tried.
        looked_for: String,
    },
    /// The server that was chosen by name is not there.
    #[error("{server} not found at {}; run `scripts/servers {server}` to download it, or set PICKLOCK_SERVERS to its directory", path.display())]
    NoNamedServer {
        /// The server.
        server: NamedServer,
        /// Where its program would be.
        path: PathBuf,
    },
    /// The program could not be run.
    #[error("cannot run {}: {source}{}; `--redis-server` requires the path of a `redis-server` or `valkey-server`", program.display(), why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    CannotRun {
        /// The program.
        program: PathBuf,
        /// What its file says about that.
        why: Option<ProgramFault>,
        /// The error of the system.
        source: io::Error,
    },
    /// A server ended before it was ready.
    #[error("{node}: {} ended at start ({status}); {log}", program.display())]
    DiedAtStart {
        /// Which server.
        node: String,
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: String,
        /// The end of its log.
        log: String,
    },
    /// A server did not get ready, did not reach its master, or was not found by the Sentinels.
    #[error("{what} within {after:?}{seen}")]
    NotInTime {
        /// Which server, and what it did not do.
        what: String,
        /// The time limit.
        after: Duration,
        /// What was seen of it instead.
        seen: String,
    },
    /// The run opens more files and connections than this process may have.
    #[error(
        "this process may have at most {limit} open files and connections, and a run with {workers} workers and {nodes} nodes needs at least {need}; raise the limit (`ulimit -n`, as far as `ulimit -Hn` allows), or choose fewer workers or nodes"
    )]
    TooFewDescriptors {
        /// The limit.
        limit: u64,
        /// How many are needed, those that are open already included.
        need: u64,
        /// Workers of the run.
        workers: usize,
        /// Nodes of the run.
        nodes: usize,
    },
    /// A server that somebody else has started cannot be used.
    #[error("the server at {server}: {fault}")]
    External {
        /// Where it is.
        server: String,
        /// Why not.
        fault: Box<ExternalFault>,
    },
    /// It was asked of a server that somebody else has started.
    #[error("{NOT_OURS}")]
    NotOurs,
    /// The node is down, so it cannot be frozen, thawed or killed.
    #[error("{0} is down")]
    Down(String),
    /// The node is up, so it cannot be restarted.
    #[error("{0} is up; only a killed node can be restarted")]
    Up(String),
    /// The servers were started without the library that shifts their clocks.
    #[error(
        "the wall clock of {0} cannot be shifted: that needs Linux on x86_64 or aarch64, and a temporary directory without blanks and colons in its path"
    )]
    FixedClock(String),
    /// The shift of a server's clock has no effect.
    #[error(
        "the wall clock of {0} was shifted, and the server does not see it: is it a static program, or are its files on a file system without `exec`?"
    )]
    ClockNotShifted(String),
    /// The Sentinels did not promote a replica.
    #[error(
        "the Sentinels did not fail over node {node} within {after:?}: {seen}; `--out` keeps their logs"
    )]
    NotPromoted {
        /// The node.
        node: usize,
        /// The time limit.
        after: Duration,
        /// Their last state.
        seen: String,
    },
    /// A server did not answer as Redis does.
    #[error("the server at {address} did not answer {question}: {source}")]
    Unanswered {
        /// The server.
        address: ServerAddress,
        /// The command.
        question: &'static str,
        /// The error of the client.
        source: redis::RedisError,
    },
    /// A server does not report what it executes.
    #[error(
        "the server at {address} does not report what it executes (MONITOR): {source}; {condition}"
    )]
    NotReporting {
        /// The server.
        address: ServerAddress,
        /// Why not.
        source: io::Error,
        /// How the server is, with the end of its log.
        condition: String,
    },
    /// No container engine.
    #[error(
        "no container engine answers ({0}); start Docker, point DOCKER_HOST at one, or choose `--backend process`"
    )]
    Engine(String),
    /// The image is neither present nor can it be pulled.
    #[error("image {image} not found, and it cannot be pulled: {why}")]
    NoImage {
        /// Its reference.
        image: String,
        /// The error of the engine.
        why: String,
    },
    /// The image of the lock under test is not present.
    #[error(
        "image {image} of the lock not found: build it, or fetch it with `docker pull {image}`"
    )]
    NoLockImage {
        /// Its reference.
        image: String,
    },
    /// Workers in containers cannot reach the wire.
    #[error(
        "this container engine runs without root, and its containers do not reach the loopback interface of this machine: a lock in a container needs an engine that runs as root"
    )]
    RootlessEngine,
    /// The server that was chosen by name has no image.
    #[error("no image of {server}: run `scripts/redis-image {server}` to build {}, without a registry", server.image())]
    NoNamedImage {
        /// The server.
        server: NamedServer,
    },
    /// None of the default images is present or can be pulled.
    #[error(
        "no Redis image: {OFFICIAL_IMAGE} cannot be pulled ({why}), and there is no {LOCAL_IMAGE}; run `scripts/redis-image` to build that one without a registry, or name another with `--image REF`"
    )]
    NoDefaultImage {
        /// The error of the engine.
        why: String,
    },
    /// The engine refused.
    #[error("{node}: the container engine cannot {doing}: {source}")]
    Refused {
        /// Which server.
        node: String,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The engine gave a container no address.
    #[error("{0}: the container engine gave it no address in a network of its own")]
    NoNetwork(String),
    /// The clean-up helper failed.
    #[error(transparent)]
    Reaper(#[from] ReaperError),
    /// The operating system refused.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// A server did not get ready. `log`: the end of its log.
pub(super) fn not_ready(node: &str, after: Duration, log: &str) -> BackendError {
    BackendError::NotInTime {
        what: format!("{node} did not get ready"),
        after,
        seen: format!("; {log}"),
    }
}

/// Adds what was tried to an error of the system.
pub(super) fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> BackendError {
    let doing = doing.into();
    move |source| BackendError::Io { doing, source }
}
