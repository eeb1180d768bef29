//! A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
//! client library; then delete this file.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::picklock_adapter::Failure;

/// A reply of the server.
#[derive(Debug, PartialEq)]
pub enum Reply {
    Text(String),
    Number(i64),
    Nil,
}

type Connection = BufReader<TcpStream>;

/// A pool of connections to one server, which its clones share. A connection is opened when a command needs it, and
/// closed when a command fails, so that a late reply is not mistaken for the reply to the next command. No command is
/// sent twice.
#[derive(Clone)]
pub struct RespClient {
    address: SocketAddr,
    timeout: Duration,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl RespClient {
    /// Creates a pool without opening a connection.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, Failure> {
        let address = url.strip_prefix("redis://");
        let address = address.and_then(|address| address.to_socket_addrs().ok()?.next());
        let refused = || Failure::Definite(format!("{url}: only redis://HOST:PORT is supported"));
        Ok(RespClient {
            address: address.ok_or_else(refused)?,
            timeout,
            idle: Arc::default(),
        })
    }

    /// Sends one command. An error reply is definite: the server has refused the command.
    pub fn command(&self, words: &[&str]) -> Result<Reply, Failure> {
        let mut connection = self.take()?;
        let answer = ask(&mut connection, words)?;
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(connection);
        }
        answer.map_err(Failure::Definite)
    }

    /// Returns an idle connection, or a new one.
    fn take(&self) -> Result<Connection, Error> {
        if let Some(idle) = self.idle.lock().ok().and_then(|mut idle| idle.pop()) {
            return Ok(idle);
        }
        let stream = TcpStream::connect_timeout(&self.address, self.timeout)?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }
}

fn ask(connection: &mut Connection, words: &[&str]) -> Result<Result<Reply, String>, Error> {
    let words_of = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let text = format!("*{}\r\n{}", words.len(), words_of.collect::<String>());
    connection.get_mut().write_all(text.as_bytes())?;
    reply(connection)
}

fn reply(connection: &mut Connection) -> Result<Result<Reply, String>, Error> {
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
