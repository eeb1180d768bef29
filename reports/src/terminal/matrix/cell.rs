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
    if CellOutcome::from_cell(cell) == CellOutcome::NotRun {
        ("!", BAD)
    } else if cell.is_unexpected() {
        (Status::Violated.sign(), BAD)
    } else if !cell.mismatches.is_empty() {
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

/// The p99 of acquire, if anything was acquired.
pub(super) fn p99(cell: &Cell) -> Option<String> {
    let acquire = cell.latency.get("acquire").filter(|one| one.count > 0)?;
    Some(format!("p99 {}", span_us(acquire.p99_us)))
}

/// Sign and letters, then the causes, then the latency.
pub(super) fn block(cell: &Cell) -> Vec<Line> {
    let (sign, style) = sign(cell);
    if CellOutcome::from_cell(cell) == CellOutcome::NotRun {
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
    let is_held = violated.is_empty() && unknown.is_empty();
    let unknown = match unknown.is_empty() || sign == Status::Unknown.sign() {
        // The sign already says so.
        true => unknown,
        // After another sign, letters alone would read as violations.
        false => format!("?{unknown}"),
    };
    let parts = [
        sign,
        &violated,
        &unknown,
        if is_held { "held" } else { "" },
        match (cell.is_unexpected(), cell.is_bound()) {
            (true, _) => "mismatch",
            (false, true) => "",
            (false, false) => "open",
        },
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    let mut lines = vec![Line::new().styled(style, &parts.join(" "))];
    let causes = cell.verdicts.values().filter_map(|verdict| verdict.cause);
    let causes = distinct(causes.map(|cause| cause.as_str())).into_iter();
    lines.extend(causes.map(|cause| Line::new().plain(cause)));
    lines.extend(p99(cell).map(|p99| Line::new().styled(FAINT, &p99)));
    lines
}
