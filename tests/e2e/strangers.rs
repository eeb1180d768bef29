//! Foreign files and directories: only regular files are read, up to a limit, and nothing that they name is started.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::running::{Outcome, picklock};

/// Saves a run of the simulation.
fn kept() -> Outcome {
    picklock("scenario calm --impl set-nx-px --backend sim --seed 5 --workers 4 --out run")
        .run()
        .exits(0)
}

/// Creates a FIFO.
pub fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
}

#[test]
fn saved_run_is_readable_by_its_owner_only() {
    let run = kept();
    let mode = fs::metadata(run.home().join("run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700, "{mode:o}");
}

#[test]
fn matrix_is_continued_only_from_a_regular_file() {
    for make in [fifo, |path: &Path| symlink("/dev/zero", path).unwrap()] {
        let call = picklock("matrix --impl set-nx-px --scenario calm --backend sim --out out");
        let call = call.file("out/keep", "");
        let out = call.temp().with_file_name("out");
        fs::remove_file(out.join("keep")).unwrap();
        make(&out.join("matrix.json"));
        let outcome = call.run().exits(2);
        let is_named = ["a FIFO", "a symbolic link"]
            .iter()
            .any(|kind| outcome.stderr.contains(kind));
        assert!(is_named, "{}", outcome.all());
    }
}

#[test]
fn only_regular_files_are_judged() {
    let run = kept();
    let history = run.home().join("run/history.jsonl");
    let path = |name: &str| run.home().join(name);
    symlink(&history, path("link")).unwrap();
    fifo(&path("fifo"));
    // The file is sparse, because no disk has that much space.
    File::create(path("sparse"))
        .unwrap()
        .set_len(30 << 30)
        .unwrap();
    for (file, said) in [
        (path("link"), "a symbolic link"),
        (path("fifo"), "a FIFO"),
        ("/dev/zero".into(), "a device"),
        (path("sparse"), "32212254720 bytes, limit 1073741824"),
    ] {
        for command in ["check", "report", "replay"] {
            let outcome = picklock(&format!("{command} {}", file.display()))
                .run()
                .exits(2);
            let said = match (command, said.contains("bytes")) {
                (_, false) => said,
                ("check", true) => said,
                (_, true) => "32212254720 bytes",
            };
            assert!(
                outcome.stderr.contains(said),
                "{command}: {}",
                outcome.all()
            );
        }
    }
    // A line without an end in a file that is not too long.
    let text = format!(
        "{}{}",
        run.text_file("run/history.jsonl"),
        "x".repeat(2 << 20)
    );
    let outcome = picklock("check long.jsonl")
        .file("long.jsonl", &text)
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("longer than 1048576 bytes"),
        "{}",
        outcome.stderr
    );
}

/// The file may be in a foreign repository, like a configuration.
#[test]
fn only_a_regular_file_is_a_baseline() {
    let config =
        "[[cells]]\nbackends = [\"sim\"]\nlocks = [\"set-nx-px\"]\nscenarios = [\"calm\"]\n";
    for (file, said) in [
        ("fifo", "a FIFO"),
        ("/dev/zero", "a device"),
        ("sparse", "limit 268435456"),
    ] {
        let call =
            picklock(&format!("gate --quiet --baseline {file}")).file("picklock.toml", config);
        let home = call.temp().with_file_name("");
        fifo(&home.join("fifo"));
        // The file is sparse, because no disk has that much space.
        let sparse = File::create(home.join("sparse")).unwrap();
        sparse.set_len(30 << 30).unwrap();
        let outcome = call.run().exits(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.all());
    }
}

#[test]
fn links_beside_a_record_are_not_followed() {
    let run = kept();
    let dir = run.home().join("run");
    let history = dir.join("history.jsonl");
    fs::rename(&history, run.home().join("elsewhere")).unwrap();
    symlink(run.home().join("elsewhere"), &history).unwrap();
    fs::remove_file(dir.join("commands.jsonl")).unwrap();
    fifo(&dir.join("commands.jsonl"));
    let outcome = picklock(&format!("report {}", dir.display()))
        .run()
        .exits(0);
    for said in [
        "history.jsonl: cannot be read: it is a symbolic link",
        "commands.jsonl: cannot be read: it is a FIFO",
    ] {
        assert!(outcome.stderr.contains(said), "{}", outcome.all());
    }
}

/// Every program that a directory can name leaves a mark.
#[test]
fn a_replay_of_a_hostile_directory_starts_nothing() {
    let run = kept();
    let dir = run.home().join("run");
    let mark = run.home().join("started");
    let program = dir.join("redis-server");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // A configuration next to it applies only to `gate`.
    let gate = format!(
        "redis_server = {program:?}\n[[cells]]\nbackends = [\"process\"]\nlocks = [\"exec:{}\"]\n",
        program.display()
    );
    fs::write(dir.join("picklock.toml"), gate).unwrap();
    let repro = run.text_file("run/repro.toml");
    let with = |from: &str, to: String| {
        assert!(repro.contains(from), "no {from} in {repro}");
        repro.replacen(from, &to, 1)
    };
    let command = format!("name = \"exec:{}\"", program.display());
    let server = format!("[overrides]\nredis_server = {program:?}");
    let image = "[overrides]\nimage = \"localhost/started\"".to_owned();
    for (text, backend) in [
        (with("name = \"set-nx-px\"", command.clone()), ""),
        (with("name = \"set-nx-px\"", command), "--backend process"),
        (with("[overrides]", server), "--backend process"),
        (with("[overrides]", image), "--backend docker"),
    ] {
        fs::write(dir.join("repro.toml"), text).unwrap();
        let outcome = picklock(&format!("replay {} {backend}", dir.display()))
            .run()
            .exits(2);
        let said = "Nothing was started";
        assert!(
            outcome.stderr.contains(said),
            "{backend}: {}",
            outcome.all()
        );
        assert!(!mark.exists(), "{backend}");
    }
    // The unchanged repro file starts only built-in parts, so it may run. Files next to it do not matter.
    fs::write(dir.join("repro.toml"), &repro).unwrap();
    let outcome = picklock(&format!("replay {}", dir.display()))
        .run()
        .exits(0);
    assert!(
        outcome.stdout.contains("same verdicts"),
        "{}",
        outcome.all()
    );
    assert!(!mark.exists());
}

/// An error quotes the invalid line.
#[test]
fn control_characters_in_files_are_escaped() {
    let text = "name = \"x\u{9b}2J\u{202e}\"\n\u{1b}]0;owned\u{7} = 1\n";
    for (line, code) in [
        ("scenario evil.toml --impl redlock --backend sim", 2),
        ("replay evil.toml", 2),
        ("gate --config evil.toml", 2),
        ("check evil.toml", 2),
    ] {
        let outcome = picklock(line).file("evil.toml", text).run().exits(code);
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(
            !outcome.stderr.contains(obeyed),
            "{line}: {:?}",
            outcome.stderr
        );
    }
}
