//! Silence: nothing may come from a worker that is frozen or dead.
//!
//! If something does, another process has the lock than the one that was frozen or killed. What the
//! worker had written before is no proof: it may still be on its way, or wait to be read. So for
//! each connection the bytes that may still come are known when the silence begins
//! (`tcp_queues`), and for new connections, whether they existed then.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::ReadHalf;

use super::lock;
use super::tcp_queues::{Ports, TcpQueues};
use crate::clock::Clock;

/// Something that came from a worker that was frozen or dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeBreach {
    /// On the link to which node; `None`: to a Sentinel.
    pub node: Option<usize>,
    /// When, in nanoseconds on the run's clock.
    pub arrived_at_ns: u64,
}

/// What has come from each worker, and from which of them nothing may come.
#[derive(Debug, Default)]
pub struct FreezeMonitor {
    workers: Mutex<HashMap<usize, WorkerLinks>>,
}

#[derive(Debug, Default)]
struct WorkerLinks {
    ports: HashSet<u16>,
    connections: Vec<Weak<Received>>,
    heard: Arc<ReceivedTraffic>,
    /// The connections that existed when the silence began; `None`: the worker may speak.
    existed: Option<TcpQueues>,
}

/// What was heard of one worker.
#[derive(Debug, Default)]
struct ReceivedTraffic {
    /// True when anything has come on a link to a node.
    spoke: AtomicBool,
    freeze_breach: Mutex<Option<FreezeBreach>>,
}

/// What has come on one connection.
#[derive(Debug)]
pub(super) struct Received {
    node: Option<usize>,
    ports: Ports,
    heard: Arc<ReceivedTraffic>,
    bytes: Mutex<Bytes>,
}

#[derive(Debug)]
struct Bytes {
    read: u64,
    /// More than this must not come. `u64::MAX`: there is no limit.
    limit: u64,
}

impl FreezeMonitor {
    /// A link of the worker listens on this port.
    pub(super) fn listens(&self, worker: usize, port: u16) {
        let mut workers = lock(&self.workers);
        workers.entry(worker).or_default().ports.insert(port);
    }

    /// A connection of the worker was accepted, on the link to `node` (`None`: to a Sentinel).
    pub(super) fn accepted(
        &self,
        worker: usize,
        node: Option<usize>,
        ports: Ports,
        now_ns: u64,
    ) -> Arc<Received> {
        let mut workers = lock(&self.workers);
        let links = workers.entry(worker).or_default();
        let limit = match &links.existed {
            None => u64::MAX,
            Some(existed) => existed.unread(ports).unwrap_or_else(|| {
                links.heard.freeze_breach(node, now_ns);
                u64::MAX
            }),
        };
        let received = Arc::new(Received {
            node,
            ports,
            heard: Arc::clone(&links.heard),
            bytes: Mutex::new(Bytes { read: 0, limit }),
        });
        links.connections.retain(|old| old.strong_count() > 0);
        links.connections.push(Arc::downgrade(&received));
        received
    }

    /// From now on nothing may come from the worker on any of its links: it has stopped, or is dead. Of what
    /// it wrote before, what has not arrived or was not read may still come.
    ///
    /// # Errors
    /// The kernel does not say what is still on its way. Then nothing can be proved.
    pub async fn begin(&self, worker: usize) -> io::Result<()> {
        let ports = {
            let mut workers = lock(&self.workers);
            let links = workers.entry(worker).or_default();
            if links.existed.is_some() {
                return Ok(());
            }
            links.ports.clone()
        };
        // With many connections on the machine it takes a while, and the harness must not stand
        // still meanwhile. What is read until then counts twice below, as read and as unread: that
        // only makes the limits higher.
        let looking = tokio::task::spawn_blocking(move || TcpQueues::to(&ports));
        let queues = looking.await.map_err(io::Error::other)??;
        let mut workers = lock(&self.workers);
        let links = workers.entry(worker).or_default();
        for received in links.connections.iter().filter_map(Weak::upgrade) {
            let mut bytes = received.bytes();
            bytes.limit = bytes.read + queues.unread(received.ports).unwrap_or_default();
        }
        links.existed = Some(queues);
        Ok(())
    }

    /// What has come from the worker since its silence began; `None`: nothing.
    pub fn freeze_breach(&self, worker: usize) -> Option<FreezeBreach> {
        let workers = lock(&self.workers);
        *lock(&workers.get(&worker)?.heard.freeze_breach)
    }

