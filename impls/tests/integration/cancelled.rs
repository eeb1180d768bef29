//! A call that its caller cancels half-way.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use picklock_impls::{DynLock, Node};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisFuture, Value};
use tokio::sync::Notify;

use crate::client::{RealClock, build, client};
use crate::redis_server::RedisServer;

const KEY: &str = "k";
const TTL: Duration = Duration::from_secs(60);
const ONCE: Duration = Duration::ZERO;

/// Withholds the reply to one command for ever, after the server has executed it.
#[derive(Clone)]
struct Withholding {
    inner: MultiplexedConnection,
    /// Number of commands before the withheld one.
    until: Arc<AtomicUsize>,
    /// Notified as soon as the server's reply has arrived.
    withheld: Arc<Notify>,
}

const NEVER: usize = usize::MAX;

impl Withholding {
    fn is_the_one(&self) -> bool {
        let left = self.until.load(Ordering::Relaxed);
        if left != NEVER {
            self.until.store(left.wrapping_sub(1), Ordering::Relaxed);
        }
        left == 0
    }
}

impl ConnectionLike for Withholding {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let this_one = self.is_the_one();
        Box::pin(async move {
            let reply = self.inner.req_packed_command(command).await;
            if this_one {
                self.withheld.notify_one();
                std::future::pending::<()>().await;
            }
            reply
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}

/// Returns a client of `lock-take`, and its connection.
async fn client_on(server: &RedisServer) -> (Box<dyn DynLock>, Withholding) {
    let connection = Withholding {
        inner: server.connect().await,
        until: Arc::new(AtomicUsize::new(NEVER)),
        withheld: Arc::new(Notify::new()),
    };
    let node = Node::new(connection.clone());
    let lock = build("lock-take", vec![node], Rc::new(RealClock), 1);
    (lock, connection)
}

/// Cancels the call once it waits for the reply to its command number `at`, counted from 0.
async fn give_up<T>(call: impl Future<Output = T>, connection: &Withholding, at: usize) {
    connection.until.store(at, Ordering::Relaxed);
    tokio::select! {
        _ = call => panic!("it waits for ever"),
        () = connection.withheld.notified() => {}
    }
}

/// Cancels after `WATCH`, and after `GET`: the connection still watches the key.
#[tokio::test]
async fn an_abandoned_watch_does_not_hurt_the_next_call() {
    for hangs_at in [0, 1] {
        let server = RedisServer::start();
        let (mut lock, connection) = client_on(&server).await;
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();

        give_up(lock.release(KEY, &grant), &connection, hangs_at).await;
        // Still held: the release had not reached its deletion.
        let mut other = client("lock-take", std::slice::from_ref(&server), 2).await;
        assert_eq!(other.acquire(KEY, TTL, ONCE).await.unwrap(), None);

        let longer = lock.extend(KEY, &grant, 2 * TTL).await.unwrap();
        assert!(longer.is_some(), "given up at command {hangs_at}");
        assert!(lock.release(KEY, &grant).await.unwrap());
        assert!(other.acquire(KEY, TTL, ONCE).await.unwrap().is_some());
    }
}

/// Another client takes the watched key after the cancellation. The client that cancelled must not delete it, and must
/// still be able to take a free lock.
#[tokio::test]
async fn an_abandoned_watch_neither_steals_nor_blocks() {
    for hangs_at in [0, 1] {
        let server = RedisServer::start();
        let (mut lock, connection) = client_on(&server).await;
        let mut look = server.connect().await;
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        give_up(lock.release(KEY, &grant), &connection, hangs_at).await;

        // As if the lease had expired: the key is gone, and the next client takes it.
        Cmd::del(KEY).exec_async(&mut look).await.unwrap();
        let mut other = client("lock-take", std::slice::from_ref(&server), 2).await;
        let others = other.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        assert!(!lock.release(KEY, &grant).await.unwrap());
        assert!(lock.extend(KEY, &grant, TTL).await.unwrap().is_none());
        assert_eq!(lock.acquire(KEY, TTL, ONCE).await.unwrap(), None);
        assert!(other.release(KEY, &others).await.unwrap());

        // No `WATCH` is left that would fail this client's transaction.
        let mine = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        assert!(lock.release(KEY, &mine).await.unwrap());
    }
}

/// The connection has seen its watched key change, so its next transaction is refused, even in a new hold. That is
/// safe, and happens only once.
#[tokio::test]
async fn an_abandoned_watch_costs_one_refusal_at_most() {
    let server = RedisServer::start();
    let (mut lock, connection) = client_on(&server).await;
    let mut look = server.connect().await;
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    give_up(lock.release(KEY, &grant), &connection, 0).await;
    Cmd::del(KEY).exec_async(&mut look).await.unwrap();

    let again = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    assert!(!lock.release(KEY, &again).await.unwrap());
    let kept: bool = Cmd::exists(KEY).query_async(&mut look).await.unwrap();
    assert!(kept, "refused means that nothing was done");
    assert!(lock.release(KEY, &again).await.unwrap());
}
