//! A real `redis-server` for comparison, and a plain RESP client for it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use picklock_redis_model::Reply;

/// How long to wait for a reply. A reply that only the model sends then fails the comparison instead of hanging the
/// test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of log lines to save: about the length of a crash report.
const LAST_LINES: usize = 200;

/// A `redis-server` process on a loopback port. Dropping this value kills the process.
pub struct RealServer {
    process: Child,
    port: u16,
    /// Returns the end of the log once the server has exited.
    log: Option<JoinHandle<String>>,
}

impl RealServer {
    /// Starts the program. Panics if it is missing, because then there is nothing to compare the model with.
    pub fn start(program: &Path) -> RealServer {
        for _ in 0..10 {
            if let Some(server) = RealServer::try_start(program) {
                return server;
            }
        }
        panic!("{} does not start (is it there?)", program.display());
    }

    fn try_start(program: &Path) -> Option<RealServer> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free loopback port")
            .port();
        let mut process = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(std::env::temp_dir())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let log = process.stdout.take().expect("a pipe, as asked for");
        let mut log = BufReader::new(log);
        let mut line = String::new();
        while log.read_line(&mut line).is_ok_and(|count| count > 0) {
            if line.contains("Ready to accept connections") {
                let log = Some(drain(log));
                return Some(RealServer { process, port, log });
            }
            line.clear();
        }
        // Another process took the port in the meantime.
        process.wait().ok();
        None
    }

    /// Opens a connection.
    pub fn connect(&self) -> RealClient {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        RealClient {
            reader: BufReader::new(stream.try_clone().expect("a second handle")),
            stream,
            unsent: Vec::new(),
        }
    }

    /// Kills the server, and returns the end of its log.
    pub fn end(mut self) -> String {
        self.process.kill().ok();
        self.process.wait().ok();
        let log = self.log.take().and_then(|log| log.join().ok());
        log.unwrap_or_default()
    }
}

/// Reads the log to its end, because the server would block on a full pipe. The thread returns the last lines.
fn drain(mut log: BufReader<ChildStdout>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut lines = VecDeque::new();
        let mut line = Vec::new();
        while log
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            lines.push_back(String::from_utf8_lossy(&line).into_owned());
            if lines.len() > LAST_LINES {
                lines.pop_front();
            }
            line.clear();
        }
        lines.into_iter().collect()
    })
}

impl Drop for RealServer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// One connection to a real server.
pub struct RealClient {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    unsent: Vec<u8>,
}

impl RealClient {
    /// Adds a command to the next batch.
    pub fn queue<T: AsRef<[u8]>>(&mut self, words: &[T]) {
        write!(self.unsent, "*{}\r\n", words.len()).expect("memory");
        for word in words {
            let word = word.as_ref();
            write!(self.unsent, "${}\r\n", word.len()).expect("memory");
            self.unsent.extend_from_slice(word);
            self.unsent.extend_from_slice(b"\r\n");
        }
    }

    /// Sends the batch.
    pub fn send(&mut self) {
        self.stream
            .write_all(&self.unsent)
            .expect("the server reads");
        self.unsent.clear();
    }

    /// Sends one command and returns its reply.
    pub fn ask<T: AsRef<[u8]>>(&mut self, words: &[T]) -> Reply {
        self.queue(words);
        self.send();
        self.read()
    }

    /// Reads the next reply.
    pub fn read(&mut self) -> Reply {
        let mut line = Vec::new();
        self.reader
            .read_until(b'\n', &mut line)
            .expect("the server answers");
        assert!(
            line.ends_with(b"\r\n"),
            "the server has closed the connection"
        );
        line.truncate(line.len() - 2);
        let (kind, rest) = (line[0], String::from_utf8_lossy(&line[1..]).into_owned());
        let number = || rest.parse::<i64>().expect("a number");
        match kind {
            b'+' => Reply::Simple(rest.into()),
            b'-' => Reply::Error(rest.into()),
            b':' => Reply::Int(number()),
            b',' => Reply::Double(rest),
            b'_' => Reply::Nil,
            b'$' if number() < 0 => Reply::Nil,
            b'$' => Reply::Bulk(self.bytes(number())),
            b'=' => Reply::Verbatim("txt", self.bytes(number()).split_off(4)),
            b'*' if number() < 0 => Reply::NilArray,
            b'*' => Reply::Array(self.items(number())),
            b'~' => Reply::Set(self.items(number())),
            b'>' => Reply::Push(self.items(number())),
            b'%' => {
                let pairs = 0..number();
                Reply::Map(pairs.map(|_| (self.read(), self.read())).collect())
            }
            other => panic!("unexpected reply type {:?}", char::from(other)),
        }
    }

    fn items(&mut self, count: i64) -> Vec<Reply> {
        (0..count).map(|_| self.read()).collect()
    }

    fn bytes(&mut self, count: i64) -> Vec<u8> {
        let count = usize::try_from(count).expect("a length");
        let mut bytes = vec![0; count + 2];
        self.reader
            .read_exact(&mut bytes)
            .expect("the whole string");
        bytes.truncate(count);
        bytes
    }
}
