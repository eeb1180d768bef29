//! The title of the grid, the recommendations, and the summary below it.

use picklock_verdicts::record::{KeyHistoryTally, MatrixRecord};

use super::super::line::{BAD, FAINT, GOOD, Line, STRONG, WARN};
use crate::matrix::{
    CellOutcome, cell_counts, describe_similarity, describe_total, distinct, inapplicable,
    lock_warnings,
};
use crate::scorecard::Scorecard;
use crate::units::{count, grouped};

/// Maximum number of reasons for cells that are not applicable to list. More are counted.
const MAX_REASONS: usize = 3;

pub(super) fn title(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let (cells, skipped) = (&record.cells, &record.skipped);
    let locks = cells.iter().map(|cell| cell.lock.name.as_str());
    let locks = distinct(locks.chain(skipped.iter().map(|it| it.lock.as_str()))).len();
    let scenarios = cells.iter().map(|cell| cell.scenario.as_str());
    let scenarios = distinct(scenarios.chain(skipped.iter().map(|it| it.scenario.as_str()))).len();
    let backends = distinct(cells.iter().map(|cell| cell.backend.as_str()));
    let runs = match record.seeds {
        0 => "no runs".to_owned(),
        1 => format!("one run each, seed {}", record.seed),
        seeds => format!(
            "{seeds} runs each, seeds {} to {}",
            record.seed,
            record.seed.saturating_add(seeds - 1)
        ),
    };
    let backends = match backends.as_slice() {
        [one] => (*one).to_owned(),
        several => count(several.len(), "backend"),
    };
    let (locks, scenarios) = (count(locks, "lock"), count(scenarios, "scenario"));
    let text = format!("{locks} × {scenarios} × {backends}");
    let line = Line::new().styled(STRONG, &text);
    line.styled(FAINT, &format!("   {runs}")).wrap(width, 2)
}

/// Returns the recommendations, one line each.
pub(super) fn advice(scorecard: &Scorecard, width: usize) -> Vec<Line> {
    let lines = scorecard.advice.iter().flat_map(|advice| {
        let purpose = format!("{}: ", advice.purpose.as_str());
        let line = Line::new().plain(&purpose).styled(STRONG, &advice.pick);
        let needs = match advice.needs.as_str() {
            "" => String::new(),
            needs => format!("; needs {needs}"),
        };
        line.plain(&advice.reason).plain(&needs).wrap(width, 2)
    });
    lines.collect()
}

/// Returns one line per scenario and reason, for all locks that the scenario is not applicable to. Many reasons are
/// only counted, in the last line.
pub(super) fn not_applicable(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let groups = inapplicable(record);
    let cells: usize = groups.iter().map(|group| group.locks.len()).sum();
    if groups.is_empty() || groups.len() > MAX_REASONS {
        return Vec::new();
    }
    let text = format!("Not applicable ({})", count(cells, "cell"));
    let mut lines = vec![Line::new().styled(FAINT, &text)];
    for group in &groups {
        let text = format!("  {}", group.describe());
        lines.extend(Line::new().styled(FAINT, &text).wrap(width, 4));
    }
    lines
}

/// Returns the number of cells of each outcome.
pub(super) fn outcome(record: &MatrixRecord, width: usize) -> Vec<Line> {
    if record.cells.is_empty() && record.interrupted {
        let text = "interrupted before the first run ended";
        return Line::new().styled(WARN, text).wrap(width, 2);
    }
    let mut line = Line::new().plain(&format!("{}: ", describe_total(record)));
    for (index, (outcome, number)) in cell_counts(record).into_iter().enumerate() {
        if index > 0 {
            line = line.plain(", ");
        }
        let style = match outcome {
            CellOutcome::AsExpected => GOOD,
            CellOutcome::Unexpected | CellOutcome::NotRun | CellOutcome::ViolatedNoExpectation => {
                BAD
            }
            CellOutcome::Inconclusive | CellOutcome::InconclusiveNoExpectation => WARN,
            CellOutcome::HeldNoExpectation | CellOutcome::NotApplicable => FAINT,
        };
        let text = format!("{} {}", grouped(number), outcome.as_str());
        line = line.styled(style, &text);
    }
    let reasons = inapplicable(record).len();
    if reasons > MAX_REASONS {
        let text = format!(" for {} (--json has them all)", count(reasons, "reason"));
        line = line.styled(FAINT, &text);
    }
    if record.interrupted {
        let text = "; interrupted: other cells, or runs of these, are missing";
        line = line.styled(WARN, text);
    }
    line.wrap(width, 2)
}

/// Returns the built-in lock that each user's lock behaves like.
pub(super) fn similarity(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let mut cells = record.cells.iter();
    let several = cells.any(|cell| cell.backend != record.cells[0].backend);
    let mut lines = Vec::new();
    for one in &record.similarity {
        let backend = if several {
            format!(" ({})", one.backend)
        } else {
            String::new()
        };
        let text = format!("{}{backend}", describe_similarity(one));
        lines.extend(Line::new().plain(&text).wrap(width, 2));
    }
    lines
}

/// Returns the warnings of each lock.
pub(super) fn warnings(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let warnings = lock_warnings(&record.cells).into_iter();
    let lines = warnings.flat_map(|text| {
        let line = Line::new().styled(WARN, "! ");
        line.plain(&text).wrap(width, 2)
    });
    lines.collect()
}

/// Returns how much of the key history was confirmed on real servers.
pub(super) fn key_history(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let tallies = record.cells.iter().filter_map(|cell| cell.key_history);
    let Some(tally) = tallies.reduce(KeyHistoryTally::and) else {
        return Vec::new();
    };
    let removals = [tally.confirmed, tally.ends].map(grouped);
    let runs = [tally.confirmed_runs, tally.runs].map(grouped);
    let text = format!(
        "checked against the servers: {} key removals agree ({} runs)",
        removals.join(" of "),
        runs.join(" of ")
    );
    Line::new().styled(FAINT, &text).wrap(width, 2)
}

/// Returns the number of reruns, if there were any.
pub(super) fn reruns(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let reruns = record.cells.iter().map(|cell| cell.reruns);
    let reruns = reruns.fold(0, u64::saturating_add);
    let text = match reruns {
        0 => return Vec::new(),
        1 => "1 rerun, because the first run was inconclusive".to_owned(),
        _ => format!(
            "{}, because the first runs were inconclusive",
            count(reruns, "rerun")
        ),
    };
    Line::new().styled(FAINT, &text).wrap(width, 2)
}
