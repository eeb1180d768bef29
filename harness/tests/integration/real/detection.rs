use std::path::Path;

use insta::assert_snapshot;
use picklock_harness::clock::Clock;
use picklock_harness::servers::{Binary, ServerKind, detect};

use super::reexecution::in_the_role_of;

#[tokio::test]
async fn engine_with_an_image_is_preferred() {
    let found = detect(None, None, None).await;
    assert!(
        matches!(found.backend, Some(ServerKind::Docker(_))),
        "{}",
        found.reason
    );
    assert!(!found.reason.contains('\n'), "{}", found.reason);
}

#[tokio::test]
async fn server_on_path_is_used_without_an_image() {
    let found = detect(Some("127.0.0.1:1/no-such-redis:8"), None, None).await;
    let expected = ServerKind::Process(Binary::find(None).unwrap());
    assert_eq!(found.backend, Some(expected));
    assert!(found.reason.contains("no-such-redis"), "{}", found.reason);
    assert!(!found.reason.contains('\n'), "{}", found.reason);
}

#[tokio::test]
async fn both_reasons_are_reported_without_image_and_server() {
    let nowhere = Path::new("/nowhere/redis-server");
    let found = detect(Some("127.0.0.1:1/no-such-redis:8"), Some(nowhere), None).await;
    assert_eq!(found.backend, None);
    assert!(found.reason.contains("no-such-redis") && found.reason.contains("/nowhere"));
}

/// Runs the detection in another process of this test binary, so that other tests are not affected: the engine is at
/// the given socket, and PATH is empty.
fn detected_with_engine_at(socket: &Path) -> String {
    let output = in_the_role_of("detect")
        .env("DOCKER_HOST", format!("unix://{}", socket.display()))
        .env("PATH", "")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{text}");
    let mut lines = text.lines();
    let line = lines
        .find_map(|line| line.strip_prefix("detected "))
        .unwrap();
    line.replace(socket.to_str().unwrap(), "[socket]")
}

/// The role of the other process. It prints the duration on another line, for people who read the output.
pub fn print_detection() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = Clock::start();
    let found = runtime.block_on(detect(None, None, None));
    println!("\ndetected {}\ntook {:?}", found.reason, clock.elapsed());
}

#[test]
fn missing_engine_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    assert_snapshot!(detected_with_engine_at(&dir.path().join("none.sock")), @"not docker: no container engine answers (Socket not found: [socket]); not process: no Redis or Valkey server on PATH");
}

#[test]
fn engine_that_never_answers_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("hangs.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_snapshot!(detected_with_engine_at(&socket), @"not docker: no container engine answers (no answer within 700ms); not process: no Redis or Valkey server on PATH");
}
