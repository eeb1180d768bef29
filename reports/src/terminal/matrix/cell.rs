//! One cell as one glyph, coloured by the party at fault.

use anstyle::Style;
use picklock_verdicts::check::Status;
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, COOL, FAINT, GOOD, WARN, style_of_party};
use crate::cell_status::overall;
use crate::matrix::CellOutcome;
use crate::responsibility::{Blame, Party};

/// A glyph with its style and its meaning.
pub(super) type Mark = (char, Style, &'static str);

const HELD: Mark = ('✔', GOOD, "held");
const FENCED: Mark = ('◆', COOL, "saved by fencing");
const INCONCLUSIVE: Mark = ('?', WARN, "inconclusive");
const NOT_RUN: Mark = ('!', BAD, "failed to run");
const NOT_APPLICABLE: Mark = ('–', FAINT, crate::matrix::NOT_APPLICABLE);

/// Returns all marks, in the order of the legend.
pub(super) fn marks() -> Vec<Mark> {
    let mut marks = vec![HELD, FENCED];
    let parties = [
        Party::Lock,
        Party::Redis,
        Party::Client,
        Party::Outside,
        Party::Undetermined,
    ];
    marks.extend(parties.map(mark_of_party));
    marks.extend([INCONCLUSIVE, NOT_RUN, NOT_APPLICABLE]);
    marks
}

/// Returns the mark of a violation.
pub(super) fn mark_of_party(party: Party) -> Mark {
    let glyph = match party {
        Party::Lock => '✘',
        Party::Redis => 'R',
        Party::Client => 'C',
        Party::Outside => 'A',
        Party::Undetermined => 'U',
    };
    (glyph, style_of_party(party), party.fault())
}

pub(super) fn mark(cell: &Cell) -> Mark {
    let blame = Blame::from_cell(cell);
    match (CellOutcome::from_cell(cell), blame.worst()) {
        (CellOutcome::NotRun, _) => NOT_RUN,
        (CellOutcome::NotApplicable, _) => NOT_APPLICABLE,
        (_, Some(_)) if blame.is_fenced() => FENCED,
        (_, Some(party)) => mark_of_party(party),
        (CellOutcome::Inconclusive | CellOutcome::InconclusiveNoExpectation, None) => INCONCLUSIVE,
        (_, None) if overall(&cell.verdicts) == Status::Unknown => INCONCLUSIVE,
        (_, None) => HELD,
    }
}

/// Returns `true` if nothing was violated, and nothing is unexpected or missing.
pub(super) fn is_green(cell: &Cell) -> bool {
    matches!(mark(cell).0, '✔' | '–') && cell.is_as_expected()
}
