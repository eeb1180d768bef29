//! A port on loopback that leads to a server which somebody else has started.
//!
//! Everything of a run speaks to its servers there, in plain and with the run's own password, as to servers that
//! it has started itself. So the proxy leads to loopback alone, and where the server is, how it is spoken to, and as whom,
//! is known here and in `upstream` only.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::upstream::Upstream;
use super::{Password, ServerAddress};

/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The port. It is closed, with its connections, when this is dropped.
pub(super) struct Gateway {
    address: ServerAddress,
    task: JoinHandle<()>,
}

impl Gateway {
    /// Opens a port for clients that know the password.
    /// `Err`: no port is free.
    pub(super) async fn open(upstream: Arc<Upstream>, password: Password) -> io::Result<Gateway> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let socket: SocketAddr = listener.local_addr()?;
        Ok(Gateway {
            address: ServerAddress::new(socket, password),
            task: tokio::spawn(serve(listener, upstream, password)),
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> ServerAddress {
        self.address
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, upstream: Arc<Upstream>, password: Password) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(carry(client, Arc::clone(&upstream), password));
                }
                // This process has run out of descriptors, which the proxy notes.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection. What breaks on one side breaks on the other.
async fn carry(mut client: TcpStream, upstream: Arc<Upstream>, password: Password) {
    let both_ways = async {
        client.set_nodelay(true)?;
        if !knows(&mut client, &password.text()).await? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let server = upstream.connect().await;
        let mut server = server.map_err(io::Error::other)?;
        client.write_all(b"+OK\r\n").await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    if both_ways.await.is_err() {
        // If this fails, the socket is closed in the ordinary way.
        let _ = client.set_zero_linger();
    }
}

/// Reads the first command. True: it is an `AUTH` with this password, in one of its two forms.
async fn knows(client: &mut TcpStream, password: &str) -> io::Result<bool> {
    let length = password.len();
    let forms = [
        format!("AUTH {password}\r\n"),
        format!("*2\r\n$4\r\nAUTH\r\n${length}\r\n{password}\r\n"),
    ];
    let mut read = Vec::new();
    loop {
        read.push(client.read_u8().await?);
        let could_be = |form: &String| form.as_bytes().starts_with(&read);
        match forms.iter().find(|form| could_be(form)) {
            None => return Ok(false),
            Some(form) if form.len() == read.len() => return Ok(true),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::external_servers::ExternalServers;
    use crate::record::ServersTable;

    use super::*;

    /// A server that answers a line with another, and the way to it.
    async fn gateway(password: Password) -> Gateway {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let table = ServersTable {
            redis: vec![format!("redis://{}", server.local_addr().unwrap())],
            ..ServersTable::default()
        };
        tokio::spawn(async move {
            let (mut client, _) = server.accept().await.unwrap();
            while client.read_u8().await.unwrap() != b'\n' {}
            client.write_all(b"+PONG\r\n").await.unwrap();
        });
        let servers = ExternalServers::new(&table, |_| None).unwrap();
        let upstream = Upstream::all(&servers).unwrap().remove(0);
        Gateway::open(upstream, password).await.unwrap()
    }

    #[tokio::test]
    async fn gateway_carries_for_those_who_know_the_password_only() {
        let password = Password::fresh().unwrap();
        let gateway = gateway(password).await;
        let mut stranger = TcpStream::connect(gateway.address().socket())
            .await
            .unwrap();
        stranger
            .write_all(b"AUTH 0123456789\r\nPING\r\n")
            .await
            .unwrap();
        let refused = stranger.read_u8().await;
        assert!(refused.is_err(), "{refused:?}");

        let mut ours = gateway.address().connect().await.unwrap();
        ours.write_all(b"PING\r\n").await.unwrap();
        let mut answer = String::new();
        ours.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "+PONG\r\n");
    }
}
