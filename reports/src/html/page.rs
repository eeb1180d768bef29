//! The complete page of a matrix or a run.

use askama::Template;
use picklock_verdicts::check::Status;

use super::cell_details::{CellDetails, all_cell_details};
use super::frame::{Command, Count, Frame, counts};
use super::grid::{self, BackendGrid, Slot};
use super::name::{Fact, Name, fact, name, sentence};
use super::pack::{Pack, packs};
use super::scorecard::{ScorecardView, scorecard};
use super::search::{self, SearchView, is_search_alone, searches};
use super::tile::{Tile, tile};
use super::tone::Tone;
use crate::matrix::{NOT_APPLICABLE, describe_counts, describe_similarity, distinct, inapplicable};
use crate::report_input::ReportInput;
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
    /// The number of cells of each outcome, as text.
    counted: String,
    /// The same by colour and sign, as the legend of the matrix.
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
    /// Servers, lease, nodes and workers of the only cell.
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
        (cells, _) => {
            let faulty = cells.iter().filter(|cell| tile(cell).tone == Tone::Lock);
            let faulty = distinct(faulty.map(|cell| cell.lock.name.as_str())).len();
            let locks = distinct(cells.iter().map(|cell| cell.lock.name.as_str())).len();
            format!("{faulty} of {} at fault", count(locks, "lock"))
        }
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
            ..Frame::new(STYLE, SCRIPT, &matrix.picklock, title)
        },
        counted: describe_counts(matrix),
        legend: cell_counts(input),
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
        only,
        packs: packs(details)?,
    })
}

/// Describes the servers and the clients of the only run.
fn setting(input: &ReportInput) -> String {
    let ([cell], [evidence]) = (&input.matrix.cells[..], &input.evidence[..]) else {
        return String::new();
    };
    let record = &evidence.record;
    let server = format!("{} {}", record.redis.server, record.redis.version);
    let words = [
        format!("{} backend", cell.backend),
        format!("seed {}", cell.seed),
        format!("{} lease", span_ms(record.ttl_ms)),
        count(record.nodes, "node"),
        count(record.workers, "worker"),
        server,
    ];
    sentence(&words.join(" · ")).shown
}

/// Returns the signs of `held`, `violated`, `unknown` and `not-applicable`.
fn signs() -> [&'static str; 4] {
    use Status::{Held, NotApplicable, Unknown, Violated};
    [Held, Violated, Unknown, NotApplicable].map(Status::sign)
}

fn notices(input: &ReportInput) -> Vec<Name> {
    let interrupted = input.matrix.interrupted;
    let interrupted = interrupted.then(|| sentence("Interrupted by the user: cells are missing."));
    let skipped = input.skipped.iter().take(MAX_NOTICES);
    let omitted = skipped.map(|words| sentence(&format!("Skipped: {words}")));
    let more = input.skipped.len().saturating_sub(MAX_NOTICES);
    let more = (more > 0).then(|| sentence(&format!("Skipped: {more} more.")));
    let notices = interrupted.into_iter().chain(omitted);
    notices.chain(more).collect()
}

/// Returns the number of cells of each tone.
fn cell_counts(input: &ReportInput) -> Vec<Count> {
    let cells = &input.matrix.cells;
    let tiles: Vec<Tile> = cells.iter().map(tile).collect();
    let count_of = |tone| tiles.iter().filter(|tile| tile.tone == tone).count();
    let tiles_of = |tone, sign, label| (tone, sign, count_of(tone), label);
    let tiles_with = |sign, label| {
        let number = tiles.iter().filter(|tile| tile.sign == sign).count();
        (Tone::Client, sign, number, label)
    };
    let [held, violated, unknown, absent] = signs();
    let unexpected = cells.iter().filter(|cell| cell.is_unexpected()).count();
    let omitted = count_of(Tone::Absent) + input.matrix.skipped.len();
    let all = [
        (Tone::Mismatch, "‼", unexpected, "unexpected"),
        tiles_of(Tone::Held, held, "held"),
        tiles_of(Tone::Lock, violated, "the lock’s fault"),
        tiles_of(Tone::Redis, "R", "Redis lost the lock"),
        tiles_with("C", "a client’s fault"),
        tiles_with("A", "the application’s fault"),
        tiles_of(Tone::Undetermined, "U", "fault unknown"),
        tiles_of(Tone::Fenced, "◆", "saved by fencing"),
        tiles_of(Tone::Unknown, unknown, "inconclusive"),
        tiles_of(Tone::Failed, "!", "not run"),
        (Tone::Absent, absent, omitted, NOT_APPLICABLE),
    ];
    counts(all, Tone::Mismatch)
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
    let runs = matrix.cells.iter().map(|cell| cell.runs);
    let runs = runs.fold(0, u64::saturating_add);
    let cells = format!("{}; {}", describe_counts(matrix), count(runs, "run"));
    facts.push(fact("cells", cells));
    for one in &matrix.similarity {
        let words = format!("{} ({})", describe_similarity(one), one.backend);
        facts.push(fact("similarity", words));
    }
    let records = || input.evidence.iter().map(|evidence| &evidence.record);
    let servers = records().filter(|record| !record.redis.server.is_empty());
    let servers = servers.map(|it| format!("{} {}", it.redis.server, it.redis.version));
    let reasons = records().filter(|record| !record.backend_reason.is_empty());
    let reasons = reasons.map(|it| format!("{}: {}", it.backend, it.backend_reason));
    for (what, all) in [
        ("server", servers.collect::<Vec<_>>()),
        ("backend", reasons.collect()),
    ] {
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
