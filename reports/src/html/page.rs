//! The complete page of a matrix or a run.

use std::collections::BTreeSet;

use askama::Template;
use picklock_scenarios::BackendName;
use picklock_verdicts::check::Cause;
use picklock_verdicts::record::MatrixRecord;

use super::cell_details::{CellDetails, all_cell_details};
use super::frame::{CiJobView, Command, Count, Frame};
use super::grid::{self, BackendGrid, Slot};
use super::name::{Fact, Name, fact, name, sentence};
use super::pack::{Pack, packs};
use super::remedy_view::RemedyView;
use super::scorecard::{ScorecardView, scorecard};
use super::search::{self, SearchView, is_search_alone, searches};
use super::tone::Tone;
use crate::cell_mark::CellMark;
use crate::matrix::{
    CellOutcome, Conclusion, NOT_APPLICABLE, Severity, describe_counts, describe_similarity,
    distinct, inapplicable, lock_warnings, lock_with_options,
};
use crate::problem::capitalized;
use crate::remedy::{Remedy, remedy};
use crate::report_input::ReportInput;
use crate::responsibility::Party;
use crate::scorecard::{Advice, Choice, Scorecard};
use crate::units::{count, span_ms};

const STYLE: &str = concat!(
    include_str!("../../assets/base.css"),
    include_str!("../../assets/scorecard.css"),
    include_str!("../../assets/matrix.css"),
    include_str!("../../assets/search.css"),
    include_str!("../../assets/cell_details.css"),
    include_str!("../../assets/print.css"),
);

/// The script: one file per concern, all in one scope.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("../../assets/theme.js"),
    include_str!("../../assets/evidence.js"),
    include_str!("../../assets/navigation.js"),
    include_str!("../../assets/matrix.js"),
    include_str!("../../assets/track.js"),
    include_str!("../../assets/palette.js"),
    include_str!("../../assets/rows.js"),
    include_str!("../../assets/lanes.js"),
    include_str!("../../assets/values.js"),
    include_str!("../../assets/messages.js"),
    include_str!("../../assets/log.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/controls.js"),
    include_str!("../../assets/start.js"),
    "})();\n",
);

/// Maximum number of skipped items to list: all directories of a matrix may be missing.
const MAX_NOTICES: usize = 5;

/// Maximum number of reasons for cells that are not applicable to list.
const MAX_REASONS: usize = 100;

#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Page {
    frame: Frame,
    /// What was run, and how many locks have a fault of their own.
    counted: String,
    /// The number of cells of each mark, as the legend of the matrix.
    legend: Vec<Count>,
    facts: Vec<Fact>,
    command: Command,
    many_runs: bool,
    /// Cells that are not applicable, with the reasons.
    inapplicable: Vec<Name>,
    inapplicable_more: usize,
    /// The number of cells that are not applicable.
    inapplicable_cells: usize,
    /// The term for cells that are not applicable.
    not_applicable: &'static str,
    backends: Vec<BackendGrid>,
    scorecard: Option<ScorecardView>,
    searches: Vec<SearchView>,
    /// The code of the remedies that several cells of this page link to.
    remedies: Vec<RemedyView>,
    /// Servers, lease, nodes and clients of the only cell.
    setting: String,
    /// The evidence of the cell, if there is only one.
    only: Option<CellDetails>,
    /// The evidence of several cells.
    packs: Vec<Pack>,
}

pub(super) fn view(input: &ReportInput) -> Result<Page, askama::Error> {
    let matrix = &input.matrix;
    let shown = |text: &str| name(text).shown;
    let title = match (&matrix.cells[..], &input.searches[..]) {
        (_, [search, ..]) => search::headline(search),
        ([cell], _) => format!("{} in {}", shown(&cell.lock.name), shown(&cell.scenario)),
        _ if asks_which_lock(matrix) => WHICH_LOCK.to_owned(),
        _ => conclusion(matrix),
    };
    let inapplicable = inapplicable(matrix);
    let reasons = inapplicable.iter().take(MAX_REASONS);
    let mut details = all_cell_details(input);
    let only = match matrix.cells.len() {
        1 => details.next(),
        _ => None,
    };
    let mut facts = facts(input);
    let only = only.map(|details| details.with_facts(std::mem::take(&mut facts)));
    Ok(Page {
        frame: Frame {
            notices: notices(input),
            ci_job: matrix.ci_job.as_ref().map(CiJobView::new),
            ..Frame::new(STYLE, SCRIPT, &matrix.picklock, title)
        },
        counted: counted(matrix),
        legend: legend(input),
        facts,
        command: Command::for_command(&matrix.reproduce),
        many_runs: matrix.cells.iter().any(|cell| cell.runs > 1),
        inapplicable: reasons.map(|group| sentence(&group.describe())).collect(),
        inapplicable_more: inapplicable.len().saturating_sub(MAX_REASONS),
        inapplicable_cells: inapplicable.iter().map(|group| group.locks.len()).sum(),
        not_applicable: NOT_APPLICABLE,
        backends: if is_search_alone(input) {
            Vec::new()
        } else {
            grid::backends(matrix)
        },
        scorecard: scorecard(input),
        setting: setting(input),
        searches: searches(input),
        remedies: remedies(input),
        only,
        packs: packs(details)?,
    })
}

