//! `picklock-lab`, from the command line to the page.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use picklock_verdicts::record::MatrixRecord;

use super::cell;
use super::servers::on;

fn lab(home: &Path, line: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_picklock-lab"));
    let ran = process.args(line.split(' ')).current_dir(home).output();
    ran.unwrap()
}

/// Writes a server's matrix to `NAME.json`.
fn matrix(home: &Path, name: &str, version: &str) {
    let cells = vec![cell("set-nx-px", "calm", &[])];
    let matrix: MatrixRecord = on(name, version, cells).matrix;
    let text = serde_json::to_string(&matrix).unwrap();
    fs::write(home.join(format!("{name}.json")), text).unwrap();
}

#[test]
fn page_is_replaced_between_its_markers() {
    let home = tempfile::tempdir().unwrap();
    matrix(home.path(), "redis", "7.0.15");
    matrix(home.path(), "valkey", "9.1.2");
    let page = home.path().join("page.md");
    fs::write(
        &page,
        "# Before\n\n<!-- generated: begin -->\nold\n<!-- generated: end -->\n\nAfter.\n",
    )
    .unwrap();
    let ran = lab(home.path(), "servers redis.json valkey.json --page page.md");
    assert!(ran.status.success(), "{ran:?}");
    let written = fs::read_to_string(&page).unwrap();
    let printed = lab(home.path(), "servers redis.json valkey.json").stdout;
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("| redis | 7.0.15 | sim |"), "{printed}");
    assert_eq!(
        written,
        format!(
            "# Before\n\n<!-- generated: begin -->\n\n{printed}\n<!-- generated: end -->\n\nAfter.\n"
        )
    );
}

#[test]
fn unusable_input_of_a_page_is_rejected_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    matrix(home.path(), "redis", "7.0.15");
    fs::write(home.path().join("empty.md"), "no markers").unwrap();
    matrix(home.path(), "valkey", "9.1.2");
    let cases = [
        ("servers redis.json", "there is only one matrix"),
        ("servers redis.json redis.json", "both ran on redis 7.0.15"),
        ("servers redis.json none.json", "none.json: No such file"),
        ("servers redis.json empty.md", "empty.md: not JSON"),
        (
            "servers redis.json valkey.json --page empty.md",
            "empty.md does not have both markers",
        ),
        ("findings redis.json", "findings: no library: name its"),
        ("inputs pack what here", "no such target: what"),
    ];
    for (line, reason) in cases {
        let ran = lab(home.path(), line);
        assert_eq!(ran.status.code(), Some(2), "{line}: {ran:?}");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains(reason), "{line}: {said}");
    }
}
