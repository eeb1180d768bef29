//! The links between a worker and servers that were running before, such as the masters of a Redis Cluster.
//!
//! Cluster servers announce each other's addresses in `MOVED` and `ASK` redirections and in cluster topology
//! replies. Behind each link, a relay replaces these addresses with those of the worker's links, so that any
//! Cluster client keeps going through the proxy. The link itself is like any other, with a log, barriers and
//! faults.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::nanos;
use crate::proxy::LinkId;
use crate::proxy::addresses::cluster_addresses::with_links;
use crate::proxy::addresses::cluster_topology::ClusterMap;
use crate::proxy::links::Proxy;
use crate::proxy::proxy_state::{ProxyState, TaskGuard};
use crate::proxy::resource_exhaustion::ProxyIncident;
use crate::proxy::resp::reply_stream::{CHUNK, forward_replies};

/// Shortest wait for an answer that is recorded.
const SLOW: Duration = Duration::from_millis(60);

impl Proxy {
    /// Opens a worker's links to the masters of a Cluster, and returns the loopback addresses on which it reaches
    /// them, in the same order. Each of `masters` is the address that the others announce (`HOST:PORT`) and the
    /// loopback address of the server.
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
        // Only the proxy connects here, and it records its own incidents.
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
    let answers = AnswerTimes {
        proxy: &task.0,
        node: of.node,
        asked_ns: AtomicU64::new(0),
    };
    let both_ways = async {
        link.set_nodelay(true)?;
        let mut server = TcpStream::connect(upstream).await?;
        server.set_nodelay(true)?;
        let (mut from_link, mut to_link) = link.split();
        let (mut from_server, mut to_server) = server.split();
        let rewrite = |reply: &[u8]| {
            answers.answered();
            let (known, foreign) = with_links(reply, &map);
            if let Some(place) = foreign {
                let worker = of.worker;
                let incident = ProxyIncident::AddressWithheld { worker, place };
                task.0.incidents.add(incident);
            }
            known.into_owned()
        };
        tokio::select! {
            ended = forward_requests(&mut from_link, &mut to_server, &answers) => ended,
            ended = forward_replies(&mut from_server, &mut to_link, rewrite) => ended,
        }
    };
    tokio::select! {
        biased;
        () = task.closed() => {}
        // Both sides see their connection closed, whatever the reason was.
        _ = both_ways => {}
    }
    answers.answered();
}

/// Forwards requests, and records when they were sent.
async fn forward_requests(
    client: &mut ReadHalf<'_>,
    server: &mut WriteHalf<'_>,
    answers: &AnswerTimes<'_>,
) -> io::Result<()> {
    let mut chunk = [0; CHUNK];
    loop {
        match client.read(&mut chunk).await? {
            0 => return server.shutdown().await,
            count => {
                answers.asked(&chunk[..count]);
                server.write_all(&chunk[..count]).await?;
            }
        }
    }
}

/// Beginnings of the commands that a server may answer late on purpose.
const BLOCKING: [&[u8]; 5] = [b"\nBL", b"\nBR", b"\nBZ", b"\nXREAD", b"\nWAIT"];

/// Measures how long a server takes to answer. Replies carry no number, so that only the first answer after a request
/// counts.
struct AnswerTimes<'a> {
    proxy: &'a ProxyState,
    node: usize,
    /// When the oldest request without an answer was sent, or 0 if there is none.
    asked_ns: AtomicU64,
}

impl AnswerTimes<'_> {
    fn asked(&self, request: &[u8]) {
        let request = request.to_ascii_uppercase();
        let is_blocking = |name: &&[u8]| memmem::find(&request, name).is_some();
        if self.asked_ns.load(Ordering::Relaxed) == 0
            && !BLOCKING.iter().any(|name| is_blocking(name))
        {
            self.asked_ns
                .store(self.proxy.clock.now_ns().max(1), Ordering::Relaxed);
        }
    }

    /// Records the end of the wait for an answer, if there is one and it was long.
    fn answered(&self) {
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
