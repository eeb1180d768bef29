//! One connection of a worker to a node: two pumps, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use picklock_scenarios::Direction;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::connection_state::ConnectionState;
use super::freeze_check::Received;
use super::link::ServerLink;
use super::login::Greeting;
use super::proxy_state::ProxyState;
use super::pump::Pump;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::resp::frame_meta::FrameMeta;
use crate::proxy::resp::scan::Shape;

/// Carries one connection from its first byte to its last.
pub(super) async fn carry(
    proxy: &ProxyState,
    server_link: ServerLink,
    conn: u64,
    mut client: TcpStream,
    received: Arc<Received>,
) {
    let shared = ConnectionState::new(proxy, server_link, conn, received);
    let cut = proxy.cut_notice(conn);
    let upstream = tokio::select! {
        biased;
        () = cut.notified() => None,
        upstream = shared.reach() => upstream,
    };
    let Some(mut upstream) = upstream else {
        return reset(client);
    };
    let whole = tokio::select! {
        biased;
        () = cut.notified() => false,
        both = shared.introduced_both_ways(&mut client, &mut upstream) => both.is_ok(),
    };
    if !whole {
        reset(client);
        reset(upstream);
    } else {
        drop(upstream);
    }
    shared.closed();
}

/// Closes a connection so that its peer sees a reset.
fn reset(stream: TcpStream) {
    // If this fails, the socket is closed in the ordinary way, which ends it as well.
    let _ = stream.set_zero_linger();
}

impl ConnectionState<'_> {
    /// Connects to the node, once no partition is in the way. `None`: it does not answer.
    async fn reach(&self) -> Option<TcpStream> {
        // A handshake needs both directions, and so does its refusal.
        self.no_partition(None, true).await;
        let upstream = self.proxy.upstream(self.server_link);
        let error = match connect(upstream).await {
            Ok(stream) => return Some(stream),
            Err(error) => error,
        };
        let what = format!("{} cannot be connected", self.link);
        self.proxy.shortages.note(&what, &error);
        let meta =
            FrameMeta::unrequested(self.proxy.clock.now_ns(), self.operation(), Shape::Blank);
        let text = match upstream {
            Some(upstream) => format!("{upstream}: {error}"),
            None => error.to_string(),
        };
        let outcome = FrameOutcome::Unreachable;
        self.note(Direction::Request, &meta, text.as_bytes(), None, outcome);
        self.no_partition(None, false).await;
        None
    }

    /// Logs in to the server first, if it wants that, and introduces the connection, if what the
    /// server says is to be joined with what it sends.
    async fn introduced_both_ways(
        &self,
        client: &mut TcpStream,
        upstream: &mut TcpStream,
    ) -> io::Result<()> {
        let mut greeting = Greeting::default();
        if let Some(password) = self.proxy.password.get() {
            greeting.log_in(password);
        }
        if let Some(sent) = self.proxy.sent.get() {
            sent.opened(self.conn, self.link);
            greeting.introduce(&sent.introduction(self.conn));
        }
        let other = greeting.exchange(upstream).await?;
        // A server that accepts no more connections says so at once.
        client.write_all(&other).await?;
        self.both_ways(client, upstream).await
    }

    async fn both_ways(&self, client: &mut TcpStream, upstream: &mut TcpStream) -> io::Result<()> {
        let (client_reader, client_writer) = client.split();
        let (upstream_reader, upstream_writer) = upstream.split();
        let requests = Pump::new(self, Direction::Request, client_reader, upstream_writer);
        let replies = Pump::new(self, Direction::Reply, upstream_reader, client_writer);
        tokio::try_join!(
            self.run(requests, Direction::Reply),
            self.run(replies, Direction::Request),
        )?;
        Ok(())
    }

    /// Runs a pump. When it breaks because its receiver is gone, the sender learns of it only when
    /// no partition stops the reset, which travels in direction `back`.
    async fn run(&self, pump: Pump<'_>, back: Direction) -> io::Result<()> {
        let Err(error) = pump.run().await else {
            return Ok(());
        };
        self.no_partition(Some(back), false).await;
        Err(error)
    }
}

async fn connect(upstream: Option<SocketAddr>) -> io::Result<TcpStream> {
    let upstream = upstream.ok_or(io::ErrorKind::ConnectionRefused)?;
    let stream = TcpStream::connect(upstream).await?;
    // A command must not wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    Ok(stream)
}
