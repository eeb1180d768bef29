//! Errors of servers, with advice.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::program_fault::ProgramFault;
use super::reaper::ReaperError;
use super::{ExternalFault, ServerAddress};
use crate::external_servers::NOT_OURS;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// The reason why servers could not be started, or why a fault could not be applied to a server or undone.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the field names their contents"
)]
pub enum BackendError {
    #[error(
        "no Redis server found: looked for {looked_for} on PATH; install one (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`), name one with `--redis-server PATH`, or choose another backend"
    )]
    NoBinary { looked_for: String },
    #[error("{server} not found at {}; run `scripts/servers {server}` to download it, or set PICKLOCK_SERVERS to the absolute path of the directory of the servers", path.display())]
    NoNamedServer { server: NamedServer, path: PathBuf },
    #[error("cannot run {}: {source}{}; `--redis-server` requires the path of a `redis-server` or `valkey-server`", program.display(), why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    CannotRun {
        program: PathBuf,
        why: Option<ProgramFault>,
        source: io::Error,
    },
    #[error("{node}: {} exited at start ({status}); {log}", program.display())]
    DiedAtStart {
        node: String,
        program: PathBuf,
        status: String,
        log: String,
    },
    #[error("{what} within {after:?}{seen}")]
    NotInTime {
        /// The server, and the expected event that did not happen.
        what: String,
        after: Duration,
        seen: String,
    },
    #[error(
        "this process may have at most {limit} open files and connections, and a run with {workers} workers and {nodes} nodes needs at least {need}; raise the limit (`ulimit -n`, as far as `ulimit -Hn` allows), or choose fewer workers or nodes"
    )]
    TooFewDescriptors {
        limit: u64,
        /// Number of descriptors needed, including those that are already open.
        need: u64,
        workers: usize,
        nodes: usize,
    },
    #[error("the server at {server}: {fault}")]
    External {
        server: String,
        fault: Box<ExternalFault>,
    },
    /// The operation is not possible for a server that was started by someone else.
    #[error("{NOT_OURS}")]
    NotOurs,
    /// The node is down, so it cannot be frozen, thawed or killed.
    #[error("{0} is down")]
    Down(String),
    #[error("{0} is up; only a killed node can be restarted")]
    Up(String),
    #[error(
        "the wall clock of {0} cannot be shifted: that requires Linux on x86_64 or aarch64, and a temporary directory without spaces and colons in its path"
    )]
    FixedClock(String),
    #[error(
        "the wall clock of {0} was shifted, but the server does not see the change: its program may be statically linked, or its files may be on a file system mounted with `noexec`"
    )]
    ClockNotShifted(String),
    #[error(
        "the Sentinels did not fail over node {node} within {after:?}: {seen}; `--out` saves their logs"
    )]
    NotPromoted {
        node: usize,
        after: Duration,
        seen: String,
    },
    #[error("the server at {address} did not answer {question}: {source}")]
    Unanswered {
        address: ServerAddress,
        question: &'static str,
        source: redis::RedisError,
    },
    #[error(
        "the server at {address} does not report what it executes (MONITOR): {source}; {condition}"
    )]
    NotReporting {
        address: ServerAddress,
        source: io::Error,
        /// The server's condition, with the end of its log.
        condition: String,
    },
    #[error(
        "no container engine answers ({0}); start Docker, point DOCKER_HOST at one, or choose `--backend process`"
    )]
    Engine(String),
    #[error("image {image} not found, and it cannot be pulled: {why}")]
    NoImage { image: String, why: String },
    #[error(
        "image {image} of the lock not found: build it, or fetch it with `docker pull {image}`"
    )]
    NoLockImage { image: String },
    #[error(
        "this container engine runs without root, so its containers cannot reach the loopback interface of this machine; a lock in a container requires an engine that runs as root"
    )]
    RootlessEngine,
    #[error("no image of {server}: run `scripts/redis-image {server}` to build {}, without a registry", server.image())]
    NoNamedImage { server: NamedServer },
    #[error(
        "no Redis image: {OFFICIAL_IMAGE} cannot be pulled ({why}), and there is no {LOCAL_IMAGE}; run `scripts/redis-image` to build that one without a registry, or name another with `--image REF`"
    )]
    NoDefaultImage { why: String },
    #[error("{node}: the container engine cannot {doing}: {source}")]
    Refused {
        node: String,
        doing: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{0}: the container engine assigned no IP address on the run's network")]
    NoNetwork(String),
    /// The clean-up helper failed.
    #[error(transparent)]
    Reaper(#[from] ReaperError),
    /// The operating system refused an operation.
    #[error("cannot {doing}: {source}")]
    Io { doing: String, source: io::Error },
}

/// Creates the error for a server that did not become ready. `log` describes the end of its log.
pub(super) fn not_ready(node: &str, after: Duration, log: &str) -> BackendError {
    BackendError::NotInTime {
        what: format!("{node} did not become ready"),
        after,
        seen: format!("; {log}"),
    }
}

/// Adds the attempted operation to an error of the system.
pub(super) fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> BackendError {
    let doing = doing.into();
    move |source| BackendError::Io { doing, source }
}
