use std::path::Path;

use insta::assert_snapshot;
use picklock_harness::servers::{
    BackendError, Binary, Image, Layout, Reaper, ReaperError, RunDir, ServerKind, Servers,
};
use picklock_scenarios::Persistence;

use super::process::write_program;
use super::reexecution::reaper;

const LAYOUT: Layout = Layout {
    nodes: 1,
    replicas: 0,
    sentinels: 0,
    persistence: Persistence::None,
    clocks_shift: false,
};

/// Returns the text of an error without the run's directory.
fn text(error: &BackendError, dir: &RunDir) -> String {
    error
        .to_string()
        .replace(dir.path().to_str().unwrap(), "[dir]")
}

async fn start(program: &Path, dir: &RunDir, reaper: &Reaper) -> BackendError {
    let binary = Binary::find(Some(program)).unwrap();
    Servers::start(&ServerKind::Process(binary), LAYOUT, dir.path(), reaper)
        .await
        .unwrap_err()
}

#[test]
fn missing_program_is_named() {
    let error = Binary::find(Some(Path::new("/nowhere/redis-server"))).unwrap_err();
    assert_snapshot!(error, @"cannot run /nowhere/redis-server: No such file or directory (os error 2); `--redis-server` requires the path of a `redis-server` or `valkey-server`");
}

#[test]
fn error_without_a_server_names_the_programs_searched_for() {
    let error = BackendError::NoBinary {
        looked_for: "`redis-server`, then `valkey-server`".into(),
    };
    assert_snapshot!(error, @"no Redis server found: looked for `redis-server`, then `valkey-server` on PATH; install one (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`), name one with `--redis-server PATH`, or choose another backend");
}

#[tokio::test]
async fn log_of_a_server_that_exits_at_start_is_quoted() {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let script = "#!/bin/sh\necho 'I would rather not.' >&2\nexit 3\n";
    let error = start(&write_program(dir.path(), script), &dir, &reaper).await;
    assert_snapshot!(text(&error, &dir), @r"
    node-0: [dir]/server exited at start (exit status: 3); the last lines of its log:
    I would rather not.
    ");
    let error = start(
        &write_program(dir.path(), "#!/bin/sh\nexit 1\n"),
        &dir,
        &reaper,
    )
    .await;
    assert_snapshot!(text(&error, &dir), @"node-0: [dir]/server exited at start (exit status: 1); its log is empty");
}

#[tokio::test]
async fn file_that_is_not_a_program_is_named() {
    let reaper = reaper();
    let dir = RunDir::create(&reaper).unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "not a server").unwrap();
    assert_snapshot!(text(&start(&path, &dir, &reaper).await, &dir), @"cannot run [dir]/notes.txt: Permission denied (os error 13) (not a program); `--redis-server` requires the path of a `redis-server` or `valkey-server`");
}

#[tokio::test]
async fn unavailable_image_is_named() {
    let error = Image::choose(Some("127.0.0.1:1/no-such-redis:8"), None)
        .await
        .unwrap_err();
    let BackendError::NoImage { image, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(image, "127.0.0.1:1/no-such-redis:8");
}

#[test]
fn program_that_is_not_the_helper_is_rejected() {
    let error = Reaper::spawn(Path::new("/bin/true"), &[]).unwrap_err();
    assert!(
        matches!(
            error,
            ReaperError::NotTheHelper { .. } | ReaperError::Gone(_)
        ),
        "{error}"
    );
    let error = Reaper::spawn(Path::new("/nowhere/picklock"), &[]).unwrap_err();
    assert_snapshot!(error, @"cannot start the clean-up helper /nowhere/picklock: No such file or directory (os error 2)");
}
