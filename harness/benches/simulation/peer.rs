//! The first peer: the same clients and nodes as hosts of `turmoil`. The [second](super::paused) peer shares this code.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::model::{ClientId, Now, Server, ServerVersion};
use picklock_harness::rng;
use picklock_impls::{Canceller, Context, LockError, Node, WallClock};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use turmoil::net::{TcpListener, TcpStream};

use crate::ours::redlock;
use crate::shape::{Shape, TTL, WAIT, key};

const PORT: u16 = 6379;

/// 2026-01-01, at which our simulation starts as well.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// Returns how long a run has lasted in its virtual time.
pub type Elapsed = Rc<dyn Fn() -> Duration>;

/// The totals of many runs.
#[derive(Debug, Default)]
pub struct Counted {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// Runs one round with consecutive seeds from zero.
pub fn round(shape: &Shape, runs: u64) -> Counted {
    let mut counted = Counted::default();
    for seed in 0..runs {
        run(shape, seed, &mut counted);
    }
    counted
}

fn run(shape: &Shape, seed: u64, counted: &mut Counted) {
    let mut sim = turmoil::Builder::new()
        .min_message_latency(Duration::from_micros(50))
        .max_message_latency(Duration::from_micros(250))
        .simulation_duration(Duration::from_secs(3600))
        .rng_seed(seed)
        .build();
    let commands = Rc::new(Cell::new(0));
    for node in 0..shape.nodes {
        let commands = Rc::clone(&commands);
        sim.host(format!("node-{node}"), move || serve(Rc::clone(&commands)));
    }
    let sales = Sales::new(shape);
    for worker in 0..shape.workers {
        let buyer = sales.buyer(seed, worker, Rc::new(turmoil::elapsed));
        let nodes = shape.nodes;
        sim.client(format!("worker-{worker}"), async move {
            let mut connected = Vec::new();
            for node in 0..nodes {
                let stream = TcpStream::connect((format!("node-{node}"), PORT)).await?;
                connected.push(connect(stream).await?);
            }
            Ok(buyer.buy(connected).await?)
        });
    }
    sim.run().expect("turmoil runs");
    sales.assert_sold_out();
    counted.commands += commands.get();
    counted.virtual_time += sim.elapsed();
}

struct Wall(Elapsed);

impl WallClock for Wall {
    fn since_epoch(&self) -> Duration {
        EPOCH + (self.0)()
    }
}

/// The stock of a run, and the number of its acquisitions.
#[derive(Clone)]
pub struct Sales {
    shape: Shape,
    stock: Rc<Cell<i64>>,
    acquisitions: Rc<Cell<i64>>,
}

impl Sales {
    pub fn new(shape: &Shape) -> Self {
        Sales {
            shape: shape.clone(),
            stock: Rc::new(Cell::new(shape.stock)),
            acquisitions: Rc::default(),
        }
    }

    pub fn buyer(&self, seed: u64, worker: usize, elapsed: Elapsed) -> Buyer {
        Buyer {
            sales: self.clone(),
            rng_seed: rng::derive(seed, "worker", worker as u64),
            elapsed,
        }
    }

    pub fn assert_sold_out(&self) {
        assert_eq!(self.stock.get(), 0, "the stock was not sold");
        let wanted = self.shape.stock + self.shape.workers as i64;
        assert_eq!(self.acquisitions.get(), wanted);
    }
}

pub struct Buyer {
    sales: Sales,
    rng_seed: u64,
    elapsed: Elapsed,
}

impl Buyer {
    pub async fn buy(self, nodes: Vec<Node>) -> Result<(), LockError> {
        let sales = &self.sales;
        let context = Context {
            canceller: Canceller::default(),
            wall_clock: Rc::new(Wall(Rc::clone(&self.elapsed))),
            rng: rng::stream(self.rng_seed, "lock", 0),
            options: picklock_impls::Options::default(),
            capacity: 1,
        };
        let mut lock = (redlock().build)(nodes, context);
        loop {
            let Some(grant) = lock.acquire(&key(), TTL, WAIT).await? else {
                continue;
            };
            sales.acquisitions.set(sales.acquisitions.get() + 1);
            let read = sales.stock.get();
            if read > 0 {
                tokio::time::sleep(sales.shape.section).await;
                sales.stock.set(sales.stock.get() - 1);
            }
            lock.release(&key(), &grant).await?;
            if read <= 0 {
                return Ok(());
            }
            tokio::time::sleep(sales.shape.think).await;
        }
    }
}

/// Creates a client's connection over a stream.
pub async fn connect<S>(stream: S) -> redis::RedisResult<Node>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let info = RedisConnectionInfo::default().set_skip_set_lib_name();
    // The same timeout as our own connections.
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(TTL * 4));
    let (connection, driver) =
        MultiplexedConnection::new_with_config(&info, stream, config).await?;
    tokio::task::spawn_local(driver);
    Ok(Node::new(connection))
}

/// Serves one node.
async fn serve(commands: Rc<Cell<u64>>) -> turmoil::Result {
    let server = Rc::new(RefCell::new(Server::new(ServerVersion::default())));
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let client = server.borrow_mut().connect();
        let line = Line {
            stream,
            client,
            server: Rc::clone(&server),
            commands: Rc::clone(&commands),
            elapsed: Rc::new(turmoil::elapsed),
        };
        tokio::task::spawn_local(line.answer());
    }
}

/// The node's side of one client's connection.
pub struct Line<S> {
    pub stream: S,
    pub client: ClientId,
    pub server: Rc<RefCell<Server>>,
    pub commands: Rc<Cell<u64>>,
    pub elapsed: Elapsed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    /// Answers until the client closes the connection.
    pub async fn answer(mut self) -> std::io::Result<()> {
        let (mut requests, mut answers) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
        while self.stream.read_buf(&mut requests).await? > 0 {
            let mut used = 0;
            while let Ok(Some((frame, length))) = decode(&requests[used..]) {
                used += length;
                self.execute(&frame, &mut answers);
            }
            requests.drain(..used);
            self.stream.write_all(&answers).await?;
            answers.clear();
        }
        Ok(())
    }

    fn execute(&self, frame: &OwnedFrame, answers: &mut Vec<u8>) {
        let OwnedFrame::Array(words) = frame else {
            panic!("redis-rs sent {frame:?}, which is not a command");
        };
        let words: Vec<&[u8]> = words
            .iter()
            .map(|word| match word {
                OwnedFrame::BulkString(bytes) => bytes.as_slice(),
                other => panic!("redis-rs sent {other:?} as an argument"),
            })
            .collect();
        let wall = EPOCH + (self.elapsed)();
        let now = Now {
            wall_us: i64::try_from(wall.as_micros()).expect("virtual time is short"),
        };
        self.commands.set(self.commands.get() + 1);
        let reply = self.server.borrow_mut().execute(self.client, &words, now);
        reply.encode(false, answers);
    }
}
