//! The worked example of docs/extending.md: the file of each code block.

/// The page, as of the compilation of the test.
const PAGE: &str = include_str!("../../docs/extending.md");

/// One addition of the example: a new file, and a line in a table.
pub struct Addition {
    /// The new file, relative to the workspace.
    pub file: &'static str,
    /// The file that contains the table.
    pub table: &'static str,
    /// Prefix of the row after which the line is inserted.
    pub after: &'static str,
}

/// Everything that the example adds.
pub const ADDITIONS: [Addition; 11] = [
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
        file: "scenarios/src/fault/migrate_client.rs",
        table: "docs/scenarios.md",
        after: "| `clock-skew`",
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
    Addition {
        file: "reports/src/csv.rs",
        table: "ARCHITECTURE.md",
        after: "| `document_files`",
    },
    Addition {
        file: "reports/src/csv.rs",
        table: "docs/reports.md",
        after: "| `trace`",
    },
];

/// Returns the code block that follows the page's line that ends with this file name.
pub fn block(file: &str) -> &'static str {
    let named = format!("`{file}`:\n\n```");
    let (_, after) = PAGE
        .split_once(&named)
        .unwrap_or_else(|| panic!("docs/extending.md has no block for {file}"));
    let (_, block) = after.split_once('\n').expect("a block has a first line");
    let (block, _) = block.split_once("```").expect("a block has an end");
    block
}

/// Returns the table with the page's line inserted, indented like the other rows.
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
