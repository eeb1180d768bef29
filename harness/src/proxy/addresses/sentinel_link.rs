//! The links between a worker and the Sentinels.
//!
//! No lock commands pass on these links, so they have no log, no barriers and no faults: a worker that is partitioned
//! from a node still reaches the Sentinels. A link counts the worker's bytes. It replaces the addresses in the
//! Sentinels' replies, so that clients reach the servers through the proxy. Any Sentinel client works unchanged.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::Clock;
use crate::proxy::addresses::address_rewrite::{AddressMap, rewrite_addresses};
use crate::proxy::freeze_monitor::ReceivedBytes;
use crate::proxy::links::{Listening, Proxy, only_loopback};
use crate::proxy::login::Greeting;
use crate::proxy::proxy_state::TaskGuard;
use crate::proxy::resp::reply_stream::{CHUNK, forward_replies};

/// The two addresses of a Sentinel.
#[derive(Debug, Clone, Copy)]
pub struct SentinelAddresses {
    /// The loopback address on which the Sentinel listens.
    pub listening: SocketAddr,
    /// The address that the Sentinel announces.
    pub announced: SocketAddr,
}

impl Proxy {
    /// Opens links for one worker to all Sentinels, and returns the loopback addresses at which the worker reaches
    /// them, in the same order. Each entry of `servers` contains an address that the Sentinels announce, and the
    /// address at which this worker reaches the same server.
    ///
    /// # Errors
    /// Returns an error if a Sentinel is not on loopback, the proxy is closed, or no port is free.
    pub async fn open_sentinels(
        &self,
        worker: usize,
        sentinels: &[SentinelAddresses],
        servers: &[(SocketAddr, SocketAddr)],
    ) -> io::Result<Vec<SocketAddr>> {
        let mut map: AddressMap = servers.iter().copied().collect();
        let mut listeners = Vec::new();
        for sentinel in sentinels {
            only_loopback(sentinel.listening)?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            map.insert(sentinel.announced, listener.local_addr()?);
            listeners.push((listener, sentinel.listening));
        }
        let map = Arc::new(map);
        let mut addresses = Vec::new();
        for (listener, upstream) in listeners {
            let address = listener.local_addr()?;
            addresses.push(address);
            self.state.freeze_monitor.add_port(worker, address.port());
            let listening = Listening {
                task: self.state.register_task()?,
                listener,
                worker,
                node: None,
            };
            let (proxy, map) = (self.clone(), Arc::clone(&map));
            tokio::spawn(listening.run(move |client, received| {
                // If this fails, the proxy was closed in the meantime.
                if let Ok(task) = proxy.state.register_task() {
                    let requests = Requests {
                        received,
                        clock: proxy.state.clock.clone(),
                        password: proxy.state.password.get().cloned(),
                    };
                    tokio::spawn(carry(task, client, upstream, Arc::clone(&map), requests));
                }
            }));
        }
        Ok(addresses)
    }
}

/// Carries one connection until either side ends it or the proxy is closed.
async fn carry(
    task: TaskGuard,
    mut client: TcpStream,
    upstream: SocketAddr,
    map: Arc<AddressMap>,
    requests: Requests,
) {
    let both_ways = async {
        let mut sentinel = TcpStream::connect(upstream).await?;
        sentinel.set_nodelay(true)?;
        let mut greeting = Greeting::default();
        if let Some(password) = &requests.password {
            greeting.log_in(password);
        }
        let unexpected_reply = greeting.exchange(&mut sentinel).await?;
        client.write_all(&unexpected_reply).await?;
        let (mut from_client, mut to_client) = client.split();
        let (mut from_sentinel, mut to_sentinel) = sentinel.split();
        let rewrite = |reply: &[u8]| rewrite_addresses(reply, &map);
        tokio::select! {
            forwarded = requests.forward(&mut from_client, &mut to_sentinel) => forwarded,
            ended = forward_replies(&mut from_sentinel, &mut to_client, rewrite) => ended,
        }
    };
    tokio::select! {
        biased;
        () = task.closed() => {}
        // Both sides find their connection closed, whatever the reason was.
        _ = both_ways => {}
    }
}

/// Forwards the requests of a client to a Sentinel.
struct Requests {
    received: Arc<ReceivedBytes>,
    clock: Clock,
    password: Option<String>,
}

impl Requests {
    /// Forwards the bytes unchanged, and counts them.
    async fn forward(
        &self,
        socket: &mut ReadHalf<'_>,
        writer: &mut WriteHalf<'_>,
    ) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        loop {
            let read = self.received.read(socket, &mut chunk, &self.clock);
            match read.await? {
                0 => return Ok(()),
                count => writer.write_all(&chunk[..count]).await?,
            }
        }
    }
}
