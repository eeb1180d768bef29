//! Watchdogs that renew while their holder works, on a scripted connection.

use std::rc::Rc;
use std::time::Duration;

use picklock_impls::{DynLock, Node, Notice};
use redis::Value;

use crate::client::{RealClock, build, build_with, client_with_tasks};
use crate::recording::{Log, Recording};
use crate::scripted::{Answer, Scripted};

/// The current time on tokio's own clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the test itself measures the paused clock that the lock sleeps on"
)]
fn moment() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

const TTL: Duration = Duration::from_secs(10);
const ONCE: Duration = Duration::ZERO;
const KEY: &str = "stock:1";
const EXTENDED: Answer = Answer::Says(Value::Int(1));
const NOT_OURS: Answer = Answer::Says(Value::Int(0));
const BROKEN: Answer = Answer::Breaks(std::io::ErrorKind::ConnectionReset);

/// Waits for the next notice, an extension. Returns the token of its grant and the remaining validity.
async fn extended(lock: &mut Box<dyn DynLock>) -> (String, Duration) {
    let Notice::Extended { token, valid_until } = lock.notice().await else {
        panic!("it was extended");
    };
    (token, valid_until.left())
}

fn watchdog(answers: impl IntoIterator<Item = Answer>) -> (Box<dyn DynLock>, Log) {
    let answers = [Answer::Says(Value::Okay)].into_iter().chain(answers);
    let log = Log::default();
    let node = Node::new(Recording::new(Scripted::new(answers), log.clone()));
    (build("watchdog", vec![node], Rc::new(RealClock), 1), log)
}

#[tokio::test(start_paused = true)]
async fn it_renews_at_half_the_lease_and_says_so() {
    client_with_tasks(async {
        let (mut lock, log) = watchdog([EXTENDED]);
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        for _ in 0..3 {
            let before = moment();
            let token = grant.token.clone();
            assert_eq!(extended(&mut lock).await, (token, TTL));
            assert_eq!(before.elapsed(), TTL / 2);
        }
        assert_eq!(log.take(&[]).len(), 4);
        // A notice that is read late has less validity left.
        tokio::time::sleep(TTL * 7 / 10).await;
        assert_eq!(extended(&mut lock).await.1, TTL * 8 / 10);
        // After the release nothing more is sent or reported, including earlier notices.
        tokio::time::sleep(TTL / 2).await;
        lock.release(KEY, &grant).await.unwrap();
        log.take(&[]);
        let silence = tokio::time::timeout(10 * TTL, lock.notice()).await;
        assert!(silence.is_err(), "{silence:?}");
        assert!(log.take(&[]).is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_anothers_is_lost_at_once_and_left_alone() {
    client_with_tasks(async {
        let (mut lock, log) = watchdog([NOT_OURS]);
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        let token = grant.token.clone();
        assert_eq!(lock.notice().await, Notice::Lost { token });
        log.take(&[]);
        tokio::time::sleep(10 * TTL).await;
        assert!(log.take(&[]).is_empty());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_is_tried_again_while_the_lease_lasts() {
    client_with_tasks(async {
        let (mut lock, _) = watchdog([BROKEN, BROKEN, BROKEN, EXTENDED]);
        let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        let token = grant.token.clone();
        assert_eq!(extended(&mut lock).await, (token, TTL));

        for hopeless in [BROKEN, Answer::Silent] {
            let (mut lock, _) = watchdog([hopeless]);
            let began = moment();
            let grant = lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
            let token = grant.token.clone();
            assert_eq!(lock.notice().await, Notice::Lost { token });
            // The loss is reported as the lease ends, not later.
            let told = began.elapsed();
            assert!(
                (TTL..TTL + Duration::from_millis(5)).contains(&told),
                "{told:?}"
            );
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_stops_with_its_client() {
    client_with_tasks(async {
        let (mut lock, log) = watchdog([EXTENDED]);
        lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
        lock.notice().await;
        log.take(&[]);
        drop(lock);
        tokio::time::sleep(10 * TTL).await;
        assert!(log.take(&[]).is_empty());
    })
    .await;
}

/// Three of five nodes are enough to renew, two are not.
#[tokio::test(start_paused = true)]
async fn redlock_renews_on_a_majority() {
    let says = |renewed: Answer| Scripted::new([Answer::Says(Value::Okay), renewed]);
    for (extending, enough) in [(3, true), (2, false)] {
        client_with_tasks(async {
            let nodes = (0..5).map(|node| {
                let renewed = if node < extending { EXTENDED } else { NOT_OURS };
                Node::new(says(renewed))
            });
            let nodes = nodes.collect();
            let every = [("renew_every", "2s")];
            let mut lock = build_with("redlock-renewing", nodes, Rc::new(RealClock), 1, &every);
            let began = moment();
            lock.acquire(KEY, TTL, ONCE).await.unwrap().unwrap();
            let notice = lock.notice().await;
            assert_eq!(
                matches!(notice, Notice::Extended { .. }),
                enough,
                "{notice:?}"
            );
            assert_eq!(began.elapsed(), Duration::from_secs(2));
        })
        .await;
    }
}
