//! The end of the page: the cells that differ between servers, and the cells that were not compared.

use std::fmt::{Result, Write};

use picklock_verdicts::check::Property;
use picklock_verdicts::record::Cell;

use super::pairing::{Column, Found, Row, lock_name, scenario_name, server_names};
use super::results::{Similarity, compare, describe};
use picklock_reports::markdown::quoted::prose;

/// A line of a table. A line without a property is about the whole cell.
type Line<'a> = (&'a Row<'a>, Option<Property>);

/// Writes the differing cells, each property with its results, or a sentence that no cell differs.
pub fn differing(text: &mut String, columns: &[Column], rows: &[Row]) -> Result {
    writeln!(text, "\n### Where the servers differ\n")?;
    let lines: Vec<Line> = rows
        .iter()
        .flat_map(|row| properties(row, Similarity::Differs).map(move |one| (row, Some(one))))
        .collect();
    if lines.is_empty() {
        writeln!(
            text,
            "No cell that was compared differs between the servers. Properties that the scenario leaves open \
             (`any`) are not compared: either result is possible on any server."
        )
    } else {
        table(text, columns, rows, &lines)
    }
}

/// Writes the cells that a matrix lacks and the cells that were not run or were inconclusive on a server. Writes
/// nothing if there are none.
pub fn not_compared(text: &mut String, columns: &[Column], rows: &[Row]) -> Result {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let is_not_run = row.cells().any(|cell| cell.error.is_some());
        let is_absent = row.cells().count() < columns.len();
        if is_not_run || is_absent {
            lines.push((row, None))
        } else {
            let unclear = properties(row, Similarity::Unclear);
            lines.extend(unclear.map(|property| (row, Some(property))));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n### What could not be compared on all servers\n")?;
    table(text, columns, rows, &lines)
}

/// Returns the properties whose worst comparison between any two servers is `wanted`.
fn properties<'a>(row: &'a Row<'a>, wanted: Similarity) -> impl Iterator<Item = Property> + 'a {
    let cells: Vec<&Cell> = row.cells().collect();
    let worst = move |property: Property| {
        let pairs = cells.iter().enumerate().flat_map(|(index, one)| {
            let after = cells[index + 1..].iter();
            after.map(move |other| compare(one, other, property))
        });
        pairs.max()
    };
    let all = Property::ALL.into_iter();
    all.filter(move |property| worst(*property) == Some(wanted))
}

fn table(text: &mut String, columns: &[Column], rows: &[Row], lines: &[Line]) -> Result {
    let servers = server_names(columns);
    writeln!(text, "| lock | scenario | property | {servers} |")?;
    writeln!(text, "|---|---|---|{}", "---|".repeat(columns.len()))?;
    for (row, property) in lines {
        let lock = lock_name(row.cell);
        let scenario = scenario_name(row.cell, rows);
        let about = property.map_or("all", Property::as_str);
        write!(text, "| {lock} | {scenario} | {about} |")?;
        for found in &row.found {
            write!(text, " {} |", in_cell(found, *property))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn in_cell(found: &Found, property: Option<Property>) -> String {
    let cell = match found {
        Found::Cell(cell) => cell,
        Found::OtherContent => return "another content of the scenario".to_owned(),
        Found::Missing => return "no such cell".to_owned(),
    };
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        return format!("could not be run: {}", prose(first));
    }
    let Some(property) = property else {
        return "was run".to_owned();
    };
    let mut words = describe(cell, property);
    let mut mismatches = cell.mismatches.iter();
    if let Some(mismatch) = mismatches.find(|one| one.property == property) {
        words.push_str(&format!(
            " ‼ expected {}",
            prose(&mismatch.expected.to_string())
        ));
    }
    words
}
