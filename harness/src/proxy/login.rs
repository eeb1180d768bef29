//! Commands that a connection sends to its server before it forwards data of the worker: a login and an introduction.
//! The worker receives no replies to these commands.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The reply to a correct password.
const LOGGED_IN: &[u8] = b"+OK\r\n";

/// The first commands on a connection, and their expected replies. A greeting must not be printed, because it contains
/// the password.
#[derive(Default)]
pub(super) struct Greeting {
    commands: Vec<u8>,
    login_reply: &'static [u8],
    echo: Vec<u8>,
}

impl Greeting {
    /// Adds a login. Must be called before `introduce`, because a server with a password refuses all other commands
    /// before the login.
    pub(super) fn log_in(&mut self, password: &str) {
        self.commands.extend(command("AUTH", password));
        self.login_reply = LOGGED_IN;
    }

    /// Adds an `ECHO` with this word, which the server also reports to its observers.
    pub(super) fn introduce(&mut self, word: &str) {
        self.commands.extend(command("ECHO", word));
        self.echo = format!("${}\r\n{word}\r\n", word.len()).into_bytes();
    }

    /// Sends the commands, and reads their replies. Returns the bytes that the server sent instead of the expected
    /// replies; empty if the replies are as expected.
    pub(super) async fn exchange(self, upstream: &mut TcpStream) -> io::Result<Vec<u8>> {
        upstream.write_all(&self.commands).await?;
        let full_reply = [self.login_reply, &self.echo].concat();
        let mut answer = Vec::with_capacity(full_reply.len());
        while answer.len() < full_reply.len() {
            let mut rest = [0; 256];
            let room = rest.len().min(full_reply.len() - answer.len());
            let count = upstream.read(&mut rest[..room]).await?;
            answer.extend_from_slice(&rest[..count]);
            if count == 0 || !full_reply.starts_with(&answer) {
                let is_logged_in = answer.starts_with(self.login_reply);
                return Ok(answer.split_off(if is_logged_in {
                    self.login_reply.len()
                } else {
                    0
                }));
            }
        }
        Ok(Vec::new())
    }
}

/// Returns a command with one argument, in RESP.
fn command(name: &str, argument: &str) -> Vec<u8> {
    let (name_length, length) = (name.len(), argument.len());
    format!("*2\r\n${name_length}\r\n{name}\r\n${length}\r\n{argument}\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Returns the bytes that the worker receives if the server replies to the greeting with `answer` and then closes
    /// the connection.
    async fn worker_receives(answer: &'static [u8]) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut upstream = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(answer).await.unwrap();
        server.shutdown().await.unwrap();
        let mut greeting = Greeting::default();
        greeting.log_in("secret");
        greeting.introduce("me");
        let mut received = greeting.exchange(&mut upstream).await.unwrap();
        // The worker's connection continues where the exchange ended.
        upstream.read_to_end(&mut received).await.unwrap();
        let mut sent = vec![0; 256];
        let count = server.read(&mut sent).await.unwrap();
        let words = "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*2\r\n$4\r\nECHO\r\n$2\r\nme\r\n";
        assert_eq!(String::from_utf8_lossy(&sent[..count]), words);
        received
    }

    #[tokio::test]
    async fn worker_receives_what_it_would_have_without_login() {
        assert_eq!(worker_receives(b"+OK\r\n$2\r\nme\r\n").await, b"");
        let full: &[u8] = b"-ERR max number of clients reached\r\n";
        assert_eq!(worker_receives(full).await, full);
        assert_eq!(
            worker_receives(b"+OK\r\n-LOADING wait\r\n").await,
            b"-LOADING wait\r\n"
        );
        assert_eq!(worker_receives(b"+OK\r\n").await, b"");
    }
}
