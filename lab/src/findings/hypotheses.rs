//! Hypotheses about a library, and the decisions about them from runs.

use std::fmt::Write;

use picklock_verdicts::record::Cell;

use super::tally::{Seen, cell};
use crate::library::{Hypothesis, Library};
use picklock_reports::markdown::quoted::{code, prose};

/// The decision on a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The predicted violation occurred in at least nine of ten runs.
    Confirmed(Seen),
    /// The violation occurred in some runs, but in fewer than nine of ten.
    Sometimes(Seen),
    /// The violation occurred in no run.
    Refuted(Seen),
    /// No run was conclusive.
    Inconclusive,
    /// The matrices have no run of this lock in this scenario.
    NotRun,
}

impl Decision {
    /// Decides a hypothesis from the runs of its lock in its scenario.
    pub fn of(hypothesis: &Hypothesis, cells: &[Cell]) -> Decision {
        let Some(cell) = cell(cells, &hypothesis.lock, &hypothesis.scenario) else {
            return Decision::NotRun;
        };
        let predicted = &hypothesis.predicts;
        let seen = Seen::of(cell, predicted.property, predicted.cause);
        match seen {
            Seen { judged: 0, .. } => Decision::Inconclusive,
            Seen { runs: 0, .. } => Decision::Refuted(seen),
            _ if seen.is_repeated() => Decision::Confirmed(seen),
            _ => Decision::Sometimes(seen),
        }
    }

    fn describe(self) -> String {
        match self {
            Decision::Confirmed(seen) => format!("**confirmed**, {}", seen.describe()),
            Decision::Sometimes(seen) => format!("not always: {}", seen.describe()),
            Decision::Refuted(seen) => format!("**refuted**, {}", seen.describe()),
            Decision::Inconclusive => "not judged".to_owned(),
            Decision::NotRun => "not run".to_owned(),
        }
    }
}

/// Writes the table of a library's hypotheses, and the commands that reproduce them.
pub fn section(text: &mut String, library: &Library, cells: &[Cell]) -> std::fmt::Result {
    if library.hypothesis.is_empty() {
        return Ok(());
    }
    writeln!(text, "### Hypotheses about {}\n", prose(&library.name))?;
    writeln!(
        text,
        "| class | supposed | scenario | it predicts | result | what it means |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|")?;
    for one in &library.hypothesis {
        let cause = one.predicts.cause;
        let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
        writeln!(
            text,
            "| {} | {} | {}, {} | {} violated{cause} | {} | {} |",
            prose(&one.id),
            prose(&one.says),
            code(&one.scenario),
            code(&one.lock),
            one.predicts.property,
            Decision::of(one, cells).describe(),
            prose(&one.means),
        )?;
    }
    writeln!(text)
}
