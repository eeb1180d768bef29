//! One connection of a worker to a node: its two pumps, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use picklock_scenarios::Direction;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::connection_state::ConnectionState;
use super::freeze_monitor::ReceivedBytes;
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
    received: Arc<ReceivedBytes>,
) {
    let shared = ConnectionState::new(proxy, server_link, conn, received);
    let cut = proxy.cut_notice(conn);
    let upstream = tokio::select! {
        biased;
        () = cut.notified() => None,
        upstream = shared.connect_upstream() => upstream,
    };
    let Some(mut upstream) = upstream else {
        return reset(client);
    };
    let ended_orderly = tokio::select! {
        biased;
        () = cut.notified() => false,
        forwarded = shared.greet_and_forward(&mut client, &mut upstream) => forwarded.is_ok(),
    };
    if ended_orderly {
        drop(upstream);
    } else {
        reset(client);
        reset(upstream);
    }
    shared.record_close();
}

/// Closes a connection with a reset.
fn reset(stream: TcpStream) {
    // If this fails, the socket is closed without a reset, which ends the connection as well.
    let _ = stream.set_zero_linger();
}

impl ConnectionState<'_> {
    /// Connects to the node as soon as no partition prevents it. Returns `None` if the node does not answer.
    async fn connect_upstream(&self) -> Option<TcpStream> {
        // A handshake needs both directions, and so does its refusal.
        self.wait_for_partitions(None, true).await;
        let upstream = self.proxy.upstream(self.server_link);
        let error = match connect(upstream).await {
            Ok(stream) => return Some(stream),
            Err(error) => error,
        };
        let failure = format!("cannot connect {}", self.link);
        self.proxy.incidents.record_exhaustion(&failure, &error);
        let meta =
            FrameMeta::unrequested(self.proxy.clock.now_ns(), self.operation(), Shape::Blank);
        let text = match upstream {
            Some(upstream) => format!("{upstream}: {error}"),
            None => error.to_string(),
        };
        let outcome = FrameOutcome::Unreachable;
        self.log_frame(Direction::Request, &meta, text.as_bytes(), None, outcome);
        self.wait_for_partitions(None, false).await;
        None
    }

    /// Logs in to the server if it requires a password, introduces the connection if its requests are tracked, and
    /// then forwards both directions.
    async fn greet_and_forward(
        &self,
        client: &mut TcpStream,
        upstream: &mut TcpStream,
    ) -> io::Result<()> {
        let mut greeting = Greeting::default();
        if let Some(password) = self.proxy.password.get() {
            greeting.log_in(password);
        }
        if let Some(sent) = self.proxy.sent.get() {
            sent.add_connection(self.conn, self.link);
            greeting.introduce(&sent.introduction(self.conn));
        }
        let unexpected_reply = greeting.exchange(upstream).await?;
        // A server with too many connections sends an error instead of the expected replies.
        client.write_all(&unexpected_reply).await?;
        self.forward_both_ways(client, upstream).await
    }

    async fn forward_both_ways(
        &self,
        client: &mut TcpStream,
        upstream: &mut TcpStream,
    ) -> io::Result<()> {
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

    /// Runs a pump. If it breaks because its receiver is gone, the sender gets a reset, which travels in direction
    /// `back` and waits for partitions.
    async fn run(&self, pump: Pump<'_>, back: Direction) -> io::Result<()> {
        let Err(error) = pump.run().await else {
            return Ok(());
        };
        self.wait_for_partitions(Some(back), false).await;
        Err(error)
    }
}

async fn connect(upstream: Option<SocketAddr>) -> io::Result<TcpStream> {
    let upstream = upstream.ok_or(io::ErrorKind::ConnectionRefused)?;
    let stream = TcpStream::connect(upstream).await?;
    // With Nagle's algorithm, a command would wait for the acknowledgement of the command before it.
    stream.set_nodelay(true)?;
    Ok(stream)
}
