//! The worked example of docs/extending.md: which block of it belongs into which file.

/// The page, at the time when the test was compiled.
const PAGE: &str = include_str!("../../docs/extending.md");

/// One thing that the example adds: one new file, and one line in a table.
pub struct Addition {
    /// The new file, relative to the workspace.
    pub file: &'static str,
    /// The file of the table.
    pub table: &'static str,
    /// How the row begins after which the line is inserted.
    pub after: &'static str,
}

/// Everything that the example adds.
pub const ADDITIONS: [Addition; 8] = [
    Addition {
        file: "impls/src/locks/resuming.rs",
        table: "impls/src/lib.rs",
        after: "replicated,",
    },
    Addition {
        file: "scenarios/src/fault/migrate_client.rs",
        table: "scenarios/src/fault/kind.rs",
        after: "ClockSkew: ",
    },
    Addition {
        file: "scenarios/src/fault/migrate_client.rs",
        table: "scenarios/src/fault/mod.rs",
        after: "mod late_write;",
    },
    Addition {
        file: "harness/verdicts/src/check/properties/waiting.rs",
        table: "scenarios/src/property.rs",
        after: "progress: ",
    },
    Addition {
        file: "harness/verdicts/src/check/properties/waiting.rs",
        table: "harness/verdicts/src/check/properties/mod.rs",
        after: "pub(super) mod resource;",
    },
    Addition {
        file: "scenarios/catalog/lost-reply-long-work.toml",
        table: "scenarios/src/catalog.rs",
        after: "\"lost-reply\",",
    },
    Addition {
        file: "reports/src/csv.rs",
        table: "reports/src/lib.rs",
        after: "mod costs;",
    },
    Addition {
        file: "reports/src/csv.rs",
        table: "reports/src/formats.rs",
        after: "crate::trace::FORMAT,",
    },
];

/// The block that follows the line of the page which ends with the name of this file.
pub fn block(file: &str) -> &'static str {
    let named = format!("`{file}`:\n\n```");
    let (_, after) = PAGE
        .split_once(&named)
        .unwrap_or_else(|| panic!("docs/extending.md has no block for {file}"));
    let (_, block) = after.split_once('\n').expect("a block has a first line");
    let (block, _) = block.split_once("```").expect("a block has an end");
    block
}

/// The table with the line of the page in it, indented like the other rows.
pub fn with_line(addition: &Addition, table: &str) -> String {
    let line = block(addition.table);
    assert_eq!(line.lines().count(), 1, "{}: one line", addition.table);
    let rows = table
        .lines()
        .filter(|row| row.trim_start().starts_with(addition.after));
    let rows: Vec<&str> = rows.collect();
    let [row] = rows[..] else {
        panic!("{}: one row begins so: {rows:?}", addition.table);
    };
    let indent = &row[..row.len() - row.trim_start().len()];
    table.replacen(&format!("{row}\n"), &format!("{row}\n{indent}{line}"), 1)
}

#[test]
fn every_line_of_the_page_fits_its_table() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for addition in &ADDITIONS {
        assert!(!block(addition.file).is_empty());
        assert!(!root.join(addition.file).exists(), "{}", addition.file);
        let table = std::fs::read_to_string(root.join(addition.table)).expect("the table is there");
        let with_line = with_line(addition, &table);
        assert_eq!(with_line.lines().count(), table.lines().count() + 1);
    }
}
