//! A raw end of a connection.

use std::io;
use std::net::SocketAddr;

use redis_protocol::resp3::decode::complete;
use redis_protocol::{resp2, resp3};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::within;

/// One end of a connection.
pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Client {
        Client::new(
            within("connecting", TcpStream::connect(address))
                .await
                .unwrap(),
        )
    }

    pub async fn try_connect(address: SocketAddr) -> io::Result<Client> {
        Ok(Client::new(TcpStream::connect(address).await?))
    }

    pub fn new(stream: TcpStream) -> Client {
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            buffer: Vec::new(),
        }
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        within("writing", self.stream.write_all(bytes))
            .await
            .unwrap();
    }

    /// Sends a command of words without spaces.
    pub async fn send(&mut self, command: &str) {
        self.write(&pack(command.split(' ').map(str::as_bytes)))
            .await;
    }

    /// Sends a command, and returns its reply, escaped.
    pub async fn ask(&mut self, command: &str) -> String {
        self.send(command).await;
        self.reply().await
    }

    /// Returns the bytes of the next reply.
    pub async fn reply_bytes(&mut self) -> Vec<u8> {
        loop {
            if let Some(len) = whole(&self.buffer) {
                let rest = self.buffer.split_off(len);
                return std::mem::replace(&mut self.buffer, rest);
            }
            let read = self.stream.read_buf(&mut self.buffer);
            let count = within("a reply", read).await.unwrap();
            assert_ne!(count, 0, "the connection ended instead of a reply");
        }
    }

    /// Returns the next reply, escaped.
    pub async fn reply(&mut self) -> String {
        self.reply_bytes().await.escape_ascii().to_string()
    }

    /// Returns exactly `count` bytes.
    pub async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            let read = within("bytes", self.stream.read_buf(&mut self.buffer)).await;
            assert_ne!(read.unwrap(), 0, "the connection ended early");
        }
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Returns everything up to the end of the stream.
    pub async fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.buffer);
        within("the end", self.stream.read_to_end(&mut bytes)).await?;
        Ok(bytes)
    }

    pub async fn shut(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Returns `true` if no byte is available now.
    pub fn is_silent(&self) -> bool {
        let read = self.stream.try_read(&mut [0]);
        self.buffer.is_empty() && read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Waits for the connection's reset, and panics on an orderly end.
    pub async fn is_reset(&mut self) {
        let error = self.rest().await.expect_err("an orderly end");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}

/// Encodes a command as an array of bulk strings.
pub fn pack<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut count = 0;
    let mut body = Vec::new();
    for word in words {
        count += 1;
        body.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        body.extend_from_slice(word);
        body.extend_from_slice(b"\r\n");
    }
    let mut packed = format!("*{count}\r\n").into_bytes();
    packed.append(&mut body);
    packed
}

/// Returns the length of the first complete frame, according to redis-protocol.
fn whole(bytes: &[u8]) -> Option<usize> {
    let by_resp2: Option<(resp2::types::RangeFrame, usize)> =
        resp2::decode::decode_range(bytes).ok().flatten();
    let by_resp3 = || -> Option<(resp3::types::RangeFrame, usize)> {
        complete::decode_range(bytes).ok().flatten()
    };
    by_resp2
        .map(|(_, len)| len)
        .or_else(|| by_resp3().map(|(_, len)| len))
}
