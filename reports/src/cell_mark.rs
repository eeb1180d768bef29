//! The result of a cell as one sign, which all reports share.

use picklock_verdicts::check::Status;
use picklock_verdicts::record::Cell;

use crate::cell_status::overall;
use crate::matrix::{CellOutcome, NOT_APPLICABLE};
use crate::responsibility::{Blame, Party};

/// The result of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellMark {
    /// No property was violated.
    Held,
    /// Two clients held the lock at once, and fencing protected the stock.
    Fenced,
    /// A property was violated, and this party is at fault.
    Fault(Party),
    /// The evidence does not suffice.
    Inconclusive,
    /// The cell failed to run.
    NotRun,
    /// The lock or the backend does not offer what the scenario requires.
    NotApplicable,
}

impl CellMark {
    /// All marks, in the order of legends.
    pub(crate) const ALL: [CellMark; 10] = [
        CellMark::Held,
        CellMark::Fenced,
        CellMark::Fault(Party::Lock),
        CellMark::Fault(Party::Redis),
        CellMark::Fault(Party::Client),
        CellMark::Fault(Party::Outside),
        CellMark::Fault(Party::Undetermined),
        CellMark::Inconclusive,
        CellMark::NotRun,
        CellMark::NotApplicable,
    ];

    /// Returns the mark of a cell, from all of its runs.
    pub(crate) fn from_cell(cell: &Cell) -> CellMark {
        let (blame, status) = (Blame::from_cell(cell), overall(&cell.verdicts));
        CellMark::from_blame(CellOutcome::from_cell(cell), &blame, status)
    }

    /// `status` is that of the whole cell.
    fn from_blame(outcome: CellOutcome, blame: &Blame, status: Status) -> CellMark {
        match (outcome, blame.worst()) {
            (CellOutcome::NotRun, _) => CellMark::NotRun,
            (CellOutcome::NotApplicable, _) => CellMark::NotApplicable,
            (_, Some(_)) if blame.is_fenced() => CellMark::Fenced,
            (_, Some(party)) => CellMark::Fault(party),
            (CellOutcome::Inconclusive | CellOutcome::InconclusiveNoExpectation, None) => {
                CellMark::Inconclusive
            }
            (_, None) if status == Status::Unknown => CellMark::Inconclusive,
            (_, None) => CellMark::Held,
        }
    }

    /// Returns the sign, which conveys the result without colour.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            CellMark::Held => Status::Held.sign(),
            CellMark::Fenced => "◆",
            CellMark::Fault(party) => party.sign(),
            CellMark::Inconclusive => Status::Unknown.sign(),
            CellMark::NotRun => "!",
            CellMark::NotApplicable => Status::NotApplicable.sign(),
        }
    }

    /// Returns the meaning of the sign.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            CellMark::Held => "held",
            CellMark::Fenced => "saved by fencing",
            CellMark::Fault(party) => party.fault(),
            CellMark::Inconclusive => "inconclusive",
            CellMark::NotRun => "failed to run",
            CellMark::NotApplicable => NOT_APPLICABLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::check::{Property, Verdict, Verdicts};

    use super::*;

    #[test]
    fn mark_names_the_party_at_fault() {
        use Status::{Held, NotApplicable, Unknown, Violated};
        let cases = [
            ((Held, Held, Held, NotApplicable), CellMark::Held),
            (
                (Violated, Held, Violated, NotApplicable),
                CellMark::Fault(Party::Client),
            ),
            ((Violated, Held, Held, Held), CellMark::Fenced),
            (
                (Violated, Violated, Held, Held),
                CellMark::Fault(Party::Undetermined),
            ),
            (
                (Violated, Unknown, Held, NotApplicable),
                CellMark::Fault(Party::Undetermined),
            ),
            (
                (Held, Held, Violated, NotApplicable),
                CellMark::Fault(Party::Outside),
            ),
            ((Held, Unknown, Held, NotApplicable), CellMark::Inconclusive),
        ];
        for ((exclusion, lease, resource, fencing), expected) in cases {
            let verdict = |status| Verdict {
                status,
                ..Verdict::held()
            };
            let verdicts = Verdicts::from([
                (Property::Exclusion, verdict(exclusion)),
                (Property::Lease, verdict(lease)),
                (Property::Resource, verdict(resource)),
                (Property::Fencing, verdict(fencing)),
            ]);
            let blame = Blame::from_verdicts(&verdicts);
            let mark = CellMark::from_blame(CellOutcome::AsExpected, &blame, overall(&verdicts));
            assert_eq!(mark, expected);
        }
    }
}
