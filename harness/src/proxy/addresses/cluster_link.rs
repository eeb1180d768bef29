//! The links between a worker and servers that were running before, such as the masters of a Redis Cluster.
//!
//! Cluster servers announce each other's addresses in `MOVED` and `ASK` redirections and in cluster topology replies.
//! Behind each link, a relay replaces these addresses with the addresses of the worker's links, so that the traffic of
//! any Cluster client stays on the proxy. The link itself works like any other, with a log, barriers and faults.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::nanos;
use crate::proxy::LinkId;
use crate::proxy::addresses::cluster_addresses::with_links;
use crate::proxy::addresses::cluster_topology::ClusterMap;
use crate::proxy::incidents::ProxyIncident;
use crate::proxy::links::Proxy;
use crate::proxy::proxy_state::{ProxyState, TaskGuard};
use crate::proxy::resp::reply_stream::{CHUNK, forward_replies};

/// Shortest wait for an answer that is recorded. Equals `MIN_STALL` of `driver/stall.rs`, because both show that a
/// server was slow.
const SLOW: Duration = Duration::from_millis(60);

impl Proxy {
    /// Opens a worker's links to the masters of a Cluster, and returns the loopback addresses at which the worker
    /// reaches them, in the same order. Each entry of `masters` contains the address that other servers announce for
    /// the master (`HOST:PORT`) and its loopback address.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`Proxy::open`].
    pub async fn open_cluster(
        &self,
        link: LinkId,
        masters: &[(String, SocketAddr)],
    ) -> io::Result<Vec<SocketAddr>> {
        let (mut map, mut relays, mut addresses) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, (announced, upstream)) in masters.iter().enumerate() {
            let relay = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            let address = self.open_server(link, number, relay.local_addr()?).await?;
            map.insert(announced.clone(), address);
            addresses.push(address);
            relays.push((relay, *upstream));
        }
        let map = Arc::new(map);
        for (relay, upstream) in relays {
            let (task, map) = (self.state.register_task()?, Arc::clone(&map));
            tokio::spawn(serve(task, relay, link, upstream, map));
        }
        Ok(addresses)
    }
}

async fn serve(
    task: TaskGuard,
    relay: TcpListener,
    of: LinkId,
    upstream: SocketAddr,
    map: Arc<ClusterMap>,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = task.closed() => return,
            accepted = relay.accept() => accepted,
        };
        // Only the proxy connects to this port, and it records its own incidents.
        if let (Ok((link, _)), Ok(task)) = (accepted, task.0.register_task()) {
            tokio::spawn(carry(task, link, of, upstream, Arc::clone(&map)));
        }
    }
}

/// Carries one connection until either side ends it or the proxy is closed.
async fn carry(
    task: TaskGuard,
    mut link: TcpStream,
    of: LinkId,
    upstream: SocketAddr,
    map: Arc<ClusterMap>,
) {
    let requests = Requests {
        proxy: &task.0,
        node: of.node,
        asked_ns: AtomicU64::new(0),
        ask_for_servers: AtomicBool::new(false),
    };
    let both_ways = async {
        link.set_nodelay(true)?;
        let mut server = TcpStream::connect(upstream).await?;
        server.set_nodelay(true)?;
        let (mut from_link, mut to_link) = link.split();
        let (mut from_server, mut to_server) = server.split();
        let rewrite = |reply: &[u8]| {
            requests.record_answer();
            let lists_servers = requests.ask_for_servers.load(Ordering::Relaxed);
            let (known, foreign) = with_links(reply, &map, lists_servers);
            if let Some(address) = foreign {
                let worker = of.worker;
                let incident = ProxyIncident::AddressWithheld { worker, address };
                task.0.incidents.add(incident);
            }
            known.into_owned()
        };
        tokio::select! {
            ended = forward_requests(&mut from_link, &mut to_server, &requests) => ended,
            ended = forward_replies(&mut from_server, &mut to_link, rewrite) => ended,
        }
    };
    tokio::select! {
        biased;
        () = task.closed() => {}
        // Both sides find their connection closed, whatever the reason was.
        _ = both_ways => {}
    }
    requests.record_answer();
}

async fn forward_requests(
    client: &mut ReadHalf<'_>,
    server: &mut WriteHalf<'_>,
    requests: &Requests<'_>,
) -> io::Result<()> {
    let mut chunk = [0; CHUNK];
    // The end of the previous chunk, because a word may be split.
    let mut recent = Vec::new();
    loop {
        match client.read(&mut chunk).await? {
            0 => return server.shutdown().await,
            count => {
                recent.extend_from_slice(&chunk[..count].to_ascii_uppercase());
                requests.record(&recent);
                recent.drain(..recent.len().saturating_sub(LONGEST_WORD - 1));
                server.write_all(&chunk[..count]).await?;
            }
        }
    }
}

/// Beginnings of the commands that a server may answer late on purpose.
const BLOCKING: [&[u8]; 5] = [b"\nBL", b"\nBR", b"\nBZ", b"\nXREAD", b"\nWAIT"];

/// Commands whose replies list servers, possibly within a script.
const LISTING: [&[u8]; 2] = [b"CLUSTER", b"SENTINEL"];

const LONGEST_WORD: usize = b"SENTINEL".len();

/// The requests on a connection, as far as the replies do not show them.
struct Requests<'a> {
    proxy: &'a ProxyState,
    node: usize,
    /// When the oldest request without an answer was sent, or 0 if there is none. Replies carry no number, so only the
    /// first answer after a request counts.
    asked_ns: AtomicU64,
    /// Whether a request on this connection has asked for lists of servers. Only such replies are rewritten: the fields
    /// of another reply, such as `ip` and `port` in a hash of the lock, are data.
    ask_for_servers: AtomicBool,
}

impl Requests<'_> {
    /// Records requests, which must be in upper case.
    fn record(&self, requests: &[u8]) {
        let has = |words: &[&[u8]]| {
            let mut words = words.iter();
            words.any(|word| memmem::find(requests, word).is_some())
        };
        if has(&LISTING) {
            self.ask_for_servers.store(true, Ordering::Relaxed);
        }
        if self.asked_ns.load(Ordering::Relaxed) == 0 && !has(&BLOCKING) {
            let now_ns = self.proxy.clock.now_ns().max(1);
            self.asked_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Records the end of the wait for an answer, if there is one and it was long.
    fn record_answer(&self) {
        let (since_ns, until_ns) = (
            self.asked_ns.swap(0, Ordering::Relaxed),
            self.proxy.clock.now_ns(),
        );
        if since_ns > 0 && until_ns.saturating_sub(since_ns) >= nanos(SLOW) {
            self.proxy.incidents.add(ProxyIncident::SlowAnswer {
                node: self.node,
                since_ns,
                until_ns,
            });
        }
    }
}
