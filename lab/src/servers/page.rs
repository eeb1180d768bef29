//! The page: the servers, then one line per scenario.

use std::fmt::Write;

use picklock_verdicts::record::Cell;

use super::differences;
use super::pairing::{Column, Row, scenario_name, server_name, server_names};
use super::results::{Similarity, compare_cells};
use picklock_reports::markdown::quoted::prose;
use picklock_reports::matrix::CellOutcome;

/// Writes the comparison, and lists the files that could not be read.
pub fn page(columns: &[Column], rows: &[Row], skipped: &[String]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    servers(&mut text, columns).unwrap_or_default();
    scenarios(&mut text, columns, rows).unwrap_or_default();
    differences::differing(&mut text, columns, rows).unwrap_or_default();
    differences::not_compared(&mut text, columns, rows).unwrap_or_default();
    if !skipped.is_empty() {
        text.push_str("\n### Skipped\n\n");
        let lines = skipped.iter();
        text.extend(lines.map(|reason| format!("- {}\n", prose(reason))));
    }
    text
}

fn servers(text: &mut String, columns: &[Column]) -> std::fmt::Result {
    writeln!(
        text,
        "| server | version | backend | Picklock | cells | as expected | otherwise | not judged | open |"
    )?;
    writeln!(text, "|---|---|---|---|---:|---:|---:|---:|---:|")?;
    for column in columns {
        let mut backends: Vec<&str> = Vec::new();
        for cell in &column.matrix.cells {
            if !backends.contains(&cell.backend.as_str()) {
                backends.push(cell.backend.as_str());
            }
        }
        let counts = Counts::of(column.matrix.cells.iter());
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            prose(&column.server.server),
            prose(&column.server.version),
            backends.join(", "),
            prose(&column.matrix.picklock),
            column.matrix.cells.len(),
            counts.as_expected,
            counts.otherwise,
            counts.not_judged,
            counts.open,
        )?;
    }
    if let Some(first) = columns.first() {
        let (seed, seeds) = (first.matrix.seed, first.matrix.seeds.max(1));
        let last = seed.saturating_add(seeds - 1);
        match seeds {
            1 => writeln!(text, "\nOne run of each cell, with seed {seed}.")?,
            _ => writeln!(
                text,
                "\n{seeds} runs of each cell, with the seeds {seed} to {last}. Servers differ in a cell if \
                 one has a result that the other never has."
            )?,
        }
    }
    for column in columns.iter().filter(|column| column.matrix.interrupted) {
        writeln!(
            text,
            "The matrix of {} was interrupted.",
            server_name(column)
        )?;
    }
    Ok(())
}

/// Number of cells by outcome.
#[derive(Default)]
struct Counts {
    as_expected: usize,
    otherwise: usize,
    not_judged: usize,
    open: usize,
}

impl Counts {
    fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Counts {
        let mut counts = Counts::default();
        for cell in cells {
            let count = match CellOutcome::from_cell(cell) {
                CellOutcome::AsExpected => &mut counts.as_expected,
                CellOutcome::Unexpected => &mut counts.otherwise,
                CellOutcome::Inconclusive | CellOutcome::NotRun | CellOutcome::NotApplicable => {
                    &mut counts.not_judged
                }
                CellOutcome::HeldNoExpectation
                | CellOutcome::ViolatedNoExpectation
                | CellOutcome::InconclusiveNoExpectation => &mut counts.open,
            };
            *count += 1;
        }
        counts
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.otherwise > 0 {
            parts.push(format!("**{} otherwise than expected**", self.otherwise));
        }
        if self.not_judged > 0 {
            parts.push(format!("{} not judged", self.not_judged));
        }
        if parts.is_empty() {
            let word = if self.as_expected > 0 {
                "as expected"
            } else {
                "open"
            };
            parts.push(word.to_owned());
        }
        parts.join(", ")
    }
}

fn scenarios(text: &mut String, columns: &[Column], rows: &[Row]) -> std::fmt::Result {
    writeln!(text, "\n| scenario | {} |", server_names(columns))?;
    writeln!(text, "|---|{}", "---|".repeat(columns.len()))?;
    let mut lines: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let scenario = scenario_name(row.cell, rows);
        match lines.iter_mut().find(|(known, _)| *known == scenario) {
            Some((_, all)) => all.push(row),
            None => lines.push((scenario, vec![row])),
        }
    }
    for (scenario, rows) in lines {
        write!(text, "| {scenario} |")?;
        for index in 0..columns.len() {
            let cells: Vec<&Cell> = rows.iter().filter_map(|r| r.found[index].cell()).collect();
            let expected = Counts::of(cells.iter().copied()).describe();
            match (cells.len(), index) {
                (0, _) => write!(text, " no cell |")?,
                (1, 0) => write!(text, " 1 lock; {expected} |")?,
                (number, 0) => write!(text, " {number} locks; {expected} |")?,
                _ => write!(text, " {}; {expected} |", against_first(&rows, index))?,
            }
        }
        writeln!(text)?;
    }
    Ok(())
}

/// Describes how the cells of a server compare with the first server's.
fn against_first(rows: &[&Row], index: usize) -> String {
    let (mut same, mut differ, mut unclear) = (0, 0, 0);
    for row in rows {
        let pair = (row.found[0].cell(), row.found[index].cell());
        match pair {
            (Some(first), Some(other)) => match compare_cells(first, other) {
                Similarity::Same => same += 1,
                Similarity::Differs => differ += 1,
                Similarity::Unclear => unclear += 1,
            },
            _ => unclear += 1,
        }
    }
    if differ + unclear == 0 {
        return "same".to_owned();
    }
    let mut parts = Vec::new();
    if same > 0 {
        parts.push(format!("{same} same"));
    }
    if differ > 0 {
        parts.push(format!("**{differ} different**"));
    }
    if unclear > 0 {
        parts.push(format!("{unclear} not compared"));
    }
    parts.join(", ")
}
