//! Definite errors, indefinite errors, and timeouts, in virtual time.

use std::io::ErrorKind::{ConnectionReset, TimedOut};
use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{DynLock, Grant, LockError, Node};
use redis::Value;

use crate::client::{RealClock, build, left};
use crate::scripted::{Answer, Scripted};

const TTL: Duration = Duration::from_secs(1);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "k";

fn scripted(name: &str, answers: impl IntoIterator<Item = Answer>) -> Box<dyn DynLock> {
    let node = Node::new(Scripted::new(answers));
    build(name, vec![node], Rc::new(RealClock), 1)
}

fn some_grant() -> Grant {
    Grant {
        token: "t".into(),
        fence: None,
        valid_until: None,
    }
}

const ALL: [&str; 4] = ["setnx-expire", "getset", "set-nx-px", "redlock"];

#[tokio::test(start_paused = true)]
async fn an_error_reply_is_definite() {
    // redis-rs recognises LOADING, but not OOM or an invented code. All come from Redis itself.
    for reply in [
        "LOADING Redis is loading",
        "OOM command not allowed",
        "STRANGE thing",
    ] {
        for name in ALL {
            let mut lock = scripted(name, [Answer::Refuses(reply)]);
            let error = lock.acquire(KEY, TTL, ONCE).await.unwrap_err();
            assert!(error.is_definite(), "{name}: {error}");
            assert!(matches!(error, LockError::Refused(_)), "{name}: {error}");
            let (_code, text) = reply.split_once(' ').unwrap();
            assert!(error.to_string().contains(text), "{name}: {error}");
            let error = lock.release(KEY, &some_grant()).await.unwrap_err();
            assert!(error.is_definite(), "{name}: {error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_not() {
    for kind in [TimedOut, ConnectionReset] {
        for name in ALL {
            let mut lock = scripted(name, [Answer::Breaks(kind)]);
            let error = lock.acquire(KEY, TTL, ONCE).await.unwrap_err();
            assert!(!error.is_definite(), "{name}: {error}");
            let error = lock.extend(KEY, &some_grant(), TTL).await.unwrap_err();
            assert!(!error.is_definite(), "{name}: {error}");
            let error = lock.release(KEY, &some_grant()).await.unwrap_err();
            assert!(!error.is_definite(), "{name}: {error}");
        }
    }
}

/// Redis itself refuses the EXPIRE, but SETNX has left a key behind already.
#[tokio::test(start_paused = true)]
async fn a_refused_second_command_is_not_definite() {
    let taken = Answer::Says(Value::Int(1));
    let mut lock = scripted("setnx-expire", [taken, Answer::Refuses("OOM no")]);
    let error = lock.acquire(KEY, TTL, ONCE).await.unwrap_err();
    assert!(!error.is_definite(), "{error}");
}

/// The grant arrives after the lease is over: the simple locks pass it on without any validity, redlock refuses it.
#[tokio::test(start_paused = true)]
async fn a_late_reply_is_worth_nothing() {
    let late = |value| [Answer::SaysAfter(1500, value)];
    for (name, value) in [
        ("setnx-expire", Value::Int(1)),
        ("getset", Value::Int(1)),
        ("set-nx-px", Value::Okay),
        ("expired-is-held", Value::Okay),
    ] {
        let mut lock = scripted(name, late(value));
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().expect(name);
        assert_eq!(left(&grant), Duration::ZERO, "{name}");
    }
    let mut lock = scripted("redlock", late(Value::Okay));
    assert!(lock.acquire(KEY, TTL, ONCE).await.is_err());
}

/// Replies arrive within the time limit of a single node, but the lease is so short that no validity is left after the
/// allowance for drift.
#[tokio::test(start_paused = true)]
async fn redlock_refuses_a_majority_without_validity() {
    let ttl = Duration::from_millis(2);
    let mut lock = scripted("redlock", [Answer::Says(Value::Okay)]);
    assert_eq!(lock.acquire(KEY, ttl, ONCE).await.unwrap(), None);
    let mut mutant = scripted("expired-is-held", [Answer::Says(Value::Okay)]);
    assert!(mutant.acquire(KEY, ttl, ONCE).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn redlock_takes_the_drift_off_its_validity() {
    let mut lock = scripted("redlock", [Answer::SaysAfter(40, Value::Okay)]);
    let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
    // 1000 ms, minus 40 ms in transit, minus 10 ms + 2 ms of drift.
    assert_eq!(left(&grant), Duration::from_millis(948));
}

/// No attempt begins after the deadline, regardless of the number of earlier attempts.
#[tokio::test(start_paused = true)]
#[expect(
    clippy::disallowed_methods,
    reason = "the test measures the lock from outside"
)]
async fn a_client_gives_up_before_its_deadline() {
    for name in ALL {
        for wait in [ONCE, Duration::from_millis(5), Duration::from_millis(700)] {
            // Nil means that SET NX did not set the key, and that GET does not find it.
            let mut lock = scripted(name, [Answer::Says(Value::Nil)]);
            let before = tokio::time::Instant::now();
            let granted = lock.acquire(KEY, TTL, wait).await.unwrap();
            assert_eq!(granted, None, "{name}");
            let took = before.elapsed();
            assert!(took <= wait, "{name}: {took:?} of {wait:?}");
            // 50 ms is the longest delay between two attempts.
            let longest = Duration::from_millis(51);
            assert!(took + longest >= wait, "{name}: {took:?} of {wait:?}");
        }
    }
}
