//! The generated part of docs/truth-table.md: Markdown, between two markers.

use std::fmt::Write;

use picklock_verdicts::check::{Property, Status, Verdict};
use picklock_verdicts::record::{Cell, MatrixRecord};

/// Before the generated part.
pub const BEGIN: &str = "<!-- generated: begin -->";

/// After it.
pub const END: &str = "<!-- generated: end -->";

/// The page with the text between the markers replaced; `None` if it does not have both markers.
pub fn replaced_between(page: &str, generated: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{generated}\n{END}{after}"))
}

/// The matrix as Markdown: one table with a mark for each cell, then the results of each scenario.
/// Locks with equal results share a row. Intended for one backend.
pub fn truth_table(record: &MatrixRecord) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    overview(&mut text, record).unwrap_or_default();
    for scenario in once(record.cells.iter().map(|cell| cell.scenario.as_str())) {
        details(&mut text, record, scenario).unwrap_or_default();
    }
    text
}

fn overview(text: &mut String, record: &MatrixRecord) -> std::fmt::Result {
    let locks = once(record.cells.iter().map(|cell| cell.lock.name.as_str()));
    let names: Vec<String> = locks.iter().map(|name| format!("`{name}`")).collect();
    writeln!(text, "| scenario | {} |", names.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(locks.len()))?;
    for scenario in once(record.cells.iter().map(|cell| cell.scenario.as_str())) {
        write!(text, "| [`{scenario}`](#{scenario}) |")?;
        for lock in &locks {
            let mut cells = record.cells.iter();
            let cell = cells.find(|c| c.scenario == scenario && c.lock.name == *lock);
            write!(text, " {} |", cell.map_or("", short))?;
        }
        writeln!(text)?;
    }
    writeln!(
        text,
        "\n{} held · {} something was violated, as the scenario expects · ‼ not as it expects · {} could not be judged",
        Status::Held.sign(),
        Status::Violated.sign(),
        Status::Unknown.sign()
    )
}

fn short(cell: &Cell) -> &'static str {
    let any = |status| cell.verdicts.values().any(|v| v.status == status);
    if cell.error.is_some() || cell.is_surprising() {
        "‼"
    } else if any(Status::Violated) {
        Status::Violated.sign()
    } else if any(Status::Unknown) {
        Status::Unknown.sign()
    } else {
        Status::Held.sign()
    }
}

fn details(text: &mut String, record: &MatrixRecord, scenario: &str) -> std::fmt::Result {
    let of_scenario = record.cells.iter().filter(|cell| cell.scenario == scenario);
    let cells: Vec<&Cell> = of_scenario.collect();
    writeln!(text, "\n### {scenario}\n")?;
    if let Some(first) = cells.first() {
        writeln!(text, "{}\n", escaped(&first.summary))?;
    }
    let words = Property::ALL.map(Property::word);
    writeln!(text, "| lock | {} |", words.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(words.len()))?;
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for cell in cells {
        let row = row(cell);
        let name = format!("`{}`", escaped(&cell.lock.name));
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, names)) => names.push(name),
            None => rows.push((row, vec![name])),
        }
    }
    for (row, names) in rows {
        writeln!(text, "| {} |{row}", names.join(", "))?;
    }
    Ok(())
}

fn row(cell: &Cell) -> String {
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        return format!(" could not be run: {} |", escaped(first));
    }
    let mut row = String::new();
    for property in Property::ALL {
        let verdict = cell.verdicts.get(&property).map(in_words);
        let mut words = verdict.unwrap_or_default();
        let surprise = cell.surprises.iter().find(|one| one.property == property);
        if let Some(surprise) = surprise {
            words.push_str(&format!(" ‼ expected {}", escaped(&surprise.expected)));
        }
        row.push_str(&format!(" {words} |"));
    }
    row
}

fn in_words(verdict: &Verdict) -> String {
    match (verdict.status, verdict.cause) {
        (Status::Violated, Some(cause)) => format!("**violated**: {cause}"),
        (Status::Violated, None) => "**violated**".to_owned(),
        (Status::NotApplicable, _) => Status::NotApplicable.sign().to_owned(),
        (status, _) => status.word().to_owned(),
    }
}

/// Escapes text for a cell of a Markdown table.
fn escaped(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    let mut escaped = String::new();
    for c in line.chars() {
        if "|<>*_`[]\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_around_the_markers_stays() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let once = replaced_between(&page, "new\n").unwrap();
        assert_eq!(once, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replaced_between(&once, "new\n").unwrap(), once);
        assert_eq!(replaced_between("no markers", "new"), None);
    }
}
