//! Addresses and the password of a run's servers. The password appears in no output.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, RedisResult};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rng;

/// A server's reply to the right password.
const WELCOME: &[u8] = b"+OK\r\n";

/// The password of a run's servers, as hexadecimal digits. Other users of the machine can reach the ports, but must not
/// have access. The password does not appear in command lines or errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Password([u8; 16]);

impl Password {
    /// Creates a password for one run.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot provide entropy.
    pub(crate) fn fresh() -> io::Result<Password> {
        let bytes = rng::fresh_secret();
        Ok(Password(
            bytes.map_err(|error| io::Error::other(error.to_string()))?,
        ))
    }

    /// Returns the password's SHA-256 hash in hexadecimal digits. A server's command line may contain the hash, because
    /// the password cannot be derived from it.
    pub(super) fn digest(self) -> String {
        let digest = Sha256::digest(self.text());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the password itself, which must not appear in messages.
    pub fn text(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// A server's address on loopback, with the password for it. Displayed without the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    socket: SocketAddr,
    password: Password,
}

impl ServerAddress {
    pub(crate) fn new(socket: SocketAddr, password: Password) -> ServerAddress {
        ServerAddress { socket, password }
    }

    /// Returns the address without the password.
    pub fn socket(&self) -> SocketAddr {
        self.socket
    }

    /// Creates a client that sends the password on each connection.
    ///
    /// # Errors
    /// Never returns an error for a valid address.
    pub fn client(&self) -> RedisResult<Client> {
        let socket = self.socket;
        Client::open(format!("redis://:{}@{socket}", self.password.text()))
    }

    /// Opens a connection for commands. Neither the connection nor a reply may take longer than `patience`.
    ///
    /// # Errors
    /// Returns an error if the server is gone, does not answer, or refuses.
    pub async fn connection(&self, patience: Duration) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(patience));
        self.client()?
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// Sends one command on a separate connection, and returns the reply.
    ///
    /// # Errors
    /// As [`connection`](ServerAddress::connection).
    pub async fn query<T: FromRedisValue>(
        &self,
        words: &[&str],
        patience: Duration,
    ) -> RedisResult<T> {
        let mut connection = self.connection(patience).await?;
        redis::Cmd::new()
            .arg(words)
            .query_async(&mut connection)
            .await
    }

    /// Opens a connection, and sends the password on it. Reads only the reply to the password.
    ///
    /// # Errors
    /// Returns an error if the server is gone, or accepts no more connections.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.socket).await?;
        let auth = format!("AUTH {}\r\n", self.password.text());
        stream.write_all(auth.as_bytes()).await?;
        let mut answer = [0; WELCOME.len()];
        stream.read_exact(&mut answer).await?;
        if answer != WELCOME {
            return Err(io::Error::other(format!(
                "the server at {self} rejects the password: {}",
                String::from_utf8_lossy(&answer).trim_end()
            )));
        }
        Ok(stream)
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_text_does_not_contain_the_password() {
        let password = Password::fresh().unwrap();
        let address = ServerAddress::new("127.0.0.1:7".parse().unwrap(), password);
        assert_eq!(password.text().len(), 32);
        assert_eq!(address.to_string(), "127.0.0.1:7");
        assert!(!format!("{address:?}").contains(&password.text()));
        assert_ne!(Password::fresh().unwrap(), password);
    }
}
