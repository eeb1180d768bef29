//! An interceptor's barrier stops exactly the frame for which it was returned.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use picklock_harness::proxy::{
    Effect, FrameBarrier, FrameOutcome, InterceptedFrame, LinkFault, LinkId, Proxy,
};
use picklock_scenarios::Direction;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::oneshot;

use super::client::{Client, pack};
use super::node::Redis;
use super::{Intercepting, LINK, intercepted, within};

/// Returns the number in a reply to TTL. Time passes between EXPIRE and TTL, so tests do not expect an exact number.
fn seconds_left(reply: &str) -> i64 {
    let number = reply
        .strip_prefix(':')
        .and_then(|rest| rest.strip_suffix("\\r\\n"));
    number.unwrap().parse().unwrap()
}

/// A frame that waits at its barrier until the sender is used.
struct Stopped {
    conn: u64,
    key: Option<u32>,
    open: oneshot::Sender<()>,
}

/// Creates a proxy that stops the n-th such frame of client 0.
fn stopping(
    direction: Direction,
    command: &'static str,
    nth: u32,
) -> (Proxy, UnboundedReceiver<Stopped>) {
    let (stopped, at_barrier) = mpsc::unbounded_channel();
    let count = AtomicU32::new(0);
    let interceptor = Intercepting(
        move |frame: &InterceptedFrame<'_>| -> Option<FrameBarrier> {
            let is_meant = (frame.link.worker, frame.direction, frame.command)
                == (0, direction, command)
                && count.fetch_add(1, Ordering::Relaxed) + 1 == nth;
            is_meant.then(|| {
                let (open, opened) = oneshot::channel();
                let (conn, key) = (frame.conn, frame.key);
                stopped.send(Stopped { conn, key, open }).unwrap();
                let barrier: FrameBarrier =
                    Box::pin(async move { opened.await.unwrap_or_default() });
                barrier
            })
        },
    );
    (intercepted(interceptor), at_barrier)
}

#[tokio::test]
async fn stopped_request_has_not_reached_the_server() {
    let redis = Redis::start().await;
    let (proxy, mut at_barrier) = stopping(Direction::Request, "EXPIRE", 1);
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let (mut client, mut second) = (
        Client::connect(address).await,
        Client::connect(address).await,
    );
    // All commands are sent in one write. Frames before the stopped frame must pass, and frames after it must not.
    let words = |text: &'static str| pack(text.split(' ').map(str::as_bytes));
    let burst = [
        words("SETNX lock:1 me"),
        words("expire lock:1 1000"),
        words("SET after 1"),
    ];
    client.write(&burst.concat()).await;
    let stopped = within("the barrier", at_barrier.recv()).await.unwrap();
    assert_eq!(stopped.key, Some(0));
    assert_eq!(client.reply().await, ":1\\r\\n");
    let mut direct = redis.direct().await;
    assert_eq!(direct.ask("TTL lock:1").await, ":-1\\r\\n");
    assert_eq!(direct.ask("EXISTS after").await, ":0\\r\\n");
    // Another connection of the same link is not stopped, nor is a later EXPIRE.
    assert_eq!(second.ask("EXPIRE none 1").await, ":0\\r\\n");
    assert!(client.is_silent());
    stopped.open.send(()).unwrap();
    assert_eq!(client.reply().await, ":1\\r\\n");
    assert_eq!(client.reply().await, "+OK\\r\\n");
    assert!(seconds_left(&direct.ask("TTL lock:1").await) > 0);
    proxy.close().await;
}

#[tokio::test]
async fn stopped_reply_has_not_reached_the_client() {
    let redis = Redis::start().await;
    let (proxy, mut at_barrier) = stopping(Direction::Reply, "SET", 2);
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("SET lock:1 a").await, "+OK\\r\\n");
    client.send("SET lock:1 b").await;
    let stopped = within("the barrier", at_barrier.recv()).await.unwrap();
    assert_eq!(
        redis.direct().await.ask("GET lock:1").await,
        "$1\\r\\nb\\r\\n"
    );
    assert!(client.is_silent());
    stopped.open.send(()).unwrap();
    assert_eq!(client.reply().await, "+OK\\r\\n");
    proxy.close().await;
}

