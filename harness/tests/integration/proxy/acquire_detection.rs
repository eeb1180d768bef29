//! A reply waits until it is known whether its command took a lock, where somebody wants to know.

use std::sync::{Arc, Mutex};

use picklock_harness::proxy::{
    EffectQuery, Acquired, CommandEffect, FrameBarrier, InterceptedFrame, Interceptor, LinkId,
    Proxy,
};
use picklock_scenarios::{Direction, Phase};
use tokio::sync::mpsc::UnboundedReceiver;

use super::client::{Client, pack};
use super::node::Redis;
use super::{LINK, intercepted, proxy, within};

const TOOK: CommandEffect = CommandEffect {
    took: true,
    lock: Some(0),
};

/// Notes what is known of each reply.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<(String, Acquired)>>>);

impl Interceptor for Noting {
    fn is_armed(&self, _: usize) -> bool {
        true
    }

    fn waits_for_effect(&self, link: LinkId, phase: Phase) -> bool {
        link == LINK && phase == Phase::Acquire
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        if frame.direction == Direction::Reply {
            let known = (frame.command.to_owned(), frame.acquired);
            self.0.lock().unwrap().push(known);
        }
        None
    }
}

/// A proxy in the phase of acquiring, and the questions that it asks.
fn asking() -> (Proxy, Noting, UnboundedReceiver<EffectQuery>) {
    let noting = Noting::default();
    let proxy = intercepted(noting.clone());
    proxy.track_requests("");
    proxy.set_phase(LINK.worker, 1, Phase::Acquire);
    let questions = proxy.effect_queries();
    (proxy, noting, questions)
}

#[tokio::test]
async fn reply_of_a_command_that_can_take_waits_and_those_ahead_of_it_do_not() {
    let redis = Redis::start().await;
    let (proxy, noting, mut questions) = asking();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    let words = |text: &'static str| pack(text.split(' ').map(str::as_bytes));
    let burst = [
        words("GET lock:1"),
        words("SETNX lock:1 me"),
        words("APPEND lock:1 x"),
    ];
    client.write(&burst.concat()).await;
    let question = within("a question", questions.recv()).await.unwrap();
    assert_eq!((question.node, question.number), (0, Some(1)));
    assert_eq!(client.reply().await, "$-1\\r\\n");
    assert!(client.is_silent());
    question.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, ":1\\r\\n");
    let question = within("a question", questions.recv()).await.unwrap();
    assert_eq!(question.number, Some(2));
    // Nobody knows any more.
    drop(question);
    assert_eq!(client.reply().await, ":3\\r\\n");
    proxy.close().await;
    let known = noting.0.lock().unwrap().clone();
    let expected = [
        ("GET", Acquired::Nothing),
        ("SETNX", Acquired::Lock),
        ("APPEND", Acquired::Unknown),
    ];
    let expected = expected.map(|(command, acquired)| (command.to_owned(), acquired));
    assert_eq!(known, expected);
}

#[tokio::test]
async fn unanswered_question_does_not_keep_the_reply() {
    let redis = Redis::start().await;
    let (proxy, noting, mut questions) = asking();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("SETNX lock:1 me").await, ":1\\r\\n");
    assert!(questions.try_recv().unwrap().reply.is_closed());
    proxy.close().await;
    let known = noting.0.lock().unwrap().clone();
    assert_eq!(known, [("SETNX".to_owned(), Acquired::Unknown)]);
}

#[tokio::test]
async fn a_transaction_is_asked_about_when_it_is_executed() {
    let redis = Redis::start().await;
    let (proxy, _, mut questions) = asking();
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    assert_eq!(client.ask("MULTI").await, "+OK\\r\\n");
    assert_eq!(client.ask("SETNX lock:1 me").await, "+QUEUED\\r\\n");
    client.send("EXEC").await;
    let question = within("a question", questions.recv()).await.unwrap();
    assert_eq!(question.number, Some(2));
    question.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, "*1\\r\\n:1\\r\\n");
    // What is not part of an acquisition takes nothing.
    proxy.set_phase(LINK.worker, 1, Phase::Extend);
    assert_eq!(client.ask("SET lock:1 me").await, "+OK\\r\\n");
    assert!(questions.try_recv().is_err());
    proxy.close().await;
}

/// A frame's direction, its command, and the lock whose key it names.
type Named = (Direction, String, Option<u32>);

/// Notes whose key each frame names.
#[derive(Clone, Default)]
struct NotingKeys(Arc<Mutex<Vec<Named>>>);

impl Interceptor for NotingKeys {
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
async fn key_of_another_name_is_known_by_its_first_reply_and_then_by_its_name() {
    let redis = Redis::start().await;
    let noting = NotingKeys::default();
    let proxy = intercepted(noting.clone());
    proxy.track_requests("");
    let mut questions = proxy.effect_queries();
    proxy.set_phase(LINK.worker, 1, Phase::Acquire);
    let mut client = Client::connect(proxy.open(LINK, redis.address).await.unwrap()).await;
    client.send("SETNX 5f2a me").await;
    // Nothing was written before it, so it names no key that is known.
    let question = within("a question", questions.recv()).await.unwrap();
    assert_eq!(question.number, None);
    question.reply.send(CommandEffect::default()).unwrap();
    let question = within("a question", questions.recv()).await.unwrap();
    assert_eq!(question.number, Some(0));
    proxy.derive_keys(LINK.node, &[(0, b"5f2a".to_vec())]);
    question.reply.send(TOOK).unwrap();
    assert_eq!(client.reply().await, ":1\\r\\n");
    proxy.set_phase(LINK.worker, 1, Phase::Release);
    assert_eq!(client.ask("DEL 5f2a").await, ":1\\r\\n");
    // Nobody wants to know of what belongs to no request.
    proxy.set_phase(LINK.worker, 1, Phase::Idle);
    assert_eq!(client.ask("GET other").await, "$-1\\r\\n");
    assert!(questions.try_recv().is_err());
    proxy.close().await;
    let named = noting.0.lock().unwrap().clone();
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

/// What a holder sends unasked counts, too: it may renew without a pause.
#[tokio::test]
async fn commands_count_for_who_waits_or_for_who_holds() {
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
