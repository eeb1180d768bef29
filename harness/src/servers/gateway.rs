//! A port on loopback that leads to an external server.
//!
//! All parts of a run connect to this port, in plain text and with the run's own password, as for servers that the run
//! has started. So the proxy connects only to loopback. Only this module and `upstream` know the server's address, its
//! encryption and its credentials.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::upstream::Upstream;
use super::{Password, ServerAddress};
use crate::secret::Mask;

/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The port. Dropping the gateway closes the port and its connections.
pub(super) struct Gateway {
    address: ServerAddress,
    task: JoinHandle<()>,
}

impl Gateway {
    /// Opens a port for clients that know the password.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub(super) async fn open(upstream: Arc<Upstream>, password: Password) -> io::Result<Gateway> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let socket: SocketAddr = listener.local_addr()?;
        Ok(Gateway {
            address: ServerAddress::new(socket, password),
            task: tokio::spawn(serve(listener, upstream, password)),
        })
    }

    /// Returns the address of the port.
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
                // The accept failed because this process has run out of descriptors, which the proxy records.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Forwards one connection. If one side breaks, the other is broken too.
async fn carry(mut client: TcpStream, upstream: Arc<Upstream>, password: Password) {
    let both_ways = async {
        client.set_nodelay(true)?;
        if !is_authenticated(&mut client, &password.text()).await? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let server = upstream.connect().await.map_err(io::Error::other)?;
        client.write_all(b"+OK\r\n").await?;
        let (mut answers, mut requests) = split(server);
        let (mut from_client, mut to_client) = client.split();
        let mask = Mask::new(upstream.server.password.as_ref());
        let forwards = async {
            copy(&mut from_client, &mut requests).await?;
            requests.shutdown().await
        };
        tokio::try_join!(forwards, pass_masked(&mut answers, &mut to_client, mask))
    };
    if both_ways.await.is_err() {
        // If this fails, the socket is closed normally.
        let _ = client.set_zero_linger();
    }
}

/// Forwards the data of a server with the password masked, until the server closes the connection. Otherwise a password
/// that the server repeats would appear in messages, logs and saved runs.
async fn pass_masked(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut mask: Mask,
) -> io::Result<()> {
    let mut chunk = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&mask.pass(&chunk[..count])).await?;
    }
}

/// Reads the first command. Returns `true` if it is an `AUTH` with this password, in one of its two forms.
async fn is_authenticated(client: &mut TcpStream, password: &str) -> io::Result<bool> {
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

    /// Starts a server that answers one line, and a gateway that leads to it.
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
    async fn gateway_forwards_only_after_the_right_password() {
        let password = Password::fresh().unwrap();
        let gateway = gateway(password).await;
        let mut intruder = TcpStream::connect(gateway.address().socket())
            .await
            .unwrap();
        intruder
            .write_all(b"AUTH 0123456789\r\nPING\r\n")
            .await
            .unwrap();
        let answer = intruder.read_u8().await;
        assert!(answer.is_err(), "{answer:?}");

        let mut client = gateway.address().connect().await.unwrap();
        client.write_all(b"PING\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "+PONG\r\n");
    }
}
