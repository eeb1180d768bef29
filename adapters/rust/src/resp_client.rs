//! A Redis client of a few lines, so that the example lock runs without a library. Real adapters use
//! the client library that the lock itself uses; then delete this file.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::picklock_adapter::Failure;

/// A reply of the server.
#[derive(Debug, PartialEq)]
pub enum Reply {
    Text(String),
    Number(i64),
    Nil,
}

/// One connection to one server. It is opened when a command needs it, and closed when a command
/// fails: a late reply must not be taken for the reply to the next command. Nothing is sent twice.
pub struct RespClient {
    address: SocketAddr,
    timeout: Duration,
    connection: Option<BufReader<TcpStream>>,
}

impl RespClient {
    /// Opens no connection yet.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, Failure> {
        let address = url.strip_prefix("redis://");
        let address = address.and_then(|address| address.to_socket_addrs().ok()?.next());
        let refused = || Failure::Definite(format!("{url}: only redis://HOST:PORT is supported"));
        Ok(RespClient {
            address: address.ok_or_else(refused)?,
            timeout,
            connection: None,
        })
    }

    /// Sends one command. An error reply is definite: the server has refused the command.
    pub fn command(&mut self, words: &[&str]) -> Result<Reply, Failure> {
        let answer = self.ask(words);
        if answer.is_err() {
            self.connection = None;
        }
        answer?.map_err(Failure::Definite)
    }

    fn ask(&mut self, words: &[&str]) -> Result<Result<Reply, String>, Error> {
        if self.connection.is_none() {
            let stream = TcpStream::connect_timeout(&self.address, self.timeout)?;
            stream.set_read_timeout(Some(self.timeout))?;
            stream.set_write_timeout(Some(self.timeout))?;
            stream.set_nodelay(true)?;
            self.connection = Some(BufReader::new(stream));
        }
        let connection = self.connection.as_mut().ok_or(ErrorKind::NotConnected)?;
        let words_of = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let text = format!("*{}\r\n{}", words.len(), words_of.collect::<String>());
        connection.get_mut().write_all(text.as_bytes())?;
        reply(connection)
    }
}

fn reply(connection: &mut BufReader<TcpStream>) -> Result<Result<Reply, String>, Error> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let Some(line) = line.strip_suffix("\r\n") else {
        return Err(ErrorKind::UnexpectedEof.into());
    };
    let unexpected = || Error::new(ErrorKind::InvalidData, format!("unexpected reply {line}"));
    let (kind, rest) = line.split_at_checked(1).ok_or_else(unexpected)?;
    let number = || rest.parse::<i64>().map_err(|_| unexpected());
    Ok(Ok(match kind {
        "+" => Reply::Text(rest.to_owned()),
        "-" => return Ok(Err(rest.to_owned())),
        ":" => Reply::Number(number()?),
        "$" if rest == "-1" => Reply::Nil,
        "$" => {
            let length = usize::try_from(number()?).map_err(|_| unexpected())?;
            let mut bytes = vec![0; length + 2];
            connection.read_exact(&mut bytes)?;
            bytes.truncate(length);
            Reply::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => return Err(unexpected()),
    }))
}
