//! Formats one cell as a few short lines.

use anstyle::Style;
use picklock_verdicts::check::{Property, Status, describe};
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, FAINT, Line, STRONG, WARN, style};
use crate::cell_status::overall;
use crate::matrix::{CellOutcome, NOT_APPLICABLE, distinct};
use crate::units::span_us;

/// Returns the sign of the whole cell and its style. Expected results are not emphasised.
pub(super) fn sign(cell: &Cell) -> (&'static str, Style) {
    match CellOutcome::from_cell(cell) {
        CellOutcome::NotRun => ("!", BAD),
        CellOutcome::Unexpected => (Status::Violated.sign(), BAD),
        CellOutcome::Inconclusive => (Status::Unknown.sign(), WARN),
        _ => match overall(&cell.verdicts) {
            Status::Violated => (Status::Violated.sign(), STRONG),
            status => (status.sign(), style(status)),
        },
    }
}

/// Returns the properties with this status, in reading order.
pub(super) fn with(cell: &Cell, status: Status) -> impl Iterator<Item = Property> {
    let verdicts = cell.verdicts.iter();
    verdicts
        .filter(move |(_, verdict)| verdict.status == status)
        .map(|(property, _)| *property)
}

/// Returns the p99 of acquire, if any attempt was granted.
pub(super) fn p99(cell: &Cell) -> Option<String> {
    let acquire = cell.latency.get("acquire").filter(|one| one.count > 0)?;
    Some(format!("p99 {}", span_us(acquire.p99_us)))
}

/// Returns sign and letters, then the causes, then the latency.
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
    let unknown = if unknown.is_empty() || sign == Status::Unknown.sign() {
        // The sign already marks the letters as inconclusive.
        unknown
    } else {
        // After another sign, the letters alone would look like violations.
        format!("?{unknown}")
    };
    let parts = [
        sign,
        &violated,
        &unknown,
        if is_held { "held" } else { "" },
        match (cell.is_unexpected(), cell.is_bound()) {
            (true, _) => "unexpected",
            (false, true) => "",
            (false, false) => "no expectation",
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
