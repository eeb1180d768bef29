//! Heartbeat of a node's server: sends PING repeatedly, on a connection that no fault affects.
//!
//! A server that does not answer has stalled, unless it was busy in the meantime: then a command occupies it, which is
//! the lock's responsibility. A server whose connection breaks and whose port refuses connections has died.

use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::liveness_monitor::{LivenessMonitor, Watched};
use crate::clock::{Clock, nanos};
use crate::process_stat::ran_ns;
use crate::servers::ServerAddress;

/// Pause between an answer and the next PING.
const BEAT: Duration = Duration::from_millis(20);

/// Pause between two checks while no answer has arrived.
const LOOK: Duration = Duration::from_millis(5);

/// Maximum time between two checks that counts as a certain stall. If more time passed, the harness itself was late,
/// and the answer may have arrived earlier.
const LATE: Duration = Duration::from_millis(20);

/// Number of broken connections in a row after which a server counts as dead. The number is high because the published
/// port of a container accepts and closes connections while the container starts or stops.
const BEATS_OF_DEATH: u32 = 50;

/// A connection to a node's server.
type Connection = Option<(ServerAddress, TcpStream)>;

/// Result of one PING.
enum Beat {
    /// The server is alive.
    Answered,
    /// The port refuses connections.
    Gone,
    /// The connection broke.
    Broke,
    /// A fault has stopped the server while the answer was awaited.
    Stopped,
}

/// Heartbeat of one node.
pub(super) struct Heartbeat<'a> {
    pub(super) node: usize,
    pub(super) liveness: &'a LivenessMonitor,
    pub(super) clock: &'a Clock,
    /// Returns the current address of the node's server, or `None` once the servers have been stopped.
    pub(super) address: &'a dyn Fn() -> Option<ServerAddress>,
    /// Returns the PID of a server if it is a process of this machine.
    pub(super) process: &'a dyn Fn(ServerAddress) -> Option<u32>,
}

impl Heartbeat<'_> {
    /// Watches the node while the future is polled, until the server has died.
    pub(super) async fn run(&self) {
        let node = Watched::Node(self.node);
        let (mut connection, mut broken) = (None, 0);
        let mut answered_ns = self.clock.now_ns();
        loop {
            let beat = if self.liveness.is_stopped(node) {
                Beat::Stopped
            } else {
                self.beat(&mut connection, answered_ns).await
            };
            self.liveness.end_stall(node);
            answered_ns = self.clock.now_ns();
            broken = match beat {
                Beat::Answered => 0,
                Beat::Stopped => {
                    connection = None;
                    0
                }
                Beat::Broke => {
                    // The server may have closed the connection earlier, so a single broken connection does not show
                    // its death.
                    connection = None;
                    broken + 1
                }
                Beat::Gone => BEATS_OF_DEATH,
            };
            if broken >= BEATS_OF_DEATH && !self.liveness.is_stopped(node) {
                return self.liveness.record_death(self.node);
            }
            sleep(BEAT).await;
        }
    }

    /// Sends one PING and waits for its answer. The server answered the previous PING at `since_ns`.
    async fn beat(&self, connection: &mut Connection, mut since_ns: u64) -> Beat {
        let Some(address) = (self.address)() else {
            return Beat::Stopped;
        };
        let (node, clock) = (Watched::Node(self.node), self.clock);
        let mut last_look = (clock.now_ns(), None);
        let mut pong = pin!(ping(address, connection));
        loop {
            tokio::select! {
                biased;
                beat = &mut pong => return beat,
                () = sleep(LOOK) => {}
            }
            if self.liveness.is_stopped(node) {
                return Beat::Stopped;
            }
            let now_ns = clock.now_ns();
            let run_ns = (self.process)(address).and_then(ran_ns);
            let past_ns = now_ns - last_look.0;
            let was_busy = match (last_look.1, run_ns) {
                (Some(before), Some(now)) => now - before > past_ns / 2,
                _ => false,
            };
            last_look = (now_ns, run_ns);
            if was_busy {
                self.liveness.end_stall(node);
                since_ns = now_ns;
            } else {
                let certain_ns = past_ns.min(nanos(LATE));
                self.liveness
                    .record_stall(node, since_ns, now_ns, certain_ns);
            }
        }
    }
}

async fn ping(address: ServerAddress, connection: &mut Connection) -> Beat {
    if connection.as_ref().is_some_and(|(to, _)| *to != address) {
        *connection = None;
    }
    let exchange = async {
        let stream = match connection {
            Some((_, stream)) => stream,
            None => &mut connection.insert((address, address.connect().await?)).1,
        };
        stream.write_all(b"PING\r\n").await?;
        // Any reply shows that the server is alive.
        while stream.read_u8().await? != b'\n' {}
        Ok::<(), io::Error>(())
    };
    let Err(error) = exchange.await else {
        return Beat::Answered;
    };
    *connection = None;
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Beat::Gone,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Beat::Broke,
        // If a connection fails for another reason, the server accepts no more connections, or this process has run out
        // of a resource.
        _ => Beat::Answered,
    }
}
