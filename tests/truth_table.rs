//! docs/truth-table.md is what comes out: it is generated from the matrix of the simulation.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test --test truth_table` writes it anew; then look at what changed.

use std::process::Command;

use picklock_harness::record::MatrixRecord;
use picklock_reports::matrix::{replaced_between, truth_table};

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

#[test]
fn the_truth_table_is_what_comes_out() {
    let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args(["matrix", "--backend", "sim", "--json", "--quiet"])
        .output()
        .expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let record: MatrixRecord = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no document: {error}\n{errors}"));
    assert!(record.cells.len() >= 20, "too few cells: {errors}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/truth-table.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let wanted = replaced_between(&page, &truth_table(&record))
        .expect("docs/truth-table.md has both markers");
    if page == wanted {
        return;
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, wanted).expect("the page can be written");
        return;
    }
    let differs = page
        .lines()
        .zip(wanted.lines())
        .find(|(old, new)| old != new);
    panic!(
        "docs/truth-table.md is not up to date: `{UPDATE}=1 cargo test --test truth_table` writes it anew, then look at what changed. The first difference: {differs:#?}"
    );
}
