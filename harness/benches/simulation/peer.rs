//! The other side: the same clients and nodes as hosts of `turmoil`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::entropy;
use picklock_harness::model::{ClientId, Now, Server, ServerVersion};
use picklock_impls::{Canceller, Context, Node, WallClock};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use redis_protocol::resp2::decode::decode;
use redis_protocol::resp2::types::OwnedFrame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use turmoil::net::{TcpListener, TcpStream};

use crate::ours::redlock;
use crate::shape::{Shape, TTL, WAIT, key};

const PORT: u16 = 6379;

/// 2026-01-01, where our simulation begins as well.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// What many runs came to.
#[derive(Debug, Default)]
pub struct Counted {
    pub commands: u64,
    pub virtual_time: Duration,
}

/// Runs with seeds from zero on.
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
    let stock = Rc::new(Cell::new(shape.stock));
    let purchases = Rc::new(Cell::new(0));
    for worker in 0..shape.workers {
        let buyer = Buyer {
            shape: shape.clone(),
            entropy_seed: entropy::derive(seed, "worker", worker as u64),
            stock: Rc::clone(&stock),
            acquisitions: Rc::clone(&purchases),
        };
        sim.client(format!("worker-{worker}"), buyer.buy());
    }
    sim.run().expect("turmoil runs");
    assert_eq!(stock.get(), 0, "the stock was not sold");
    assert_eq!(purchases.get(), shape.stock + shape.workers as i64);
    counted.commands += commands.get();
    counted.virtual_time += sim.elapsed();
}

struct Wall;

impl WallClock for Wall {
    fn since_epoch(&self) -> Duration {
        EPOCH + turmoil::elapsed()
    }
}

struct Buyer {
    shape: Shape,
    entropy_seed: u64,
    stock: Rc<Cell<i64>>,
    acquisitions: Rc<Cell<i64>>,
}

impl Buyer {
    async fn buy(self) -> turmoil::Result {
        let mut nodes = Vec::new();
        for node in 0..self.shape.nodes {
            nodes.push(connect(node).await?);
        }
        let context = Context {
            canceller: Canceller::default(),
            wall_clock: Rc::new(Wall),
            entropy: entropy::stream(self.entropy_seed, "lock", 0),
            options: picklock_impls::Options::default(),
        };
        let mut lock = (redlock().build)(nodes, context);
        loop {
            let Some(grant) = lock.acquire(&key(), TTL, WAIT).await? else {
                continue;
            };
            self.acquisitions.set(self.acquisitions.get() + 1);
            let read = self.stock.get();
            if read > 0 {
                tokio::time::sleep(self.shape.section).await;
                self.stock.set(self.stock.get() - 1);
            }
            lock.release(&key(), &grant).await?;
            if read <= 0 {
                return Ok(());
            }
            tokio::time::sleep(self.shape.think).await;
        }
    }
}

async fn connect(node: usize) -> Result<Node, Box<dyn std::error::Error>> {
    let stream = TcpStream::connect((format!("node-{node}"), PORT)).await?;
    let info = RedisConnectionInfo::default().set_skip_set_lib_name();
    // As patient as our own connections.
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(TTL * 4));
    let (connection, driver) =
        MultiplexedConnection::new_with_config(&info, stream, config).await?;
    tokio::task::spawn_local(driver);
    Ok(Node::new(connection))
}

/// One node.
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
        };
        tokio::task::spawn_local(async move {
            // The end of a client ends its line.
            line.answer().await.ok();
        });
    }
}

/// One client's connection, at the node.
struct Line {
    stream: TcpStream,
    client: ClientId,
    server: Rc<RefCell<Server>>,
    commands: Rc<Cell<u64>>,
}

impl Line {
    async fn answer(mut self) -> std::io::Result<()> {
        let (mut asked, mut answers) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
        while self.stream.read_buf(&mut asked).await? > 0 {
            let mut used = 0;
            while let Ok(Some((frame, length))) = decode(&asked[used..]) {
                used += length;
                self.carry_out(&frame, &mut answers);
            }
            asked.drain(..used);
            self.stream.write_all(&answers).await?;
            answers.clear();
        }
        Ok(())
    }

    fn carry_out(&self, frame: &OwnedFrame, answers: &mut Vec<u8>) {
        let OwnedFrame::Array(words) = frame else {
            panic!("redis-rs sent {frame:?}, which is no command");
        };
        let words: Vec<&[u8]> = words
            .iter()
            .map(|word| match word {
                OwnedFrame::BulkString(bytes) => bytes.as_slice(),
                other => panic!("redis-rs sent {other:?} as an argument"),
            })
            .collect();
        let wall = EPOCH + turmoil::elapsed();
        let now = Now {
            wall_us: i64::try_from(wall.as_micros()).expect("virtual time is short"),
        };
        self.commands.set(self.commands.get() + 1);
        let reply = self.server.borrow_mut().execute(self.client, &words, now);
        reply.encode(false, answers);
    }
}