#[tokio::test]
async fn fault_drops_exactly_the_stopped_frame() {
    let redis = Redis::start().await;
    let (proxy, mut at_barrier) = stopping(Direction::Request, "EXPIRE", 2);
    let address = proxy.open(LINK, redis.address).await.unwrap();
    let (mut client, mut second) = (
        Client::connect(address).await,
        Client::connect(address).await,
    );
    client.ask("SET lock:1 me").await;
    assert_eq!(client.ask("EXPIRE lock:1 50").await, ":1\\r\\n");
    client.send("EXPIRE lock:1 1000").await;
    let stopped = within("the barrier", at_barrier.recv()).await.unwrap();
    let fault = proxy.impose(LinkFault {
        conn: Some(stopped.conn),
        direction: Some(Direction::Request),
        frames: Some(1),
        ..LinkFault::everywhere(Effect::Drop)
    });
    // A frame of another connection arrives in between, and is not affected.
    assert_eq!(second.ask("PING").await, "+PONG\\r\\n");
    assert_eq!(proxy.affected_frames(fault), 0);
    stopped.open.send(()).unwrap();
    assert!(seconds_left(&second.ask("TTL lock:1").await) <= 50);
    proxy.close().await;
    let entries = proxy.log().entries();
    let dropped: Vec<_> = entries
        .iter()
        .filter(|entry| entry.outcome == FrameOutcome::Dropped)
        .map(|entry| entry.preview.as_str())
        .collect();
    assert_eq!(dropped, ["EXPIRE lock:1 1000"]);
}

#[tokio::test]
async fn frame_cut_at_its_barrier_is_never_forwarded() {
    let redis = Redis::start().await;
    let (proxy, mut at_barrier) = stopping(Direction::Request, "DEL", 1);
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    client.ask("SET lock:1 me").await;
    client.send("DEL lock:1").await;
    let _stopped = within("the barrier", at_barrier.recv()).await.unwrap();
    assert_eq!(proxy.cut(Some(&[0]), None), 1);
    client.is_reset().await;
    assert_eq!(redis.direct().await.ask("EXISTS lock:1").await, ":1\\r\\n");
    proxy.close().await;
    let entries = proxy.log().entries();
    let del = entries.iter().find(|entry| entry.command == "DEL").unwrap();
    assert_eq!((del.outcome, del.sent_ns), (FrameOutcome::Cut, None));
}

#[tokio::test]
async fn interceptor_sees_commands_of_requests_and_replies() {
    let redis = Redis::start().await;
    let (sender, mut shown) = mpsc::unbounded_channel();
    let sender = Arc::new(sender);
    let proxy = intercepted(Intercepting(move |frame: &InterceptedFrame<'_>| {
        let frame = (frame.link.worker, frame.direction, frame.command.to_owned());
        sender.send(frame).unwrap();
        None
    }));
    let mut clients = Vec::new();
    for worker in 0..2 {
        let address = proxy.open(LinkId { worker, node: 0 }, redis.address).await;
        clients.push(Client::connect(address.unwrap()).await);
    }
    clients[1].ask("echo x").await;
    clients[0].ask("ping").await;
    proxy.close().await;
    let mut seen = Vec::new();
    while let Ok(one) = shown.try_recv() {
        seen.push(one);
    }
    use Direction::{Reply, Request};
    let expected = [
        (1, Request, "ECHO"),
        (1, Reply, "ECHO"),
        (0, Request, "PING"),
        (0, Reply, "PING"),
    ];
    assert_eq!(
        seen,
        expected.map(|(worker, way, name)| (worker, way, name.to_owned()))
    );
}
