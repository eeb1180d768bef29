//! One cell as one glyph, coloured by the party at fault.

use anstyle::Style;
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, COOL, FAINT, GOOD, WARN, style_of_party};
use crate::cell_mark::CellMark;
use crate::responsibility::Party;

/// A glyph with its style and its meaning.
pub(super) type Mark = (&'static str, Style, &'static str);

/// Returns all marks, in the order of the legend.
pub(super) fn marks() -> Vec<Mark> {
    CellMark::ALL.map(styled).into()
}

/// Returns the mark of a violation.
pub(super) fn mark_of_party(party: Party) -> Mark {
    styled(CellMark::Fault(party))
}

pub(super) fn mark(cell: &Cell) -> Mark {
    styled(CellMark::from_cell(cell))
}

fn styled(mark: CellMark) -> Mark {
    let style = match mark {
        CellMark::Held => GOOD,
        CellMark::Fenced => COOL,
        CellMark::Fault(party) => style_of_party(party),
        CellMark::Inconclusive => WARN,
        CellMark::NotRun => BAD,
        CellMark::NotApplicable => FAINT,
    };
    (mark.sign(), style, mark.meaning())
}

/// Returns `true` if nothing was violated, and nothing is unexpected or missing.
pub(super) fn is_green(cell: &Cell) -> bool {
    let mark = CellMark::from_cell(cell);
    matches!(mark, CellMark::Held | CellMark::NotApplicable) && cell.is_as_expected()
}
