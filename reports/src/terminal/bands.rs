//! Faults as brackets over the time in which they lasted.

use anstyle::Style;
use picklock_verdicts::history::{History, What};

use super::paint::FAULT;
use super::scale::Scale;

/// More rows than this are not drawn.
const BANDS: usize = 4;

/// One column of one row.
pub(super) type Cell = (char, Style);

/// Writes a label after what ends at `occupied.1`, or else, if it fits, before it.
pub(super) fn write_beside(row: &mut [Cell], occupied: (usize, usize), label: &str, style: Style) {
    let length = label.chars().count();
    let after = occupied.1 + 1;
    let begin = if after + length <= row.len() {
        after
    } else if occupied.0 > length {
        occupied.0 - length - 1
    } else {
        return;
    };
    for (cell, glyph) in row[begin..].iter_mut().zip(label.chars()) {
        *cell = (glyph, style);
    }
}

/// The faults that touch the window, packed into as few rows as they fit.
pub(super) fn bands(history: &History, scale: &Scale) -> Vec<Vec<Cell>> {
    let mut bands: Vec<Vec<Cell>> = Vec::new();
    for (from_ns, to_ns, label) in faults(history) {
        let Some((first, last)) = scale.touched(from_ns, to_ns) else {
            continue;
        };
        let drawn = band(scale.cells(), first, last, &label);
        let fits = |row: &Vec<Cell>| {
            row.iter()
                .zip(&drawn)
                .all(|(a, b)| a.0 == ' ' || b.0 == ' ')
        };
        match bands.iter().position(fits) {
            Some(row) => {
                let cells = bands[row].iter_mut().zip(drawn);
                let news = cells.filter(|(_, new)| new.0 != ' ');
                news.for_each(|(cell, new)| *cell = new);
            }
            None if bands.len() < BANDS => bands.push(drawn),
            None => {}
        }
    }
    bands
}

/// One fault: a bracket with its name inside if it fits, else beside it.
fn band(cells: usize, first: usize, last: usize, label: &str) -> Vec<Cell> {
    let mut row = vec![(' ', Style::new()); cells];
    row[first..=last].fill(('─', FAULT));
    if first == last {
        row[first] = ('▼', FAULT);
    } else {
        row[first] = ('├', FAULT);
        row[last] = ('┤', FAULT);
    }
    let inner = (last - first).saturating_sub(5);
    if label.chars().count() <= inner {
        let framed = format!(" {label} ");
        for (cell, glyph) in row[first + 2..].iter_mut().zip(framed.chars()) {
            *cell = (glyph, FAULT);
        }
    } else {
        write_beside(&mut row, (first, last + 1), label, FAULT);
    }
    row
}

/// Every fault of the history: from, to, and a short name.
fn faults(history: &History) -> Vec<(u64, u64, String)> {
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    let mut faults: Vec<(u32, u64, u64, String)> = Vec::new();
    for event in &history.events {
        match &event.what {
            What::FaultBegan {
                id,
                fault,
                workers,
                nodes,
                ..
            } => {
                let label = short_name(fault, workers, nodes);
                faults.push((*id, event.at_ns, end_ns, label));
            }
            What::FaultEnded { id } => {
                if let Some(fault) = faults.iter_mut().rev().find(|fault| fault.0 == *id) {
                    fault.2 = event.at_ns.max(fault.1);
                }
            }
            _ => {}
        }
    }
    faults.into_iter().map(|f| (f.1, f.2, f.3)).collect()
}

/// `pause-client w0`: the kind and whom it struck, unless that were a long list. The kind comes
/// from a file that anybody may have written, so only what is one column wide is kept.
fn short_name(fault: &str, workers: &[usize], nodes: &[usize]) -> String {
    let mut name: String = fault
        .chars()
        .filter(char::is_ascii_graphic)
        .take(24)
        .collect();
    for (letter, struck) in [('w', workers), ('n', nodes)] {
        for number in struck.iter().take(3) {
            name.push_str(&format!(" {letter}{number}"));
        }
        if struck.len() > 3 {
            name.push('…');
        }
    }
    name
}
