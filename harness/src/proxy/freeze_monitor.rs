//! Checks that no data comes from a worker that is frozen or dead.
//!
//! If data arrives anyway, the lock runs in a process other than the one that was frozen or killed. Data that the
//! worker wrote before the freeze proves nothing, because it may have been in transit or unread. So when the freeze
//! begins, the monitor records the existing connections, and how many bytes may still arrive on each of them
//! (`tcp_queues`).

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

/// Data or a connection from a worker that was frozen or dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeBreach {
    /// Node that the link leads to, or `None` for a link to a Sentinel.
    pub node: Option<usize>,
    /// When the data arrived, in nanoseconds on the run's clock.
    pub arrived_at_ns: u64,
}

/// Counts the bytes from each worker, and detects data from frozen and dead workers.
#[derive(Debug, Default)]
pub struct FreezeMonitor {
    workers: Mutex<HashMap<usize, WorkerLinks>>,
}

#[derive(Debug, Default)]
struct WorkerLinks {
    ports: HashSet<u16>,
    connections: Vec<Weak<ReceivedBytes>>,
    traffic: Arc<ReceivedTraffic>,
    /// The connections that existed when the freeze began, or `None` while the worker may send data.
    existing: Option<TcpQueues>,
}

/// A summary of the data from one worker.
#[derive(Debug, Default)]
struct ReceivedTraffic {
    /// Whether data has arrived on a link to a node.
    has_sent_data: AtomicBool,
    first_breach: Mutex<Option<FreezeBreach>>,
}

/// Counts the bytes that have arrived on one connection.
#[derive(Debug)]
pub(super) struct ReceivedBytes {
    node: Option<usize>,
    ports: Ports,
    traffic: Arc<ReceivedTraffic>,
    bytes: Mutex<Bytes>,
}

#[derive(Debug)]
struct Bytes {
    read: u64,
    /// Maximum number of bytes that may arrive without a breach; `u64::MAX` if there is no limit.
    limit: u64,
}

impl FreezeMonitor {
    /// Registers the port on which a link of the worker listens.
    pub(super) fn add_port(&self, worker: usize, port: u16) {
        let mut workers = lock(&self.workers);
        workers.entry(worker).or_default().ports.insert(port);
    }

    /// Registers a connection of the worker that was accepted on the link to `node`, or to a Sentinel if `node` is
    /// `None`.
    pub(super) fn add_connection(
        &self,
        worker: usize,
        node: Option<usize>,
        ports: Ports,
        now_ns: u64,
    ) -> Arc<ReceivedBytes> {
        let mut workers = lock(&self.workers);
        let links = workers.entry(worker).or_default();
        let limit = match &links.existing {
            None => u64::MAX,
            Some(existing) => existing.unread(ports).unwrap_or_else(|| {
                links.traffic.record_breach(node, now_ns);
                u64::MAX
            }),
        };
        let received = Arc::new(ReceivedBytes {
            node,
            ports,
            traffic: Arc::clone(&links.traffic),
            bytes: Mutex::new(Bytes { read: 0, limit }),
        });
        links.connections.retain(|old| old.strong_count() > 0);
        links.connections.push(Arc::downgrade(&received));
        received
    }

    /// Starts to treat data from the worker, which is frozen or dead, as a breach on all of its links. Bytes that the
    /// worker wrote earlier may still arrive, because they can be in transit or unread.
    ///
    /// # Errors
    /// Returns an error if the kernel does not report the bytes in transit. No breach can be proven then.
    pub async fn expect_no_traffic(&self, worker: usize) -> io::Result<()> {
        let ports = {
            let mut workers = lock(&self.workers);
            let links = workers.entry(worker).or_default();
            if links.existing.is_some() {
                return Ok(());
            }
            links.ports.clone()
        };
        // With many connections on the machine this takes a while, and must not block the harness. Bytes that arrive
        // during this time are counted twice below, as read and as unread, which only makes the limits higher.
        let queues = tokio::task::spawn_blocking(move || TcpQueues::read(&ports))
            .await
            .map_err(io::Error::other)??;
        let mut workers = lock(&self.workers);
        let links = workers.entry(worker).or_default();
        for received in links.connections.iter().filter_map(Weak::upgrade) {
            let mut bytes = received.bytes();
            bytes.limit = bytes.read + queues.unread(received.ports).unwrap_or_default();
        }
        links.existing = Some(queues);
        Ok(())
    }

