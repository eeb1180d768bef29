//! What a connection says to its server before anything of the worker's: the password, and who it is.
//! The worker sees neither the words nor their answers.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a server answers the right password.
const WELCOME: &[u8] = b"+OK\r\n";

/// What is said first, and what the server answers to it. Not to be printed: it has the password.
#[derive(Default)]
pub(super) struct Greeting {
    words: Vec<u8>,
    welcome: &'static [u8],
    echo: Vec<u8>,
}

impl Greeting {
    /// With a password. Before the introduction: a server that wants a password hears nothing else.
    pub(super) fn log_in(&mut self, password: &str) {
        self.words.extend(command("AUTH", password));
        self.welcome = WELCOME;
    }

    /// With a word that the server says again, and reports to those who listen to it.
    pub(super) fn introduce(&mut self, word: &str) {
        self.words.extend(command("ECHO", word));
        self.echo = format!("${}\r\n{word}\r\n", word.len()).into_bytes();
    }

    /// Says it, and reads the answer. Returns what the server says instead of it.
    pub(super) async fn exchange(self, upstream: &mut TcpStream) -> io::Result<Vec<u8>> {
        upstream.write_all(&self.words).await?;
        let expected = [self.welcome, &self.echo].concat();
        let mut answer = Vec::with_capacity(expected.len());
        while answer.len() < expected.len() {
            let mut rest = [0; 256];
            let room = rest.len().min(expected.len() - answer.len());
            let count = upstream.read(&mut rest[..room]).await?;
            answer.extend_from_slice(&rest[..count]);
            if count == 0 || !expected.starts_with(&answer) {
                let welcomed = answer.starts_with(self.welcome);
                return Ok(answer.split_off(if welcomed { self.welcome.len() } else { 0 }));
            }
        }
        Ok(Vec::new())
    }
}

/// A command with one argument.
fn command(name: &str, argument: &str) -> Vec<u8> {
    let (name_length, length) = (name.len(), argument.len());
    format!("*2\r\n${name_length}\r\n{name}\r\n${length}\r\n{argument}\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// What is left over where a server answers a greeting like this and ends the connection.
    async fn left_of(answer: &'static [u8]) -> Vec<u8> {
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
        let mut left = greeting.exchange(&mut upstream).await.unwrap();
        // The worker's connection goes on where the exchange ended.
        upstream.read_to_end(&mut left).await.unwrap();
        let mut heard = vec![0; 256];
        let count = server.read(&mut heard).await.unwrap();
        let words = "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*2\r\n$4\r\nECHO\r\n$2\r\nme\r\n";
        assert_eq!(String::from_utf8_lossy(&heard[..count]), words);
        left
    }

    #[tokio::test]
    async fn the_worker_hears_only_what_it_would_have_heard_without() {
        assert_eq!(left_of(b"+OK\r\n$2\r\nme\r\n").await, b"");
        let full: &[u8] = b"-ERR max number of clients reached\r\n";
        assert_eq!(left_of(full).await, full);
        assert_eq!(
            left_of(b"+OK\r\n-LOADING wait\r\n").await,
            b"-LOADING wait\r\n"
        );
        assert_eq!(left_of(b"+OK\r\n").await, b"");
    }
}
