//! What the page calls servers, locks and scenarios. All of it is escaped.

use std::collections::BTreeSet;

use picklock_verdicts::record::Cell;

use super::pairing::{Column, Row};
use picklock_reports::markdown::quoted::{code, prose};

/// The server of a column: `valkey 9.1.2`.
pub fn server(column: &Column) -> String {
    prose(&column.server.to_string())
}

/// The servers as the cells of a table's head.
pub fn servers(columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(server).collect();
    names.join(" | ")
}

/// The lock of a cell, with its options.
pub fn lock(cell: &Cell) -> String {
    let mut name = code(&cell.lock.name);
    for (key, value) in &cell.options {
        name.push_str(&format!(" {}", code(&format!("{key}={value}"))));
    }
    name
}

/// The scenario of a cell, with its backend if there are several.
pub fn scenario(cell: &Cell, rows: &[Row]) -> String {
    let backends: BTreeSet<&str> = rows.iter().map(|row| row.cell.backend.word()).collect();
    let name = code(&cell.scenario);
    match backends.len() {
        0 | 1 => name,
        _ => format!("{name} ({})", cell.backend.word()),
    }
}
