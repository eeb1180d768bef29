//! The second peer: the same clients and nodes as tasks of plain tokio with a paused clock.
//!
//! Such a clock jumps from timer to timer, like our simulation, so idle time costs nothing. The network is as simple as
//! possible: an in-memory pipe for each connection, and a task for each direction that delays the data by its latency.
//! Other simulators that jump replace tokio by their own runtime when the whole program is compiled, so they cannot run
//! the same lock in one program with the others.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::model::{Server, ServerVersion};
use picklock_harness::rng;
use picklock_impls::Node;
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

use crate::peer::{Counted, Elapsed, Line, Sales, connect};
use crate::shape::Shape;

/// Capacity of a pipe in bytes.
const ROOM: usize = 4096;

/// Runs one round with consecutive seeds from zero.
pub fn round(shape: &Shape, runs: u64) -> Counted {
    let mut counted = Counted::default();
    for seed in 0..runs {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("tokio starts");
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, run(shape, seed, &mut counted));
    }
    counted
}

async fn run(shape: &Shape, seed: u64, counted: &mut Counted) {
    let clock = Clock::start();
    let elapsed: Elapsed = Rc::new({
        let clock = clock.clone();
        move || clock.elapsed()
    });
    let (commands, sales) = (Rc::new(Cell::new(0)), Sales::new(shape));
    let server = || Rc::new(RefCell::new(Server::new(ServerVersion::default())));
    let servers: Vec<_> = (0..shape.nodes).map(|_| server()).collect();
    let mut buying = tokio::task::JoinSet::new();
    for worker in 0..shape.workers {
        let mut connected: Vec<Node> = Vec::new();
        for (server, link) in servers.iter().zip(0..) {
            let rng = rng::stream(seed, "network", (worker * shape.nodes) as u64 + link);
            let (stream, far) = linked(rng);
            let client = server.borrow_mut().connect();
            let line = Line {
                stream: far,
                client,
                server: Rc::clone(server),
                commands: Rc::clone(&commands),
                elapsed: Rc::clone(&elapsed),
            };
            tokio::task::spawn_local(line.answer());
            connected.push(connect(stream).await.expect("a node answers"));
        }
        let buyer = sales.buyer(seed, worker, Rc::clone(&elapsed));
        buying.spawn_local(buyer.buy(connected));
    }
    while let Some(bought) = buying.join_next().await {
        bought.expect("no buyer panics").expect("the lock works");
    }
    sales.assert_sold_out();
    counted.commands += commands.get();
    counted.virtual_time += clock.elapsed();
}

/// Creates both ends of a connection.
fn linked(mut rng: StdRng) -> (DuplexStream, DuplexStream) {
    let (near, near_proxy) = tokio::io::duplex(ROOM);
    let (far_proxy, far) = tokio::io::duplex(ROOM);
    let (from_near, to_near) = tokio::io::split(near_proxy);
    let (from_far, to_far) = tokio::io::split(far_proxy);
    let back = rng::stream(rng.random(), "back", 0);
    tokio::task::spawn_local(carry(from_near, to_far, rng));
    tokio::task::spawn_local(carry(from_far, to_near, back));
    (near, far)
}

/// Transports all data, each time after a latency.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut rng: StdRng,
) -> std::io::Result<()> {
    let mut carried = Vec::with_capacity(ROOM);
    while from.read_buf(&mut carried).await? > 0 {
        let latency = Duration::from_nanos(rng.random_range(50_000..250_000));
        tokio::time::sleep(latency).await;
        to.write_all(&carried).await?;
        carried.clear();
    }
    Ok(())
}