    /// Returns the first breach since `expect_no_traffic`, or `None` if there was none.
    pub fn freeze_breach(&self, worker: usize) -> Option<FreezeBreach> {
        let workers = lock(&self.workers);
        *lock(&workers.get(&worker)?.traffic.first_breach)
    }

    /// Stops treating data from the worker as a breach, and forgets the breach.
    pub fn allow_traffic(&self, worker: usize) {
        let mut workers = lock(&self.workers);
        let Some(links) = workers.get_mut(&worker) else {
            return;
        };
        links.existing = None;
        *lock(&links.traffic.first_breach) = None;
        for received in links.connections.iter().filter_map(Weak::upgrade) {
            received.bytes().limit = u64::MAX;
        }
    }

    /// Returns `true` if data from the worker has arrived on a link to a node.
    pub fn has_sent_data(&self, worker: usize) -> bool {
        let workers = lock(&self.workers);
        workers
            .get(&worker)
            .is_some_and(|links| links.traffic.has_sent_data.load(Ordering::Acquire))
    }
}

impl ReceivedTraffic {
    /// Records a breach, unless there was an earlier one.
    fn record_breach(&self, node: Option<usize>, arrived_at_ns: u64) {
        lock(&self.first_breach).get_or_insert(FreezeBreach {
            node,
            arrived_at_ns,
        });
    }
}

impl ReceivedBytes {
    /// Reads the bytes that are available, and counts them. Cancel-safe.
    pub(super) async fn read(
        &self,
        socket: &mut ReadHalf<'_>,
        room: &mut [u8],
        clock: &Clock,
    ) -> io::Result<usize> {
        poll_fn(|context| {
            let mut room = ReadBuf::new(room);
            // The count is locked during the read, so that every byte is either counted or in the kernel's queue.
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
            self.traffic.has_sent_data.store(true, Ordering::Release);
        }
        bytes.read += count as u64;
        if bytes.read > bytes.limit {
            bytes.limit = u64::MAX;
            self.traffic.record_breach(self.node, now_ns());
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

    /// Returns a connection and the ports of its two ends.
    fn connection() -> (TcpListener, TcpStream, Ports) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let ports = (address.port(), client.local_addr().unwrap().port());
        (listener, client, ports)
    }

    fn receive(received: &ReceivedBytes, count: usize, at_ns: u64) {
        received.add(&mut received.bytes(), count, || at_ns);
    }

    #[tokio::test]
    async fn only_bytes_written_before_the_freeze_are_allowed() {
        let freeze_monitor = FreezeMonitor::default();
        let (_listener, mut client, ports) = connection();
        freeze_monitor.add_port(0, ports.0);
        let received = freeze_monitor.add_connection(0, Some(3), ports, 1);
        receive(&received, 5, 2);
        assert!(freeze_monitor.has_sent_data(0) && !freeze_monitor.has_sent_data(1));
        client.write_all(b"0123456789").unwrap();
        freeze_monitor.expect_no_traffic(0).await.unwrap();
        receive(&received, 10, 3);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
        // The limit is twice the number of bytes, because the kernel counts unacknowledged bytes at both ends.
        receive(&received, 11, 4);
        let freeze_breach = FreezeBreach {
            node: Some(3),
            arrived_at_ns: 4,
        };
        assert_eq!(freeze_monitor.freeze_breach(0), Some(freeze_breach));
        freeze_monitor.allow_traffic(0);
        receive(&received, 100, 5);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
    }

    #[tokio::test]
    async fn queued_connection_is_allowed_and_new_one_is_a_breach() {
        let freeze_monitor = FreezeMonitor::default();
        let (listener, _client, ports) = connection();
        freeze_monitor.add_port(0, ports.0);
        freeze_monitor.expect_no_traffic(0).await.unwrap();
        freeze_monitor.add_connection(0, Some(0), ports, 1);
        assert_eq!(freeze_monitor.freeze_breach(0), None);
        let late = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let late = (ports.0, late.local_addr().unwrap().port());
        freeze_monitor.add_connection(0, None, late, 2);
        let freeze_breach = FreezeBreach {
            node: None,
            arrived_at_ns: 2,
        };
        assert_eq!(freeze_monitor.freeze_breach(0), Some(freeze_breach));
        assert!(!freeze_monitor.has_sent_data(0), "it sent no data");
    }
}
