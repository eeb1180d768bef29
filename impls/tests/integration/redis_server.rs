//! A real `redis-server` for a test, on a free port of the loopback interface.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;

/// A server that ends with the test, however the test ends.
pub struct RedisServer {
    child: Child,
    port: u16,
    /// Replicas, which end with the server.
    replicas: Vec<RedisServer>,
}

impl RedisServer {
    /// Starts an empty server and waits until it reports that it is ready.
    pub fn start() -> Self {
        // Another process may take the port before the server binds it.
        for _ in 0..20 {
            let port = free_port();
            if let Some(child) = spawn(port) {
                return RedisServer {
                    child,
                    port,
                    replicas: Vec::new(),
                };
            }
        }
        panic!("redis-server did not come up on any of 20 ports");
    }

    /// Starts a server with replicas, and waits until they follow it.
    #[allow(dead_code, reason = "not every test binary replicates")]
    pub fn with_replicas(count: usize) -> Self {
        let mut master = RedisServer::start();
        for replica in 1..=count {
            let server = RedisServer::start();
            server.tell(&format!("REPLICAOF 127.0.0.1 {}", master.port));
            master.replicas.push(server);
            // A replica counts as linked before it listens, so make it acknowledge something. A publication leaves no
            // data behind.
            let following = master.tell(&format!("PUBLISH ready 1\r\nWAIT {replica} 30000"));
            assert_eq!(following, format!(":{replica}"), "the replica follows");
        }
        master
    }

    /// Disconnects its replicas.
    #[allow(dead_code, reason = "not every test binary replicates")]
    pub fn cut_replicas(&self) {
        for replica in &self.replicas {
            replica.tell("REPLICAOF 127.0.0.1 1");
        }
    }

    /// Sends commands with replies of one line each, and returns the last reply.
    fn tell(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server is up");
        stream
            .write_all(format!("{command}\r\n").as_bytes())
            .expect("the server reads");
        let mut replies = BufReader::new(stream).lines();
        let last = replies.nth(command.lines().count() - 1);
        last.expect("a reply").expect("the server answers")
    }

    /// Returns the server's URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends SIGKILL, and waits until the process is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("redis-server can be killed");
        self.child.wait().expect("redis-server can be reaped");
    }

    /// Starts an empty server on the same port after [`RedisServer::kill`].
    #[allow(dead_code, reason = "not every test binary restarts servers")]
    pub fn start_again(&mut self) {
        self.child = spawn(self.port).expect("the old port is still free");
    }

    /// Opens a plain connection, to inspect the server from outside the lock.
    #[allow(dead_code, reason = "not every test binary looks")]
    pub async fn connect(&self) -> MultiplexedConnection {
        // A command must not fail because the machine is busy.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        redis::Client::open(self.url())
            .expect("a valid URL")
            .get_multiplexed_async_connection_with_config(&patient)
            .await
            .expect("the server is up")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a bound socket").port()
}

/// Starts the process. Returns `None` if it exited before it was ready (the port was taken).
fn spawn(port: u16) -> Option<Child> {
    let mut child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no"])
        // Replication starts without waiting for further replicas, and leaves no file.
        .args(["--repl-diskless-sync-delay", "0"])
        .args(["--repl-diskless-load", "on-empty-db"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("these tests need redis-server on the PATH");
    let mut log = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let ready = log.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections")));
    if ready {
        return Some(child);
    }
    let _ = child.wait();
    None
}
