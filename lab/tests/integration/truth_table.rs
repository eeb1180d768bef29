//! Generates lab/pages/truth-table.md from simulated runs, and checks that it is up to date.
//!
//! `PICKLOCK_UPDATE_DOCS=1 cargo test -p picklock-lab truth_table` rewrites the page; then review the diff.

use std::collections::BTreeSet;

use picklock_lab::generated_part::replaced_between;
use picklock_lab::truth_table::{Cell, cells, truth_table};

const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

#[test]
fn the_truth_table_is_what_comes_out() {
    let cells = cells();
    assert!(cells.len() >= 20, "too few cells");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pages/truth-table.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    proofs_are_from_histories(&page, &cells);
    let wanted = replaced_between(&page, &truth_table(&cells))
        .expect("lab/pages/truth-table.md has both markers");
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
        "lab/pages/truth-table.md is not up to date: `{UPDATE}=1 cargo test -p picklock-lab truth_table` writes it anew, then look at what changed. The first difference: {differs:#?}"
    );
}

/// Checks that the stories that the prose quotes as proof still occur.
fn proofs_are_from_histories(page: &str, cells: &[Cell]) {
    let verdicts = cells.iter().flat_map(|cell| cell.verdicts.values());
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
            "lab/pages/truth-table.md: no story tells `{line}`"
        );
    }
}
