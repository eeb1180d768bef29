//! Adapters in Python on a real Redis: the adapter for redis-py, and the example from the documentation.
//!
//! Requires a Python with redis-py: `PICKLOCK_PYTHON` if it is set, else `python3`.

use picklock_harness::adapter::message::{Answer, RequestKind};
use redis::AsyncCommands;

use crate::adapter::redis_server::RedisServer;
use crate::adapter::talk::{Talk, acquire, extend, init, project_root, release};

const KEY: &str = "stock:1";

/// Returns a Python with redis-py, or panics with instructions to install one.
fn python() -> String {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = std::process::Command::new(&python)
        .args(["-c", "import redis"])
        .output();
    let works = found.is_ok_and(|output| output.status.success());
    assert!(
        works,
        "`{python}` has no redis-py. Make an environment that has it, and name its Python:\n  \
         python3 -m venv .venv\n  \
         .venv/bin/pip install -r adapters/python/requirements.txt\n  \
         export PICKLOCK_PYTHON=$PWD/.venv/bin/python"
    );
    python
}

fn redis_py(python: &str) -> Talk {
    let adapter = project_root().join("adapters/python/redis_py_lock.py");
    Talk::start(&[python, adapter.to_str().unwrap()])
}

async fn granted_token(talk: &mut Talk, ttl_ms: u64) -> String {
    match talk.answer(acquire(KEY, ttl_ms)).await {
        Answer::Granted { token, .. } => token,
        other => panic!("not granted: {other:?}\n{}", talk.log()),
    }
}

#[tokio::test]
async fn redis_py_excludes_extends_and_releases() {
    let python = python();
    let server = RedisServer::start();
    let mut first = redis_py(&python);
    let mut second = redis_py(&python);
    for talk in [&mut first, &mut second] {
        let ready = talk.answer(init(vec![server.url()])).await;
        assert!(matches!(ready, Answer::Ready { name: Some(name), .. } if name == "redis-py"));
    }
    let granted = first.answer(acquire(KEY, 20_001)).await;
    let Answer::Granted {
        token,
        valid_ms: Some(valid_ms),
        elapsed_ms: Some(_),
        ..
    } = granted
    else {
        panic!("not granted in full: {granted:?}\n{}", first.log());
    };
    assert!((1..=20_001).contains(&valid_ms), "{valid_ms}");
    assert_eq!(second.answer(acquire(KEY, 20_000)).await, Answer::Refused);

    let extended = first.answer(extend(KEY, &token, 60_000)).await;
    assert!(matches!(
        extended,
        Answer::Granted {
            valid_ms: Some(20_002..=60_000),
            ..
        }
    ));
    let mut redis = server.connect().await;
    assert!(redis.pttl::<_, u64>(KEY).await.unwrap() > 20_001);
    assert_eq!(first.answer(RequestKind::Ping).await, Answer::Pong);
    let released = first.answer(release(KEY, &token)).await;
    assert_eq!(
        released,
        Answer::Released {
            released: Some(true)
        }
    );
    granted_token(&mut second, 20_000).await;
}

#[tokio::test]
async fn redis_py_reports_that_a_lost_lock_was_not_its_own() {
    let python = python();
    let server = RedisServer::start();
    let mut redis = server.connect().await;
    let mut talk = redis_py(&python);
    talk.answer(init(vec![server.url()])).await;
    let token = granted_token(&mut talk, 20_000).await;
    let _: () = redis.set(KEY, "another's").await.unwrap();
    assert_eq!(
        talk.answer(extend(KEY, &token, 20_000)).await,
        Answer::Refused
    );
    let released = talk.answer(release(KEY, &token)).await;
    assert_eq!(
        released,
        Answer::Released {
            released: Some(false)
        }
    );
    assert!(redis.exists::<_, bool>(KEY).await.unwrap());
}

/// 1001 / 1000 * 1000 is less than 1001 in floating point, and redis-py rounds down. The adapter must not shorten a
/// lease.
#[test]
fn redis_py_preserves_the_lease_to_the_millisecond() {
    let python = python();
    let code = "
from redis_py_lock import seconds
lost = [ms for ms in range(1, 300_000) if int(seconds(ms) * 1000) != ms]
assert not lost, lost[:10]
plain = [ms for ms in range(1, 300_000) if int(ms / 1000 * 1000) != ms]
assert plain, 'the control must fail'
";
    let output = std::process::Command::new(python)
        .args(["-c", code])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(project_root().join("adapters/python"))
        .output()
        .unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problem}");
}

#[tokio::test]
async fn redis_py_error_is_ambiguous_if_the_server_is_gone() {
    let python = python();
    let mut server = RedisServer::start();
    let mut talk = redis_py(&python);
    talk.answer(init(vec![server.url()])).await;
    let token = granted_token(&mut talk, 20_000).await;
    server.kill();
    for request in [acquire("another", 20_000), release(KEY, &token)] {
        let answer = talk.answer(request).await;
        assert!(
            matches!(
                answer,
                Answer::Error {
                    definite: false,
                    ..
                }
            ),
            "{answer:?}"
        );
    }
    // The adapter survives, and works again once the server is back.
    server.start_again();
    granted_token(&mut talk, 20_000).await;
}

#[tokio::test]
async fn redis_py_error_is_definite_for_invalid_and_refused_requests() {
    let python = python();
    let server = RedisServer::start();
    let mut talk = redis_py(&python);
    let early = talk.answer(acquire(KEY, 1000)).await;
    assert!(
        matches!(early, Answer::Error { definite: true, .. }),
        "{early:?}"
    );
    talk.answer(init(vec![server.url()])).await;
    let unknown = talk.answer(release(KEY, "never granted")).await;
    assert!(
        matches!(unknown, Answer::Error { definite: true, .. }),
        "{unknown:?}"
    );
    let mut redis = server.connect().await;
    redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .exec_async(&mut redis)
        .await
        .unwrap();
    let refused = talk.answer(acquire(KEY, 1000)).await;
    assert!(
        matches!(refused, Answer::Error { definite: true, .. }),
        "{refused:?}"
    );
}

/// Runs the example from `docs/protocol.md` unchanged.
#[tokio::test]
async fn example_of_the_documentation_works() {
    let python = python();
    let text = std::fs::read_to_string(project_root().join("docs/protocol.md")).unwrap();
    let (_, rest) = text.split_once("```python\n").unwrap();
    let (code, _) = rest.split_once("```").unwrap();
    let server = RedisServer::start();
    let mut talk = Talk::start(&[&python, "-c", code]);
    talk.answer(init(vec![server.url()])).await;
    let token = granted_token(&mut talk, 20_000).await;
    assert_eq!(talk.answer(acquire(KEY, 20_000)).await, Answer::Refused);
    let extended = talk.answer(extend(KEY, &token, 30_000)).await;
    assert!(matches!(extended, Answer::Granted { .. }), "{extended:?}");
    let stolen = talk.answer(release(KEY, "another's")).await;
    assert_eq!(
        stolen,
        Answer::Released {
            released: Some(false)
        }
    );
    let released = talk.answer(release(KEY, &token)).await;
    assert_eq!(
        released,
        Answer::Released {
            released: Some(true)
        }
    );
    assert_eq!(talk.answer(RequestKind::Ping).await, Answer::Pong);
}
