//! docs/truth-table.md is what comes out: it is generated from the matrix of the simulation.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test --test e2e truth_table` writes it anew; then look at what changed.

use std::collections::BTreeSet;
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
    proofs_are_from_histories(&page, &record);
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
        "docs/truth-table.md is not up to date: `{UPDATE}=1 cargo test --test e2e truth_table` writes it anew, then look at what changed. The first difference: {differs:#?}"
    );
}

/// The lines that the prose shows as proof are still what happens.
fn proofs_are_from_histories(page: &str, record: &MatrixRecord) {
    let verdicts = record.cells.iter().flat_map(|cell| cell.verdicts.values());
    let told: BTreeSet<&str> = verdicts
        .flat_map(|v| &v.story)
        .map(String::as_str)
        .collect();
    let blocks = page.split("```text\n").skip(1);
    let proofs = blocks.filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> = proofs.flat_map(str::lines).collect();
    assert!(lines.len() >= 10, "the proofs were not found");
    for line in lines {
        assert!(
            told.contains(line),
            "docs/truth-table.md: no story tells `{line}`"
        );
    }
}