    /// The worker may speak again.
    pub fn end(&self, worker: usize) {
        let mut workers = lock(&self.workers);
        let Some(links) = workers.get_mut(&worker) else {
            return;
        };
        links.existed = None;
        *lock(&links.heard.freeze_breach) = None;
        for received in links.connections.iter().filter_map(Weak::upgrade) {
            received.bytes().limit = u64::MAX;
        }
    }

    /// True when anything has come from the worker on a link to a node.
    pub fn has_sent_data(&self, worker: usize) -> bool {
        let workers = lock(&self.workers);
        let links = workers.get(&worker);
        links.is_some_and(|links| links.heard.spoke.load(Ordering::Acquire))
    }
}

impl ReceivedTraffic {
    /// The first escape counts.
    fn freeze_breach(&self, node: Option<usize>, arrived_at_ns: u64) {
        lock(&self.freeze_breach).get_or_insert(FreezeBreach {
            node,
            arrived_at_ns,
        });
    }
}

impl Received {
    /// Reads what there is, and counts it. Cancel-safe.
    pub(super) async fn read(
        &self,
        socket: &mut ReadHalf<'_>,
        room: &mut [u8],
        clock: &Clock,
    ) -> io::Result<usize> {
        poll_fn(|context| {
            let mut room = ReadBuf::new(room);
            // Held while the socket is read, so that no byte is missing from both the count and
            // the kernel's queue.
            let mut bytes = self.bytes();
            ready!(Pin::new(&mut *socket).poll_read(context, &mut room))?;
            let count = room.filled().len();
            self.add(&mut bytes, count, || clock.now_ns());
            Poll::Ready(Ok(count))
        })
        .await
    }

    fn add(&self, bytes: &mut Bytes, count: usize, now_ns: impl FnOnce() -> u64) {
        if count == 0 {
            return;
        }
        if bytes.read == 0 && self.node.is_some() {
            self.heard.spoke.store(true, Ordering::Release);
        }
        bytes.read += count as u64;
        if bytes.read > bytes.limit {
            bytes.limit = u64::MAX;
            self.heard.freeze_breach(self.node, now_ns());
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        lock(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A connection, and the ports of its two ends.
    fn connection() -> (TcpListener, TcpStream, Ports) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let ports = (address.port(), client.local_addr().unwrap().port());
        (listener, client, ports)
    }

    fn came(received: &Received, count: usize, at_ns: u64) {
        received.add(&mut received.bytes(), count, || at_ns);
    }

    #[tokio::test]
    async fn what_was_written_before_may_still_be_read_and_no_more() {
        let freeze_monitor = FreezeMonitor::default();
        let (_listener, mut client, ports) = connection();
        freeze_monitor.listens(0, ports.0);
        let received = freeze_monitor.accepted(0, Some(3), ports, 1);
        came(&received, 5, 2);
        assert!(freeze_monitor.has_sent_data(0) && !freeze_monitor.has_sent_data(1));
        client.write_all(b"0123456789").unwrap();
        freeze_monitor.begin(0).await.unwrap();
        came(&received, 10, 3);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
        // At most as much again, where the acknowledgement had not come yet.
        came(&received, 11, 4);
        let freeze_breach = FreezeBreach {
            node: Some(3),
            arrived_at_ns: 4,
        };
        assert_eq!(freeze_monitor.freeze_breach(0), Some(freeze_breach));
        freeze_monitor.end(0);
        came(&received, 100, 5);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
    }

    #[tokio::test]
    async fn a_connection_that_waited_to_be_accepted_is_no_escape_and_a_new_one_is() {
        let freeze_monitor = FreezeMonitor::default();
        let (listener, _client, ports) = connection();
        freeze_monitor.listens(0, ports.0);
        freeze_monitor.begin(0).await.unwrap();
        freeze_monitor.accepted(0, Some(0), ports, 1);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
        let late = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let late = (ports.0, late.local_addr().unwrap().port());
        freeze_monitor.accepted(0, None, late, 2);
        let freeze_breach = FreezeBreach {
            node: None,
            arrived_at_ns: 2,
        };
        assert_eq!(freeze_monitor.freeze_breach(0), Some(freeze_breach));
        assert!(!freeze_monitor.has_sent_data(0), "nothing was said");
    }
}
