//! The worker's end of the protocol, in virtual time and within this process, with in-memory streams and a scripted
//! lock.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::adapter::connect::connect;
use picklock_harness::adapter::message::{
    Answer, Init, Notification, Request, RequestKind, WorkerMessage,
};
use picklock_harness::adapter::serve::serve;
use picklock_harness::rng;
use picklock_impls::{
    Canceller, Context, Deadline, DynLock, Grant, Lock, LockError, Notice, WallClock, find,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;

use super::redis_server::RedisServer;
use super::talk::{acquire, extend, init, release};

/// A lock that grants `steady` after 31 ms and `interrupted` 200 ms late, cannot extend `silent`, fails for other
/// keys, and sends the notices that the test provides.
struct Scripted {
    notices: mpsc::UnboundedReceiver<Notice>,
    releases: u32,
}

impl Lock for Scripted {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        tokio::time::sleep(Duration::from_millis(31)).await;
        match key {
            "steady" => Ok(Some(Grant {
                token: "t1".into(),
                fence: Some(7),
                valid_until: Some(Deadline::after(ttl - Duration::from_micros(10_300))),
            })),
            // The process loses the CPU between the lock's last reading of the clock and its return.
            "interrupted" => {
                let valid_until = Some(Deadline::after(ttl));
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok(Some(Grant {
                    token: "t3".into(),
                    fence: None,
                    valid_until,
                }))
            }
            "silent" => Ok(Some(Grant {
                token: "t2".into(),
                fence: None,
                valid_until: None,
            })),
            "taken" => Ok(None),
            "lost" => Err(LockError::Ambiguous("no answer".into())),
            _ => Err(LockError::Refused("no".into())),
        }
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        if key == "silent" {
            return Err(LockError::Unsupported("it has no extension".into()));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(Some(Grant {
            token: format!("{}+", grant.token),
            valid_until: Some(Deadline::after(ttl)),
            ..grant.clone()
        }))
    }

    /// Fails the first time, and succeeds later.
    async fn release(&mut self, _key: &str, _grant: &Grant) -> Result<bool, LockError> {
        self.releases += 1;
        match self.releases {
            1 => Err(LockError::Ambiguous("no answer".into())),
            _ => Ok(true),
        }
    }

    async fn notice(&mut self) -> Notice {
        match self.notices.recv().await {
            Some(notice) => notice,
            None => std::future::pending().await,
        }
    }
}

/// The driver's side of a served worker.
struct Driver {
    writer: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    notices: mpsc::UnboundedSender<Notice>,
    log: Rc<RefCell<Vec<String>>>,
    next_id: u64,
}

impl Driver {
    async fn receive(&mut self) -> WorkerMessage {
        let line = self.lines.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn ask(&mut self, ask: RequestKind) -> Answer {
        let id = self.next_id;
        self.next_id += 1;
        let request = serde_json::to_string(&Request {
            id,
            client: None,
            ask,
        })
        .unwrap();
        self.write(&request).await;
        match self.receive().await {
            WorkerMessage::Reply {
                id: replied,
                answer,
                ..
            } if replied == id => answer,
            other => panic!("no answer to {id}: {other:?}"),
        }
    }
}

/// Runs `talk` against a worker with the scripted lock.
async fn with_worker(talk: impl AsyncFnOnce(&mut Driver)) {
    let (notices, receiver) = mpsc::unbounded_channel();
    let receiver = RefCell::new(Some(receiver));
    let build = |init: Init, _: Canceller| {
        let receiver = receiver.take();
        async move {
            if init.options.contains_key("impossible") {
                return Err("that cannot be built".to_owned());
            }
            let lock: Box<dyn DynLock> = Box::new(Scripted {
                notices: receiver.unwrap(),
                releases: 0,
            });
            Ok(lock)
        }
    };
    with_worker_of(build, notices, talk).await;
}

/// Runs `talk` against a served worker, which must end when the driver closes the connection.
async fn with_worker_of<F>(
    build: impl Fn(Init, Canceller) -> F,
    notices: mpsc::UnboundedSender<Notice>,
    talk: impl AsyncFnOnce(&mut Driver),
) where
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let (driver_end, worker_end) = tokio::io::duplex(1 << 16);
    let (worker_reader, worker_writer) = tokio::io::split(worker_end);
    let (driver_reader, driver_writer) = tokio::io::split(driver_end);
    let log = Rc::new(RefCell::new(Vec::new()));
    let worker_log = log.clone();
    let worker = serve(
        BufReader::new(worker_reader),
        worker_writer,
        build,
        move |message| worker_log.borrow_mut().push(message.to_owned()),
        std::future::pending(),
    );
    let mut driver = Driver {
        writer: driver_writer,
        lines: BufReader::new(driver_reader).lines(),
        notices,
        log,
        next_id: 1,
    };
    let talking = async {
        talk(&mut driver).await;
        driver.writer.shutdown().await.unwrap();
    };
    let (ended, ()) = tokio::join!(worker, talking);
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn grant_reports_its_validity_when_written() {
    with_worker(async |driver| {
        assert!(matches!(
            driver.ask(init(vec![])).await,
            Answer::Ready { .. }
        ));
        // 31 ms of waiting and 989.7 ms of validity, rounded down.
        let granted = driver.ask(acquire("steady", 1000)).await;
        let expected = Answer::Granted {
            token: "t1".into(),
            fence: Some(7),
            valid_ms: Some(989),
            elapsed_ms: Some(31),
        };
        assert_eq!(granted, expected);
        let granted = driver.ask(acquire("silent", 1000)).await;
        assert!(matches!(granted, Answer::Granted { valid_ms: None, .. }));
        assert_eq!(driver.ask(acquire("taken", 1000)).await, Answer::Refused);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn interruption_does_not_extend_the_reported_lease() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        let granted = driver.ask(acquire("interrupted", 1000)).await;
        let expected = Answer::Granted {
            token: "t3".into(),
            fence: None,
            valid_ms: Some(800),
            elapsed_ms: Some(231),
        };
        assert_eq!(granted, expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn errors_keep_their_certainty() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        for (key, certain) in [("lost", false), ("refused", true)] {
            let answer = driver.ask(acquire(key, 1000)).await;
            assert!(
                matches!(answer, Answer::Error { definite, .. } if definite == certain),
                "{key}"
            );
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn unsupported_extension_keeps_the_grant() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        driver.ask(acquire("silent", 1000)).await;
        let extended = driver.ask(extend("silent", "t2", 2000)).await;
        let message = Some("it has no extension".to_owned());
        assert_eq!(extended, Answer::Unsupported { message });
        let failed = driver.ask(release("silent", "t2")).await;
        let known = matches!(
            failed,
            Answer::Error {
                definite: false,
                ..
            }
        );
        assert!(known, "{failed:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn grant_is_kept_until_it_is_released() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        driver.ask(acquire("steady", 1000)).await;
        let extended = driver.ask(extend("steady", "t1", 2000)).await;
        let expected = Answer::Granted {
            token: "t1+".into(),
            fence: Some(7),
            valid_ms: Some(2000),
            elapsed_ms: Some(5),
        };
        assert_eq!(extended, expected);
        let unknown = driver.ask(release("steady", "t1")).await;
        assert!(matches!(unknown, Answer::Error { definite: true, .. }));
        // A failed release can be repeated.
        let failed = driver.ask(release("steady", "t1+")).await;
        assert!(matches!(
            failed,
            Answer::Error {
                definite: false,
                ..
            }
        ));
        let released = driver.ask(release("steady", "t1+")).await;
        assert_eq!(
            released,
            Answer::Released {
                released: Some(true)
            }
        );
        let unknown = driver.ask(release("steady", "t1+")).await;
        assert!(matches!(unknown, Answer::Error { definite: true, .. }));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn notices_are_sent_unprompted() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        driver.ask(acquire("steady", 1000)).await;
        tokio::time::sleep(Duration::from_millis(470)).await;
        let renewed = Notice::Extended {
            token: "t1".into(),
            valid_until: Deadline::after(Duration::from_micros(999_900)),
        };
        driver.notices.send(renewed).unwrap();
        // 31 ms until the grant and 470 ms after it, since the request was read.
        let expected = WorkerMessage::Event(Notification::Extended {
            token: "t1".into(),
            valid_ms: 999,
            elapsed_ms: Some(501),
            client: None,
        });
        assert_eq!(driver.receive().await, expected);
        let lost = Notice::Lost { token: "t1".into() };
        driver.notices.send(lost).unwrap();
        let expected = WorkerMessage::Event(Notification::Lost {
            token: "t1".into(),
            client: None,
        });
        assert_eq!(driver.receive().await, expected);
        // A lost grant can still be released.
        let failed = driver.ask(release("steady", "t1")).await;
        assert!(matches!(
            failed,
            Answer::Error {
                definite: false,
                ..
            }
        ));
    })
    .await;
}

/// A notice that is pending is sent before the next request is answered.
#[tokio::test(start_paused = true)]
async fn notice_precedes_the_next_reply() {
    with_worker(async |driver| {
        driver.ask(init(vec![])).await;
        driver.ask(acquire("steady", 1000)).await;
        let token = || "t1".to_owned();
        driver
            .notices
            .send(Notice::Lost { token: token() })
            .unwrap();
        driver.write(r#"{"id":90,"op":"ping"}"#).await;
        assert_eq!(
            driver.receive().await,
            WorkerMessage::Event(Notification::Lost {
                token: token(),
                client: None
            })
        );
        let pong = WorkerMessage::Reply {
            id: 90,
            client: None,
            answer: Answer::Pong,
        };
        assert_eq!(driver.receive().await, pong);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn invalid_request_gets_a_usage_error() {
    with_worker(async |driver| {
        // Invalid requests with an `id`, so that they can be answered.
        for line in [
            r#"{"id":5,"op":"dance"}"#,
            r#"{"id":5,"op":"acquire","key":"k"}"#,
            r#"{"id":5}"#,
            r#"{"id":5,"op":"acquire","key":7,"ttl_ms":-1,"wait_ms":0}"#,
        ] {
            driver.write(line).await;
            let reply: Value = serde_json::to_value(driver.receive().await).unwrap();
            assert_eq!(reply["id"], json!(5), "{line}");
            assert_eq!(reply["definite"], json!(true), "{line}");
        }
        // Invalid requests without an `id`.
        for line in [
            "",
            "hello",
            "[1, 2]",
            r#"{"op":"ping"}"#,
            r#"{"id":-1,"op":"ping"}"#,
        ] {
            driver.write(line).await;
        }
        assert_eq!(driver.ask(RequestKind::Ping).await, Answer::Pong);
        assert_eq!(driver.log.borrow().len(), 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn init_comes_first_and_once() {
    with_worker(async |driver| {
        for ask in [
            acquire("steady", 1000),
            extend("k", "t", 1),
            release("k", "t"),
        ] {
            let answer = driver.ask(ask).await;
            assert!(matches!(answer, Answer::Error { definite: true, .. }));
        }
        driver.ask(init(vec![])).await;
        let again = driver.ask(init(vec![])).await;
        assert!(matches!(again, Answer::Error { definite: true, .. }));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn unknown_version_and_failed_construction_are_refused() {
    with_worker(async |driver| {
        driver.write(r#"{"id":1,"op":"init","protocol":99,"worker":0,"nodes":[],"timeout_ms":1,"seed":1}"#).await;
        let reply = serde_json::to_string(&driver.receive().await).unwrap();
        assert!(reply.contains("protocol 99"), "{reply}");
        driver.write(r#"{"id":2,"op":"init","protocol":1,"worker":0,"nodes":[],"timeout_ms":1,"seed":1,"options":{"impossible":"1"}}"#).await;
        let reply = serde_json::to_string(&driver.receive().await).unwrap();
        assert!(reply.contains("that cannot be built"), "{reply}");
    })
    .await;
}

/// Combines the parts as the built-in worker does, on five real servers.
#[tokio::test]
async fn built_in_lock_is_served_on_real_servers() {
    let servers: Vec<RedisServer> = (0..5).map(|_| RedisServer::start()).collect();
    let urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    let build = |init: Init, canceller: Canceller| async move {
        let nodes = connect(&init.nodes, init.timeout()).map_err(|error| error.to_string())?;
        let context = Context {
            canceller,
            wall_clock: Rc::new(MachineClock),
            rng: rng::stream(init.seed, "worker", 0),
            options: picklock_impls::Options::default(),
            capacity: 1,
        };
        let strategy = find("redlock").ok_or("no redlock")?;
        Ok((strategy.build)(nodes, context))
    };
    let (notices, _) = mpsc::unbounded_channel();
    with_worker_of(build, notices, async |driver| {
        driver.ask(init(urls)).await;
        let granted = driver.ask(acquire("k", 20_000)).await;
        let Answer::Granted {
            token,
            valid_ms: Some(1..20_000),
            ..
        } = granted
        else {
            panic!("not granted: {granted:?}");
        };
        assert_eq!(driver.ask(acquire("k", 20_000)).await, Answer::Refused);
        let released = driver.ask(release("k", &token)).await;
        assert_eq!(
            released,
            Answer::Released {
                released: Some(true)
            }
        );
    })
    .await;
}

struct MachineClock;

impl WallClock for MachineClock {
    fn since_epoch(&self) -> Duration {
        picklock_harness::clock::wall_clock()
    }
}
