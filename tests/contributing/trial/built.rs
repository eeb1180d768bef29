//! The crate of docs/trial.md, compiled and tested. All that it depends on is compiled once more, because crates
//! outside the workspace have other features, so the quick tier leaves it out.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::workspace::ROOT;

/// The page, at the time when the test was compiled.
const PAGE: &str = include_str!("../../../docs/trial.md");

/// The blocks of the page in that language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let begins = PAGE.split(&opening).skip(1);
    begins
        .filter_map(|block| block.split("```").next())
        .collect()
}

/// The crate `shop` of the page, with the harness of this workspace.
fn write_crate(root: &Path) {
    let [lock, test, on_redis] = blocks("rust")[..] else {
        panic!("the page has three blocks of Rust");
    };
    let [_, wanted] = blocks("toml")[..] else {
        panic!("the page has two blocks of TOML");
    };
    let harness = format!("picklock-harness = {{ path = \"{ROOT}/harness\",");
    let wanted = wanted.replace("picklock-harness = { version = \"0.1\",", &harness);
    assert!(wanted.contains(ROOT), "{wanted}");
    let manifest = format!(
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nredis = {{ version = \"1\", default-features = false, features = [\"tokio-comp\"] }}\n\
         {wanted}tokio = {{ version = \"1\", features = [\"time\"] }}\n\
         [profile.dev]\ndebug = false\n"
    );
    let uses = "use picklock_harness::lock_factory::LockFactory;\n\
                use picklock_harness::trial::{WorkerEntry, serve_worker};\n";
    for folder in ["src", "tests"] {
        fs::create_dir(root.join(folder)).expect("a new directory");
    }
    let files = [
        ("Cargo.toml", &*manifest),
        ("src/lib.rs", lock),
        ("tests/stock_lock.rs", &format!("{uses}{test}{on_redis}")),
    ];
    for (path, text) in files {
        fs::write(root.join(path), text).expect("a new file");
    }
    fs::copy(Path::new(ROOT).join("Cargo.lock"), root.join("Cargo.lock")).expect("a new file");
}

#[test]
fn crate_outside_the_workspace_tests_its_lock() {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = tempfile::Builder::new()
        .prefix("trial-")
        .tempdir_in(tmp)
        .expect("a directory");
    write_crate(root.path());
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["test", "--offline", "--quiet", "--test", "stock_lock"])
        .current_dir(root.path())
        // It stays, so that the next time is quick.
        .env("CARGO_TARGET_DIR", tmp.join("trial-target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let output = cargo.output().expect("cargo starts");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("text"));
    let said = said.concat();
    // One test fails, as the page says.
    assert!(said.contains("3 passed; 1 failed"), "{said}");
    let [shown] = blocks("text")[..] else {
        panic!("the page has one block of text");
    };
    let mut lines = shown.lines().filter(|line| !line.contains("/home/me"));
    let missing = lines.find(|line| *line != "..." && !said.contains(line));
    assert_eq!(missing, None, "{said}");
    the_kept_run_can_be_read(&said);
}

fn the_kept_run_can_be_read(said: &str) {
    let (_, after) = said
        .split_once("The run is kept in ")
        .expect("a failure says so");
    let directory = Path::new(after.lines().next().unwrap_or_default());
    for file in ["run.json", "history.jsonl", "custody.jsonl", "wire.jsonl"] {
        assert!(directory.join(file).is_file(), "{}", directory.display());
    }
    let picklock = |arguments: &[&str]| {
        let mut picklock = Command::new(env!("CARGO_BIN_EXE_picklock"));
        let output = picklock.args(arguments).current_dir(directory).output();
        output.expect("the binary starts")
    };
    let report = picklock(&["report", ".", "--format", "html", "--out", "reports"]);
    assert_eq!(report.status.code(), Some(0), "{report:?}");
    let check = picklock(&["check", "history.jsonl"]);
    assert_eq!(check.status.code(), Some(1), "{check:?}");
}
