use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use testcontainers::TestcontainersError;
use testcontainers::bollard;

use super::reaper::ReaperError;

/// Why a real world could not be had, or a node of it not be broken or mended.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// No server on PATH.
    #[error(
        "no Redis server found: looked for {looked_for} on PATH; install one (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`), name one with `--redis-server PATH`, or choose another backend"
    )]
    NoBinary {
        /// The names, in words.
        looked_for: String,
    },
    /// The program could not be run.
    #[error("cannot run {}: {source}; `--redis-server` wants the path of a `redis-server` or `valkey-server`", program.display())]
    CannotRun {
        /// What was to be run.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A server ended before it was ready.
    #[error("{node}: {} ended at start ({status}); {log}", program.display())]
    DiedAtStart {
        /// Which server.
        node: String,
        /// What was run.
        program: PathBuf,
        /// How it ended.
        status: String,
        /// Its own last words.
        log: String,
    },
    /// A server did not get ready.
    #[error("{node} did not get ready within {after:?}; {log}")]
    NotReady {
        /// Which server.
        node: String,
        /// How long was waited.
        after: Duration,
        /// Its own last words.
        log: String,
    },
    /// A node that is down was to be frozen, thawed or killed.
    #[error("{0} is down")]
    Down(String),
    /// A node that is up was to be restarted.
    #[error("{0} is up; only a killed node can be restarted")]
    Up(String),
    /// A power loss was asked for in a container.
    #[error(
        "a node with persistence `aof-everysec` loses its last second when it crashes; inside a container that second cannot be cut off its files: choose `--backend process`"
    )]
    NoPowerLoss,
    /// The servers were started without the means to shift their clocks.
    #[error(
        "the wall clock of {0} cannot be shifted: that needs Linux on x86_64 or aarch64, and a temporary directory without blanks and colons in its path"
    )]
    FixedClock(String),
    /// A server whose clock was shifted goes on showing the time of before.
    #[error(
        "the wall clock of {0} was shifted, and the server does not see it: is it a static program, or are its files on a file system without `exec`?"
    )]
    ClockNotShifted(String),
    /// A replica's link to its master did not come up.
    #[error("the replica at {replica} did not reach its master within {after:?}: {seen}")]
    NotReplicating {
        /// The replica.
        replica: SocketAddr,
        /// How long was waited.
        after: Duration,
        /// What the replica said last.
        seen: String,
    },
    /// The Sentinels did not find each other and the servers.
    #[error("the Sentinels did not find each other and all servers within {after:?}: {seen}")]
    NotWatching {
        /// How long was waited.
        after: Duration,
        /// What one of them said last.
        seen: String,
    },
    /// The Sentinels did not promote a replica.
    #[error(
        "the Sentinels did not fail over node {node} within {after:?}: {seen}; `--out` keeps their logs"
    )]
    NotPromoted {
        /// The node.
        node: usize,
        /// How long was waited.
        after: Duration,
        /// What they said last.
        seen: String,
    },
    /// A server did not answer as Redis does.
    #[error("the server at {address} did not answer {question}: {source}")]
    Unanswered {
        /// The server.
        address: SocketAddr,
        /// What it was asked.
        question: &'static str,
        /// What the client said.
        source: redis::RedisError,
    },
    /// No container engine.
    #[error(
        "no container engine answers ({0}); start Docker, point DOCKER_HOST at one, or choose `--backend process`"
    )]
    Engine(String),
    /// The image that was asked for cannot be had.
    #[error("the image {image} is not here and cannot be pulled: {why}")]
    NoImage {
        /// As it was given.
        image: String,
        /// What the engine said.
        why: String,
    },
    /// None of the default images can be had.
    #[error(
        "no Redis image: {official} is not here and cannot be pulled ({why}), and there is no {local}; `scripts/redis-image` builds that one without a registry, `--image REF` names another"
    )]
    NoDefaultImage {
        /// The official image.
        official: &'static str,
        /// The image that the script builds.
        local: &'static str,
        /// What the engine said.
        why: String,
    },
    /// A container could not be handled.
    #[error("{node}: cannot {doing}: {source}")]
    Container {
        /// Which server.
        node: String,
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        source: Box<TestcontainersError>,
    },
    /// The engine refused.
    #[error("{node}: the container engine cannot {doing}: {source}")]
    Refused {
        /// Which server.
        node: String,
        /// What was tried.
        doing: &'static str,
        /// What the engine said.
        source: Box<bollard::errors::Error>,
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
        /// What the system said.
        source: io::Error,
    },
}

/// Names what was tried, for the message.
pub(super) fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> WorldError {
    let doing = doing.into();
    move |source| WorldError::Io { doing, source }
}
