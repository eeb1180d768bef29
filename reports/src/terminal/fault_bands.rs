//! Faults, drawn as brackets over their duration.

use anstyle::Style;
use picklock_verdicts::timeline::{FaultSpan, Timeline};

use super::line::FAULT;
use super::time_scale::Scale;

/// Maximum number of rows.
const MAX_BANDS: usize = 4;

/// One column of one row.
pub(super) type Cell = (char, Style);

/// Writes a text from this column on, as far as it fits.
pub(super) fn write(row: &mut [Cell], at: usize, text: &str, style: Style) {
    for (cell, glyph) in row[at..].iter_mut().zip(text.chars()) {
        *cell = (glyph, style);
    }
}

/// Writes a label after `occupied.1`, or before `occupied.0` if it fits only there.
pub(super) fn write_beside(row: &mut [Cell], occupied: (usize, usize), label: &str, style: Style) {
    let length = label.chars().count();
    let after = occupied.1 + 1;
    if after + length <= row.len() {
        write(row, after, label, style);
    } else if occupied.0 > length {
        write(row, occupied.0 - length - 1, label, style);
    }
}

/// Returns the faults in the window, packed into as few rows as possible.
pub(super) fn bands(timeline: &Timeline<'_>, scale: &Scale) -> Vec<Vec<Cell>> {
    let mut bands: Vec<Vec<Cell>> = Vec::new();
    for span in timeline.faults().iter().filter(|span| !span.missed) {
        let until_ns = span.ended_ns.unwrap_or(timeline.end_ns());
        let Some((first, last)) = scale.touched(span.began_ns, until_ns) else {
            continue;
        };
        let drawn = band(scale.cells, first, last, &short_name(span));
        let fits = |row: &Vec<Cell>| {
            let mut both = row.iter().zip(&drawn);
            both.all(|(a, b)| a.0 == ' ' || b.0 == ' ')
        };
        match bands.iter().position(fits) {
            Some(row) => {
                let cells = bands[row].iter_mut().zip(drawn);
                let news = cells.filter(|(_, new)| new.0 != ' ');
                news.for_each(|(cell, new)| *cell = new);
            }
            None if bands.len() < MAX_BANDS => bands.push(drawn),
            None => {}
        }
    }
    bands
}

/// Draws one fault: a bracket with its name inside if it fits, and otherwise next to it.
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
        write(&mut row, first + 2, &format!(" {label} "), FAULT);
    } else {
        write_beside(&mut row, (first, last + 1), label, FAULT);
    }
    row
}

/// Returns a name such as `pause-client c0`: the kind, and up to three affected clients and nodes. The kind
/// may come from a file that Picklock did not write, so only single-column characters are kept.
fn short_name(span: &FaultSpan<'_>) -> String {
    let kind = span.fault.chars().filter(char::is_ascii_graphic);
    let mut name: String = kind.take(24).collect();
    for (letter, targets) in [('c', span.workers), ('n', span.nodes)] {
        for number in targets.iter().take(3) {
            name.push_str(&format!(" {letter}{number}"));
        }
        if targets.len() > 3 {
            name.push('…');
        }
    }
    name
}
