//! The heartbeat of a node's server: it is asked again and again, on a connection that no fault touches.
//!
//! A server that does not answer stands still, unless it was busy meanwhile: then a command keeps it, which is the
//! lock's doing. One whose connection breaks, and whose port nobody listens on, has died.

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

/// Pause between an answer and the next question.
const BEAT: Duration = Duration::from_millis(20);

/// Pause between two looks while no answer has come.
const LOOK: Duration = Duration::from_millis(5);

/// More than this of the time between two looks does not count: the harness was late, and may not have seen the
/// answer.
const LATE: Duration = Duration::from_millis(20);

/// Where a port is published for a container, a connection is accepted and closed as long as the container takes to
/// come or to go. It is dead when it has done nothing else for so many beats.
const BEATS_OF_DEATH: u32 = 50;

/// A connection to a node's server.
type Line = Option<(ServerAddress, TcpStream)>;

/// What a question has shown.
enum Beat {
    /// The server lives.
    Answered,
    /// Nobody listens on its port.
    Gone,
    /// The connection broke.
    Broke,
    /// A fault has stopped the server meanwhile.
    Stopped,
}

/// The heartbeat of one node.
pub(super) struct Heartbeat<'a> {
    pub(super) node: usize,
    pub(super) life: &'a LivenessMonitor,
    pub(super) clock: &'a Clock,
    /// Where its server listens now. `None`: the servers are taken down.
    pub(super) address: &'a dyn Fn() -> Option<ServerAddress>,
    /// The process of a server, where it is one of this machine.
    pub(super) process: &'a dyn Fn(ServerAddress) -> Option<u32>,
}

impl Heartbeat<'_> {
    /// Watches the node for as long as it is polled, or until its server has died.
    pub(super) async fn run(&self) {
        let who = Watched::Node(self.node);
        let (mut line, mut broken) = (None, 0);
        let mut answered_ns = self.clock.now_ns();
        loop {
            let beat = match self.life.is_stopped(who) {
                true => Beat::Stopped,
                false => self.beat(&mut line, answered_ns).await,
            };
            self.life.moves(who);
            answered_ns = self.clock.now_ns();
            broken = match beat {
                Beat::Answered => 0,
                Beat::Stopped => {
                    line = None;
                    0
                }
                Beat::Broke => {
                    // A connection that the server had closed before is no sign of its death.
                    line = None;
                    broken + 1
                }
                Beat::Gone => BEATS_OF_DEATH,
            };
            if broken >= BEATS_OF_DEATH && !self.life.is_stopped(who) {
                return self.life.died(self.node);
            }
            sleep(BEAT).await;
        }
    }

    /// One question, from sending it to its answer. The server has answered the last one at `since_ns`.
    async fn beat(&self, line: &mut Line, mut since_ns: u64) -> Beat {
        let Some(address) = (self.address)() else {
            return Beat::Stopped;
        };
        let (who, clock) = (Watched::Node(self.node), self.clock);
        let mut looked = (clock.now_ns(), None);
        let mut asking = pin!(ask(address, line));
        loop {
            tokio::select! {
                biased;
                beat = &mut asking => return beat,
                () = sleep(LOOK) => {}
            }
            if self.life.is_stopped(who) {
                return Beat::Stopped;
            }
            let now_ns = clock.now_ns();
            let ran = (self.process)(address).and_then(ran_ns);
            let past_ns = now_ns - looked.0;
            let was_busy = match (looked.1, ran) {
                (Some(before), Some(now)) => now - before > past_ns / 2,
                _ => false,
            };
            looked = (now_ns, ran);
            if was_busy {
                self.life.moves(who);
                since_ns = now_ns;
            } else {
                let certain_ns = past_ns.min(nanos(LATE));
                self.life.stands_still(who, since_ns, now_ns, certain_ns);
            }
        }
    }
}

async fn ask(address: ServerAddress, line: &mut Line) -> Beat {
    if line.as_ref().is_some_and(|(to, _)| *to != address) {
        *line = None;
    }
    let asked = async {
        let stream = match line {
            Some((_, stream)) => stream,
            None => &mut line.insert((address, address.connect().await?)).1,
        };
        stream.write_all(b"PING\r\n").await?;
        // Whatever it says, it lives.
        while stream.read_u8().await? != b'\n' {}
        Ok::<(), io::Error>(())
    };
    let Err(error) = asked.await else {
        return Beat::Answered;
    };
    *line = None;
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Beat::Gone,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Beat::Broke,
        // It takes no more connections, or this process has run out of something.
        _ => Beat::Answered,
    }
}
