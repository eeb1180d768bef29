//! One cell, as a few short lines.

use anstyle::Style;
use picklock_verdicts::check::{Property, Status, describe};
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, FAINT, GOOD, Line, STRONG, WARN};
use crate::matrix::{CellOutcome, NOT_APPLICABLE, distinct};
use crate::units::span_us;

/// The sign of the whole cell and its style. Expected results are not emphasised.
pub(super) fn sign(cell: &Cell) -> (&'static str, Style) {
    let any = |status| cell.verdicts.values().any(|v| v.status == status);
    if CellOutcome::of(cell) == CellOutcome::NotRun {
        ("!", BAD)
    } else if cell.is_surprising() {
        (Status::Violated.sign(), BAD)
    } else if !cell.surprises.is_empty() {
        (Status::Unknown.sign(), WARN)
    } else if any(Status::Violated) {
        (Status::Violated.sign(), STRONG)
    } else if any(Status::Unknown) {
        (Status::Unknown.sign(), WARN)
    } else if cell.inapplicable().is_some() {
        (Status::NotApplicable.sign(), FAINT)
    } else {
        (Status::Held.sign(), GOOD)
    }
}

/// Properties with this status, in reading order.
pub(super) fn with(cell: &Cell, status: Status) -> impl Iterator<Item = Property> {
    let verdicts = cell.verdicts.iter();
    verdicts
        .filter(move |(_, verdict)| verdict.status == status)
        .map(|(property, _)| *property)
}

/// The causes of the violations, each once.
pub(super) fn causes(cell: &Cell) -> Vec<&'static str> {
    distinct(
        cell.verdicts
            .values()
            .filter_map(|v| v.cause.map(|c| c.word())),
    )
}

/// The p99 of acquire, if anything was acquired.
pub(super) fn p99(cell: &Cell) -> Option<String> {
    let acquire = cell.latency.get("acquire").filter(|one| one.count > 0)?;
    Some(format!("p99 {}", span_us(acquire.p99_us)))
}

/// Sign and letters, then the causes, then the latency.
pub(super) fn block(cell: &Cell) -> Vec<Line> {
    let (sign, style) = sign(cell);
    if CellOutcome::of(cell) == CellOutcome::NotRun {
        return vec![Line::new().styled(style, "! not run")];
    }
    if cell.inapplicable().is_some() {
        return vec![Line::new().styled(style, &format!("{sign} {NOT_APPLICABLE}"))];
    }
    let letters = |status| {
        let letters = with(cell, status).map(|property| describe(property).letter);
        letters.collect::<String>()
    };
    let (violated, unknown) = (letters(Status::Violated), letters(Status::Unknown));
    let mut text = sign.to_owned();
    for part in [
        violated.clone(),
        match (sign, unknown.is_empty()) {
            (_, true) => String::new(),
            // The sign already says so.
            (sign, false) if sign == Status::Unknown.sign() => unknown.clone(),
            // After another sign, letters alone would read as violations.
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
