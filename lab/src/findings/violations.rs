//! The violations of a lock, scenario by scenario: how often, why, how to interpret them, and how to reproduce them.

use std::fmt::Write;

use picklock_verdicts::check::{Cause, Property, Status};
use picklock_verdicts::record::Cell;

use super::tally::Seen;
use crate::library::{Kind, Library, Quotation, Reading};
use picklock_reports::cell_status;
use picklock_reports::markdown::quoted::{block, code, prose};

/// A violation of a property in a cell, for one cause.
pub struct Violation {
    property: Property,
    /// The cause, or `None` if no run names one.
    pub cause: Option<Cause>,
    seen: Seen,
}

/// Returns `true` if a property was violated in any run of the cell.
pub fn is_violated(cell: &Cell) -> bool {
    cell.tally.values().any(|tally| tally.violated > 0)
}

/// Writes the section of a cell with violations.
pub fn section(text: &mut String, library: &Library, cell: &Cell) -> std::fmt::Result {
    writeln!(text, "#### {}\n", code(&cell.scenario))?;
    writeln!(text, "{}\n", prose(&cell.summary))?;
    for group in grouped(library, cell) {
        let names: Vec<String> = group.1.iter().map(words).collect();
        writeln!(
            text,
            "- {}. {}",
            names.join("; "),
            read_as(cell, group.0, &group.1)
        )?;
    }
    writeln!(text, "\n{}\n", key_history(cell))?;
    if let Some(story) = story(cell) {
        writeln!(text, "{}\n", block(story))?;
    }
    writeln!(
        text,
        "To reproduce it:\n\n{}\n",
        block(std::slice::from_ref(&cell.reproduce))
    )
}

/// Returns the violations of a cell, one for each property and cause.
fn violations(cell: &Cell) -> Vec<Violation> {
    let mut found = Vec::new();
    for (property, tally) in &cell.tally {
        let causes = Cause::ALL.into_iter();
        let named = causes.filter(|cause| tally.causes.contains_key(cause));
        let named: Vec<Option<Cause>> = named.map(Some).collect();
        let causes = if named.is_empty() && tally.violated > 0 {
            vec![None]
        } else {
            named
        };
        found.extend(causes.into_iter().map(|cause| Violation {
            property: *property,
            cause,
            seen: Seen::of(cell, *property, cause),
        }));
    }
    found
}

/// Groups the violations of a cell that have the same interpretation.
pub fn grouped<'a>(
    library: &'a Library,
    cell: &Cell,
) -> Vec<(Option<&'a Reading>, Vec<Violation>)> {
    let mut groups: Vec<(Option<&Reading>, Vec<Violation>)> = Vec::new();
    let (lock, scenario) = (&cell.lock.name, &cell.scenario);
    for violation in violations(cell) {
        let reading = library.reading(lock, scenario, violation.property, violation.cause);
        match groups.iter_mut().find(|(known, _)| *known == reading) {
            Some((_, all)) => all.push(violation),
            None => groups.push((reading, vec![violation])),
        }
    }
    groups
}

fn words(violation: &Violation) -> String {
    let cause = violation
        .cause
        .map_or(String::new(), |cause| format!(" ({cause})"));
    let often = violation.seen.describe();
    let mut text = format!("**{}**{cause} in {often}", violation.property);
    if !violation.seen.is_repeated() {
        text.push_str(", which is less than nine of ten: it does not always occur");
    }
    text
}

/// Returns `true` if the key history was confirmed and names a cause for each violation.
pub fn is_proven(cell: &Cell, violations: &[Violation]) -> bool {
    let is_named = |one: &Violation| one.cause.is_some_and(|cause| cause != Cause::Undetermined);
    has_key_history(cell) && violations.iter().all(is_named)
}

fn read_as(cell: &Cell, reading: Option<&Reading>, violations: &[Violation]) -> String {
    let Some(reading) = reading else {
        return "This violation has not been classified yet.".to_owned();
    };
    let word = match reading.kind {
        Kind::Limit => "A known limit",
        Kind::Defect if is_proven(cell, violations) => "A defect",
        // Without a key history, no library is accused.
        Kind::Defect => "Perhaps a defect, but the key history does not name the cause",
    };
    let mut text = format!("*{word}*: {}", prose(&reading.because));
    if let Some(documented) = &reading.documented {
        text.push_str(&format!(" {}", quoted(documented)));
    }
    text
}

/// Formats a quotation with its source.
pub fn quoted(words: &Quotation) -> String {
    format!("“{}” ({})", prose(&words.quote), prose(&words.source))
}

/// Returns `true` if the key history was confirmed in every run.
fn has_key_history(cell: &Cell) -> bool {
    cell.key_history.is_some_and(|key_history| {
        key_history.runs > 0 && key_history.confirmed_runs == key_history.runs
    })
}

fn key_history(cell: &Cell) -> String {
    match cell.key_history {
        Some(key_history) => format!(
            "Key history: confirmed whole in {} of {} runs.",
            key_history.confirmed_runs, key_history.runs
        ),
        None => "Key history: none.".to_owned(),
    }
}

/// Returns the story of the shown run. The story of a `lease` violation takes precedence, because it names the party
/// at fault.
fn story(cell: &Cell) -> Option<&[String]> {
    let is_told = |property: &Property| {
        let verdict = cell.verdicts.get(property);
        verdict.is_some_and(|verdict| verdict.status == Status::Violated)
    };
    let first = [Property::Lease]
        .into_iter()
        .chain(Property::ALL)
        .find(is_told)?;
    Some(cell_status::story(cell, first))
}
