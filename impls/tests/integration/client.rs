//! Clients of the locks under test.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt;
use picklock_impls::{Context, DynLock, Grant, LockFuture, Node, Subscription, WallClock, find};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::recording::{Log, Recording};
use crate::redis_server::RedisServer;

/// A wall clock that a test can set.
#[derive(Clone, Default)]
pub struct SetClock(Rc<Cell<Duration>>);

impl SetClock {
    pub fn at(since_epoch: Duration) -> Self {
        SetClock(Rc::new(Cell::new(since_epoch)))
    }

    pub fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl WallClock for SetClock {
    fn since_epoch(&self) -> Duration {
        self.0.get()
    }
}

/// The machine's own wall clock.
pub struct RealClock;

impl WallClock for RealClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test's client has to get it somewhere"
    )]
    fn since_epoch(&self) -> Duration {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
    }
}

/// A subscription on a real server.
struct RealSubscription(redis::aio::PubSub);

impl Subscription for RealSubscription {
    fn message(&mut self) -> LockFuture<'_, redis::RedisResult<Vec<u8>>> {
        Box::pin(async {
            let message = self.0.on_message().next().await;
            let broken = || redis::RedisError::from(std::io::Error::other("it has ended"));
            Ok(message.ok_or_else(broken)?.get_payload_bytes().to_vec())
        })
    }
}

async fn subscribe(url: String, channel: String) -> redis::RedisResult<Box<dyn Subscription>> {
    let mut connection = redis::Client::open(url)?.get_async_pubsub().await?;
    connection.subscribe(channel).await?;
    Ok(Box::new(RealSubscription(connection)))
}

/// Creates one client of the lock `name`.
pub fn build(
    name: &str,
    nodes: Vec<Node>,
    wall_clock: Rc<dyn WallClock>,
    seed: u64,
) -> Box<dyn DynLock> {
    build_with(name, nodes, wall_clock, seed, &[])
}

/// Creates one client of the lock `name`, with options.
pub fn build_with(
    name: &str,
    nodes: Vec<Node>,
    wall_clock: Rc<dyn WallClock>,
    seed: u64,
    options: &[(&str, &str)],
) -> Box<dyn DynLock> {
    let lock = find(name).unwrap_or_else(|| panic!("no lock `{name}`"));
    let context = Context {
        capacity: 1,
        canceller: picklock_impls::Canceller::default(),
        wall_clock,
        rng: StdRng::seed_from_u64(seed),
        options: lock.read_options(options.iter().copied()).unwrap(),
    };
    (lock.build)(nodes, context)
}

/// Creates one client on real servers, which records its commands.
pub async fn recorded(
    name: &str,
    servers: &[RedisServer],
    wall_clock: Rc<dyn WallClock>,
    seed: u64,
) -> (Box<dyn DynLock>, Log) {
    let log = Log::default();
    let mut nodes = Vec::new();
    for server in servers {
        let node = Node::new(Recording::new(server.connect().await, log.clone()));
        let (url, log) = (server.url(), log.clone());
        nodes.push(node.with_subscriptions(move |channel| {
            log.note(format!("SUBSCRIBE {channel}"));
            Box::pin(subscribe(url.clone(), channel))
        }));
    }
    (build(name, nodes, wall_clock, seed), log)
}

/// Creates one client on real servers.
pub async fn client(name: &str, servers: &[RedisServer], seed: u64) -> Box<dyn DynLock> {
    recorded(name, servers, Rc::new(RealClock), seed).await.0
}

/// Returns the remaining validity of a grant that has one.
pub fn left(grant: &Grant) -> Duration {
    grant.valid_until.unwrap().left()
}

/// Starts as many servers as the lock needs.
pub fn servers_for(name: &str) -> Vec<RedisServer> {
    let lock = find(name).unwrap_or_else(|| panic!("no lock `{name}`"));
    let server = |_| RedisServer::with_replicas(lock.replicas);
    (0..lock.nodes).map(server).collect()
}

/// Runs clients that may have background tasks.
pub async fn client_with_tasks<T>(clients: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(clients).await
}