/// The title of a matrix whose recommendations are its answer.
const WHICH_LOCK: &str = "Which lock for what?";

/// Returns `true` if everything is as expected, and a lock is recommended.
fn asks_which_lock(matrix: &MatrixRecord) -> bool {
    let severity = Conclusion::from_cells(&matrix.cells).severity();
    let is_lock = |advice: &Advice| matches!(advice.choice, Choice::Lock { .. });
    severity == Severity::AsExpected
        && Scorecard::from_matrix(matrix).is_some_and(|it| it.advice.iter().any(is_lock))
}

/// Returns the conclusion from all cells, in the words of the other reports.
fn conclusion(matrix: &MatrixRecord) -> String {
    if matrix.cells.is_empty() {
        return "No cell was run".to_owned();
    }
    let conclusion = Conclusion::from_cells(&matrix.cells);
    let text = capitalized(&conclusion.describe());
    if conclusion.severity() != Severity::Failed {
        return text;
    }
    let locks: BTreeSet<String> = matrix
        .cells
        .iter()
        .filter(|it| CellOutcome::from_cell(it).severity() == Severity::Failed)
        .map(lock_with_options)
        .collect();
    format!("{text}, in {}", count(locks.len(), "lock"))
}

/// Describes what was run, and how many locks have a fault of their own. The grid and the recommendations count in the
/// same way.
fn counted(matrix: &MatrixRecord) -> String {
    let cells = &matrix.cells;
    let scorecard = Scorecard::from_matrix(matrix);
    let unscored = scorecard
        .as_ref()
        .map_or(&[][..], |it| it.unscored.as_slice());
    let own: BTreeSet<String> = cells
        .iter()
        .filter(|cell| {
            CellMark::from_cell(cell) == CellMark::Fault(Party::Lock)
                && !unscored.contains(&cell.scenario)
        })
        .map(lock_with_options)
        .collect();
    let locks: BTreeSet<String> = cells.iter().map(lock_with_options).collect();
    let scenarios = distinct(cells.iter().map(|cell| cell.scenario.as_str())).len();
    let backends = distinct(cells.iter().map(|cell| cell.backend.as_str()));
    let backends = match backends.as_slice() {
        ["sim"] => "simulated".to_owned(),
        [one] => format!("on real servers ({one})"),
        several => format!("in {}", several.join(", ")),
    };
    let faults = match own.len() {
        0 => "no lock has a fault of its own.".to_owned(),
        1 => "1 lock has a fault of its own.".to_owned(),
        more => format!("{more} locks have a fault of their own."),
    };
    let unscored = scorecard.and_then(|it| it.describe_unscored());
    let unscored = unscored.map_or(String::new(), |it| format!(" {it}"));
    let (locks, scenarios) = (count(locks.len(), "lock"), count(scenarios, "scenario"));
    // The title does not give the conclusion then.
    let faults = if asks_which_lock(matrix) {
        format!("{}: {faults}", conclusion(matrix))
    } else {
        capitalized(&faults)
    };
    sentence(&format!(
        "{locks} × {scenarios}, {backends}. {faults}{unscored}"
    ))
    .shown
}

/// Returns the code of the remedies against all causes on the page. The page of a single run shows it with the cause.
fn remedies(input: &ReportInput) -> Vec<RemedyView> {
    let cells = &input.matrix.cells;
    let found = input
        .searches
        .iter()
        .flat_map(|it| &it.counterexamples)
        .map(|it| it.cause);
    let verdicts = cells.iter().flat_map(|cell| cell.verdicts.values());
    let causes: BTreeSet<Cause> = match cells.len() {
        1 => found.collect(),
        _ => found
            .chain(verdicts.filter_map(|verdict| verdict.cause))
            .collect(),
    };
    let mut remedies: Vec<&Remedy> = Vec::new();
    for one in causes.into_iter().filter_map(remedy) {
        if !remedies.contains(&one) {
            remedies.push(one);
        }
    }
    remedies.into_iter().map(RemedyView::new).collect()
}

