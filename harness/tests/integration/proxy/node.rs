//! Nodes for tests: a real redis-server, and a node that the test plays.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use tokio::net::{TcpListener, TcpStream};

use super::client::Client;

/// A redis-server that is killed at the end of the test.
pub struct Redis {
    child: Child,
    pub address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Redis {
    pub async fn start() -> Redis {
        for _ in 0..5 {
            if let Some(redis) = Redis::attempt().await {
                return redis;
            }
        }
        panic!("redis-server did not start on five ports that were free");
    }

    /// Starts a server, or returns `None` if another process took the port first.
    async fn attempt() -> Option<Redis> {
        let reserved = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = reserved.local_addr().unwrap();
        drop(reserved);
        let dir = tempfile::tempdir().unwrap();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("these tests need redis-server");
        let mut redis = Redis {
            child,
            address,
            _dir: dir,
        };
        loop {
            if redis.child.try_wait().unwrap().is_some() {
                return None;
            }
            if TcpStream::connect(address).await.is_ok() {
                return Some(redis);
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Connects a client directly, without the proxy.
    pub async fn direct(&self) -> Client {
        Client::connect(self.address).await
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node whose side of the connection is played by the test.
pub struct Stage {
    listener: TcpListener,
}

impl Stage {
    pub async fn start() -> Stage {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        Stage { listener }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Accepts the next connection, and returns the node's side.
    pub async fn accept(&self) -> Client {
        let (stream, _) = super::within("a connection", self.listener.accept())
            .await
            .unwrap();
        Client::new(stream)
    }
}
