//! If the interceptor requires it, a reply waits until it is known whether its command took a lock.

use std::sync::{Arc, Mutex};

use picklock_harness::proxy::{
    CommandEffect, EffectQuery, FrameBarrier, InterceptedFrame, Interceptor, LinkId, LockEffect,
    Proxy,
};
use picklock_scenarios::{Direction, Phase};
use tokio::sync::mpsc::UnboundedReceiver;

use super::client::{Client, pack};
use super::node::Redis;
use super::{LINK, intercepted, proxy, within};

const TOOK: CommandEffect = CommandEffect {
    took_lock: true,
    lock: Some(0),
};

/// Records the effect of the command of each reply.
#[derive(Clone, Default)]
struct RecordsEffects(Arc<Mutex<Vec<(String, LockEffect)>>>);

impl Interceptor for RecordsEffects {
    fn is_armed(&self, _: usize) -> bool {
        true
    }

    fn waits_for_effect(&self, link: LinkId, phase: Phase) -> bool {
        link == LINK && phase == Phase::Acquire
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        if frame.direction == Direction::Reply {
            let effect = (frame.command.to_owned(), frame.lock_effect);
            self.0.lock().unwrap().push(effect);
        }
        None
    }
}

/// Returns a proxy in the acquire phase, its interceptor, and the queries that it sends.
fn acquiring_proxy() -> (Proxy, RecordsEffects, UnboundedReceiver<EffectQuery>) {
    let interceptor = RecordsEffects::default();
    let proxy = intercepted(interceptor.clone());
    proxy.track_requests("");
    proxy.set_phase(LINK.worker, 1, Phase::Acquire);
    let queries = proxy.effect_queries();
    (proxy, interceptor, queries)
}

#[tokio::test]
async fn reply_waits_for_its_effect_and_earlier_ones_do_not() {
    let redis = Redis::start().await;
    let (proxy, interceptor, mut queries) = acquiring_proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let words = |text: &'static str| pack(text.split(' ').map(str::as_bytes));
    let burst = [
        words("GET lock:1"),
        words("SETNX lock:1 me"),
        words("APPEND lock:1 x"),
    ];
    client.write(&burst.concat()).await;
    let query = within("a query", queries.recv()).await.unwrap();
    assert_eq!((query.node, query.number), (0, Some(1)));
    assert_eq!(client.reply().await, "$-1\\r\\n");
    assert!(client.is_silent());
    query.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, ":1\\r\\n");
    let query = within("a query", queries.recv()).await.unwrap();
    assert_eq!(query.number, Some(2));
    // The effect stays unknown.
    drop(query);
    assert_eq!(client.reply().await, ":3\\r\\n");
    proxy.close().await;
    let known = interceptor.0.lock().unwrap().clone();
    let expected = [
        ("GET", LockEffect::None),
        ("SETNX", LockEffect::Took),
        ("APPEND", LockEffect::Unknown),
    ];
    let expected = expected.map(|(command, lock_effect)| (command.to_owned(), lock_effect));
    assert_eq!(known, expected);
}

#[tokio::test]
async fn unanswered_query_does_not_keep_the_reply() {
    let redis = Redis::start().await;
    let (proxy, interceptor, mut queries) = acquiring_proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("SETNX lock:1 me").await, ":1\\r\\n");
    assert!(queries.try_recv().unwrap().reply.is_closed());
    proxy.close().await;
    let known = interceptor.0.lock().unwrap().clone();
    assert_eq!(known, [("SETNX".to_owned(), LockEffect::Unknown)]);
}

#[tokio::test]
async fn transaction_is_queried_when_it_is_executed() {
    let redis = Redis::start().await;
    let (proxy, _, mut queries) = acquiring_proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("MULTI").await, "+OK\\r\\n");
    assert_eq!(client.ask("SETNX lock:1 me").await, "+QUEUED\\r\\n");
    client.send("EXEC").await;
    let query = within("a query", queries.recv()).await.unwrap();
    assert_eq!(query.number, Some(2));
    query.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, "*1\\r\\n:1\\r\\n");
    // A command outside an acquisition takes no lock.
    proxy.set_phase(LINK.worker, 1, Phase::Extend);
    assert_eq!(client.ask("SET lock:1 me").await, "+OK\\r\\n");
    assert!(queries.try_recv().is_err());
    proxy.close().await;
}

/// A frame's direction, its command, and the lock whose key it names.
type Named = (Direction, String, Option<u32>);

/// Records the lock whose key each frame names.
#[derive(Clone, Default)]
struct RecordsKeys(Arc<Mutex<Vec<Named>>>);

impl Interceptor for RecordsKeys {
    fn is_armed(&self, _: usize) -> bool {
        true
    }

    fn waits_for_key(&self, link: LinkId, phase: Phase) -> bool {
        link == LINK && phase != Phase::Idle
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        let named = (frame.direction, frame.command.to_owned(), frame.key);
        self.0.lock().unwrap().push(named);
        None
    }
}

#[tokio::test]
async fn derived_key_is_known_from_its_first_reply_on() {
    let redis = Redis::start().await;
    let interceptor = RecordsKeys::default();
    let proxy = intercepted(interceptor.clone());
    proxy.track_requests("");
    let mut queries = proxy.effect_queries();
    proxy.set_phase(LINK.worker, 1, Phase::Acquire);
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    client.send("SETNX 5f2a me").await;
    // No key was written before this command, so the command names no known key.
    let query = within("a query", queries.recv()).await.unwrap();
    assert_eq!(query.number, None);
    query.reply.send(CommandEffect::default()).unwrap();
    let query = within("a query", queries.recv()).await.unwrap();
    assert_eq!(query.number, Some(0));
    proxy.derive_keys(LINK.node, &[(0, b"5f2a".to_vec())]);
    query.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, ":1\\r\\n");
    proxy.set_phase(LINK.worker, 1, Phase::Release);
    assert_eq!(client.ask("DEL 5f2a").await, ":1\\r\\n");
    // Frames outside a request are not queried.
    proxy.set_phase(LINK.worker, 1, Phase::Idle);
    assert_eq!(client.ask("GET other").await, "$-1\\r\\n");
    assert!(queries.try_recv().is_err());
    proxy.close().await;
    let named = interceptor.0.lock().unwrap().clone();
    let (request, reply) = (Direction::Request, Direction::Reply);
    let expected = [
        (request, "SETNX", None),
        (reply, "SETNX", Some(0)),
        (request, "DEL", Some(0)),
        (reply, "DEL", Some(0)),
        (request, "GET", None),
        (reply, "GET", None),
    ];
    let expected = expected.map(|(way, command, key)| (way, command.to_owned(), key));
    assert_eq!(named, expected);
}

/// Commands that a holder sends in the background count, too, because a lock may renew without a pause.
#[tokio::test]
async fn commands_are_counted_for_waiters_and_holders() {
    let redis = Redis::start().await;
    let proxy = proxy();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    proxy.set_phase(LINK.worker, 1, Phase::Acquire);
    assert_eq!(client.ask("SETNX lock:1 me").await, ":1\\r\\n");
    proxy.set_phase(LINK.worker, 1, Phase::Idle);
    for _ in 0..3 {
        assert_eq!(client.ask("PEXPIRE lock:1 1000").await, ":1\\r\\n");
    }
    proxy.set_phase(LINK.worker, 1, Phase::Release);
    assert_eq!(client.ask("DEL lock:1").await, ":1\\r\\n");
    let sent = proxy.commands_sent();
    assert_eq!((sent.acquiring, sent.holding), (1, 3));
    proxy.close().await;
}
