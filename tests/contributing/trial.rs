//! The crate of docs/trial.md, as a member of the copied workspace. A separate crate would use different features, and
//! compiling it would take minutes.

use std::fs;
use std::path::Path;

use crate::built::Picklock;
use crate::workspace::Workspace;

/// The page, as of the compilation of the test.
const PAGE: &str = include_str!("../../docs/trial.md");

/// Returns the page's code blocks in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let begins = PAGE.split(&opening).skip(1);
    begins
        .filter_map(|block| block.split("```").next())
        .collect()
}

/// Adds the page's crate `shop`, which depends on the copied harness.
pub fn add_crate(workspace: &Workspace) {
    let [lock, test, on_redis] = blocks("rust")[..] else {
        panic!("the page has three blocks of Rust");
    };
    let [_, wanted] = blocks("toml")[..] else {
        panic!("the page has two blocks of TOML");
    };
    let ours = wanted.replace("version = \"0.1\",", "path = \"../harness\",");
    assert_ne!(ours, wanted, "the second block asks for servers");
    let manifest = format!(
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         redis = {{ version = \"1\", default-features = false, features = [\"tokio-comp\"] }}\n\
         {ours}tokio = {{ version = \"1\", features = [\"time\"] }}\n"
    );
    let uses = "use picklock_harness::lock_factory::LockFactory;\n\
                use picklock_harness::trial::{WorkerEntry, serve_worker};\n";
    for folder in ["shop/src", "shop/tests"] {
        fs::create_dir_all(workspace.path(folder)).expect("a new directory");
    }
    let files = [
        ("Cargo.toml", &*manifest),
        ("src/lib.rs", lock),
        ("tests/stock_lock.rs", &format!("{uses}{test}{on_redis}")),
    ];
    for (path, text) in files {
        fs::write(workspace.path("shop").join(path), text).expect("a new file");
    }
    let root = workspace.path("Cargo.toml");
    let text = fs::read_to_string(&root).expect("a manifest");
    let text = text.replacen("members = [", "members = [\"shop\", ", 1);
    fs::write(root, text).expect("a manifest");
}

/// Checks that the crate's tests behave as the page describes: one fails, and its saved run can be read.
pub fn crate_tests_its_lock(workspace: &Workspace, picklock: &Picklock) {
    // Without the first test, cargo would recompile everything: see `Workspace::build`.
    let tests = ["--test", "none", "--test", "stock_lock"];
    let mut compiler = workspace.cargo_when_idle("test");
    let compiled = compiler.args(tests).arg("--no-run").status();
    assert!(compiled.expect("cargo starts").success());
    let mut cargo = workspace.cargo("test");
    let output = cargo.args(tests).output();
    let output = output.expect("cargo starts");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).expect("text"));
    let said = said.concat();
    assert!(said.contains("3 passed; 1 failed"), "{said}");
    let [shown] = blocks("text")[..] else {
        panic!("the page has one block of text");
    };
    let mut lines = shown.lines().filter(|line| !line.contains("/home/me"));
    let missing = lines.find(|line| *line != "..." && !said.contains(line));
    assert_eq!(missing, None, "{said}");
    let (_, after) = said
        .split_once("The run is saved in ")
        .expect("a failure says so");
    let kept = after.lines().next().unwrap_or_default();
    for file in [
        "run.json",
        "history.jsonl",
        "key-history.jsonl",
        "commands.jsonl",
    ] {
        assert!(Path::new(kept).join(file).is_file(), "{kept}");
    }
    picklock.run(0, &format!("report {kept} --format html --out trial"));
    picklock.run(1, &format!("check {kept}/history.jsonl"));
}