/// Describes the servers and the clients of the only run.
fn setting(input: &ReportInput) -> String {
    let ([cell], [evidence]) = (&input.matrix.cells[..], &input.evidence[..]) else {
        return String::new();
    };
    let record = &evidence.record;
    let server = format!("{} {}", record.redis.server, record.redis.version);
    let words = [
        match cell.backend {
            BackendName::Sim => "simulated".to_owned(),
            backend => backend.to_string(),
        },
        format!("seed {}", cell.seed),
        format!("{} lease", span_ms(record.ttl_ms)),
        count(record.nodes, "node"),
        count(record.workers, "client"),
        server,
    ];
    sentence(&words.join(" · ")).shown
}

fn notices(input: &ReportInput) -> Vec<Name> {
    let interrupted =
        (input.matrix.interrupted).then(|| sentence("Interrupted by the user: cells are missing."));
    let skipped = input.skipped.iter().take(MAX_NOTICES);
    let omitted = skipped.map(|words| sentence(&format!("Skipped: {words}")));
    let rest = input.skipped.len().saturating_sub(MAX_NOTICES);
    let more = (rest > 0).then(|| sentence(&format!("Skipped: {rest} more.")));
    let notices = interrupted.into_iter().chain(omitted);
    notices.chain(more).collect()
}

/// Returns the number of cells of each mark, and of unexpected results. Faults of locks in scenarios that do not count
/// are counted separately, so that the legend agrees with the last row of the matrix.
fn legend(input: &ReportInput) -> Vec<Count> {
    let cells = &input.matrix.cells;
    let scorecard = Scorecard::from_matrix(&input.matrix);
    let unscored = scorecard.map_or_else(Vec::new, |it| it.unscored);
    let marks: Vec<(CellMark, bool)> = (cells.iter())
        .map(|cell| (CellMark::from_cell(cell), unscored.contains(&cell.scenario)))
        .collect();
    let unexpected = cells.iter().filter(|cell| cell.is_unexpected()).count();
    let counts = CellMark::ALL.map(|mark| {
        let is_own = mark == CellMark::Fault(Party::Lock);
        let number = |uncounted| {
            let same = marks.iter().filter(|(it, _)| *it == mark);
            same.filter(|(_, it)| (*it && is_own) == uncounted).count()
        };
        let omitted = match mark {
            CellMark::NotApplicable => input.matrix.skipped.len(),
            _ => 0,
        };
        Count {
            tone: mark.into(),
            sign: mark.sign(),
            number: number(false) + omitted,
            uncounted: number(true),
            words: mark.meaning(),
        }
    });
    let unexpected = Count {
        tone: Tone::Mismatch,
        sign: "‼",
        number: unexpected,
        uncounted: 0,
        words: "unexpected",
    };
    let all = [unexpected].into_iter().chain(counts);
    all.filter(|count| count.number + count.uncounted > 0)
        .collect()
}

/// Lists how the matrix was run.
pub(super) fn facts(input: &ReportInput) -> Vec<Fact> {
    let matrix = &input.matrix;
    let mut facts = vec![fact("picklock", &matrix.picklock)];
    if matrix.processors > 0 {
        let processors = count(matrix.processors, "processor");
        let jobs = count(matrix.jobs, "cell");
        facts.push(fact("machine", format!("{processors}, {jobs} at a time")));
    }
    let seeds = match matrix.seeds {
        0 | 1 => matrix.seed.to_string(),
        seeds => format!("{seeds} per cell, from {}", matrix.seed),
    };
    facts.push(fact("seed", seeds));
    let runs = matrix
        .cells
        .iter()
        .map(|cell| cell.runs)
        .fold(0, u64::saturating_add);
    let cells = format!("{}; {}", describe_counts(matrix), count(runs, "run"));
    facts.push(fact("cells", cells));
    for one in &matrix.similarity {
        let words = format!("{} ({})", describe_similarity(one), one.backend);
        facts.push(fact("similarity", words));
    }
    for warning in lock_warnings(&matrix.cells) {
        facts.push(fact("warning", warning));
    }
    let records = || input.evidence.iter().map(|evidence| &evidence.record);
    let servers: Vec<String> = records()
        .filter(|record| !record.redis.server.is_empty())
        .map(|it| format!("{} {}", it.redis.server, it.redis.version))
        .collect();
    let reasons = records()
        .filter(|record| !record.backend_reason.is_empty())
        .map(|it| format!("{}: {}", it.backend, it.backend_reason))
        .collect();
    for (what, all) in [("server", servers), ("backend", reasons)] {
        let all = distinct(all.iter().map(String::as_str));
        if !all.is_empty() {
            facts.push(fact(what, all.join(", ")));
        }
    }
    if let Some(elapsed_ms) = matrix.elapsed_ms {
        facts.push(fact("took", span_ms(elapsed_ms)));
    }
    facts
}
