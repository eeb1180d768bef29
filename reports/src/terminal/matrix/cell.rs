//! One cell, as a few short lines.

use anstyle::Style;
use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::Cell;

use super::super::line::Line;
use super::super::paint::{BAD, FAINT, GOOD, STRONG, WARN};
use crate::units::span_us;

/// The letter that stands for a property.
pub(super) fn letter(property: Property) -> char {
    match property {
        Property::Exclusion => 'E',
        Property::Lease => 'L',
        Property::Resource => 'R',
        Property::Ownership => 'O',
        Property::Fencing => 'F',
        Property::Progress => 'P',
    }
}

/// The mark of the whole cell, and its style: what is as expected is quiet.
pub(super) fn mark(cell: &Cell) -> (&'static str, Style) {
    let any = |status| cell.verdicts.values().any(|v| v.status == status);
    if cell.error.is_some() {
        ("!", BAD)
    } else if cell.is_surprising() {
        ("✘", BAD)
    } else if !cell.surprises.is_empty() {
        ("?", WARN)
    } else if any(Status::Violated) {
        ("✘", STRONG)
    } else if any(Status::Unknown) {
        ("?", WARN)
    } else {
        ("✔", GOOD)
    }
}

/// Properties that came out so, in reading order.
pub(super) fn with(cell: &Cell, status: Status) -> impl Iterator<Item = Property> {
    let verdicts = cell.verdicts.iter();
    verdicts
        .filter(move |(_, verdict)| verdict.status == status)
        .map(|(property, _)| *property)
}

/// The causes of what was violated, each once.
pub(super) fn causes(cell: &Cell) -> Vec<&'static str> {
    super::once(
        cell.verdicts
            .values()
            .filter_map(|v| v.cause.map(|c| c.word())),
    )
}

/// The p99 of acquiring, where anything was acquired.
pub(super) fn p99(cell: &Cell) -> Option<String> {
    let acquire = cell.latency.get("acquire").filter(|one| one.count > 0)?;
    Some(format!("p99 {}", span_us(acquire.p99_us)))
}

/// Mark and letters, then the causes, then the latency.
pub(super) fn block(cell: &Cell) -> Vec<Line> {
    let (sign, style) = mark(cell);
    if cell.error.is_some() {
        return vec![Line::new().styled(style, "! not run")];
    }
    let letters = |status| with(cell, status).map(letter).collect::<String>();
    let (violated, unknown) = (letters(Status::Violated), letters(Status::Unknown));
    let mut text = sign.to_owned();
    for part in [
        violated.clone(),
        match (sign, unknown.is_empty()) {
            (_, true) => String::new(),
            // The mark says it already.
            ("?", false) => unknown.clone(),
            // After another mark bare letters would read as what was violated.
            (_, false) => format!("?{unknown}"),
        },
        match (violated.is_empty(), unknown.is_empty()) {
            (true, true) => "held".to_owned(),
            _ => String::new(),
        },
        match (cell.is_surprising(), cell.is_bound()) {
            (true, _) => "surprise".to_owned(),
            (false, true) => String::new(),
            (false, false) => "open".to_owned(),
        },
    ] {
        if !part.is_empty() {
            text.push(' ');
            text.push_str(&part);
        }
    }
    let mut lines = vec![Line::new().styled(style, &text)];
    lines.extend(
        causes(cell)
            .into_iter()
            .map(|cause| Line::new().plain(cause)),
    );
    lines.extend(p99(cell).map(|p99| Line::new().styled(FAINT, &p99)));
    lines
}
