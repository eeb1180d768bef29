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

/// How a server answers the right password.
const WELCOME: &[u8] = b"+OK\r\n";

/// The password of a run's servers: hexadecimal digits. Other users of the machine reach the ports, and
/// must not be served. It stands on no command line and in no error.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Password([u8; 16]);

impl Password {
    /// A new one, for one run.
    /// `Err`: the operating system cannot provide entropy.
    pub(super) fn fresh() -> io::Result<Password> {
        let bytes = rng::fresh_secret();
        Ok(Password(
            bytes.map_err(|error| io::Error::other(error.to_string()))?,
        ))
    }

    /// Its SHA-256, hexadecimal: a server's command line may hold that, because the password cannot be
    /// found from it.
    pub(super) fn digest(self) -> String {
        let digest = Sha256::digest(self.text());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Its text. Keep it out of messages.
    pub fn text(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// Where a server listens on loopback, with what it takes to be served there. Shown as its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    socket: SocketAddr,
    password: Password,
}

impl ServerAddress {
    pub(super) fn new(socket: SocketAddr, password: Password) -> ServerAddress {
        ServerAddress { socket, password }
    }

    /// Where it listens.
    pub fn socket(&self) -> SocketAddr {
        self.socket
    }

    /// A client that gives the password with each connection.
    ///
    /// # Errors
    /// None that an address can cause.
    pub fn client(&self) -> RedisResult<Client> {
        let socket = self.socket;
        Client::open(format!("redis://:{}@{socket}", self.password.text()))
    }

    /// A connection for commands. Neither it nor an answer may take longer than `patience`.
    ///
    /// # Errors
    /// The server is not there, does not answer, or refuses.
    pub async fn connection(&self, patience: Duration) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(patience));
        self.client()?
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// The answer to one command, on a connection of its own.
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

    /// A connection on which the password was given. The server has answered that, and nothing else.
    ///
    /// # Errors
    /// It is not there, or accepts no more connections.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.socket).await?;
        let words = format!("AUTH {}\r\n", self.password.text());
        stream.write_all(words.as_bytes()).await?;
        let mut answer = [0; WELCOME.len()];
        stream.read_exact(&mut answer).await?;
        match answer == WELCOME {
            true => Ok(stream),
            false => Err(io::Error::other(format!(
                "the server at {self} does not take the password: {}",
                String::from_utf8_lossy(&answer).trim_end()
            ))),
        }
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
    fn no_text_for_people_holds_the_password() {
        let password = Password::fresh().unwrap();
        let address = ServerAddress::new("127.0.0.1:7".parse().unwrap(), password);
        assert_eq!(password.text().len(), 32);
        assert_eq!(address.to_string(), "127.0.0.1:7");
        assert!(!format!("{address:?}").contains(&password.text()));
        assert_ne!(Password::fresh().unwrap(), password);
    }
}
