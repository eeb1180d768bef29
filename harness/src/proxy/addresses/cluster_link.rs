//! The links between a worker and the masters of a Redis Cluster.
//!
//! Cluster servers announce each other's addresses in `MOVED` and `ASK` redirections and in cluster topology replies.
//! Behind each link, a relay replaces these addresses with the addresses of the worker's links, so that the traffic of
//! any Cluster client stays on the proxy. The link itself works like any other, with a log, barriers and faults.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use crate::proxy::LinkId;
use crate::proxy::addresses::cluster_addresses::{ClusterMap, foreign_redirection, with_links};
use crate::proxy::links::Proxy;
use crate::proxy::proxy_state::TaskGuard;
use crate::proxy::resource_exhaustion::ProxyIncident;
use crate::proxy::resp::reply_stream::forward_replies;

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
            tokio::spawn(serve(task, relay, link.worker, upstream, map));
        }
        Ok(addresses)
    }
}

async fn serve(
    task: TaskGuard,
    relay: TcpListener,
    worker: usize,
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
            tokio::spawn(carry(task, link, worker, upstream, Arc::clone(&map)));
        }
    }
}

/// Carries one connection until either side ends it or the proxy is closed.
async fn carry(
    task: TaskGuard,
    mut link: TcpStream,
    worker: usize,
    upstream: SocketAddr,
    map: Arc<ClusterMap>,
) {
    let both_ways = async {
        link.set_nodelay(true)?;
        let mut server = TcpStream::connect(upstream).await?;
        server.set_nodelay(true)?;
        let (mut from_link, mut to_link) = link.split();
        let (mut from_server, mut to_server) = server.split();
        let rewrite = |reply: &[u8]| {
            if let Some(place) = foreign_redirection(reply, &map) {
                let (worker, place) = (worker, place.into_owned());
                let incident = ProxyIncident::RedirectionRefused { worker, place };
                task.0.incidents.add(incident);
            }
            with_links(reply, &map).into_owned()
        };
        tokio::select! {
            ended = tokio::io::copy(&mut from_link, &mut to_server) => ended.map(drop),
            ended = forward_replies(&mut from_server, &mut to_link, rewrite) => ended,
        }
    };
    tokio::select! {
        biased;
        () = task.closed() => {}
        // Both sides find their connection closed, whatever the reason was.
        _ = both_ways => {}
    }
}
