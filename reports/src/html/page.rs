//! The whole page.

use askama::Template;
use picklock_verdicts::check::{Property, Status, describe};

use super::cell_details::{CellDetails, all_cell_details};
use super::frame::{Count, Frame, counts};
use super::grid::{self, BackendGrid, Slot};
use super::name::{Fact, Name, fact, name, sentence};
use super::pack::{Pack, packs};
use super::scorecard::{ScorecardView, scorecard};
use super::search::{SearchView, searches};
use crate::matrix::{NOT_APPLICABLE, counts_in_words, distinct, inapplicable, similarity_in_words};
use crate::report_input::ReportInput;
use crate::units::{count, span_ms};

/// The style: one file for each part.
const STYLE: &str = concat!(
    include_str!("../../assets/base.css"),
    include_str!("../../assets/scorecard.css"),
    include_str!("../../assets/matrix.css"),
    include_str!("../../assets/search.css"),
    include_str!("../../assets/cell_details.css"),
    include_str!("../../assets/print.css"),
);

/// The script: one file for each concern, all in one scope.
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

/// Further things that were skipped are only counted: all directories of a matrix may be gone.
const MOST_NOTICES: usize = 5;

/// Further reasons why cells are not applicable are only counted.
const MOST_REASONS: usize = 100;

#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Page {
    frame: Frame,
    /// How the cells count, in the words of every report.
    counted: String,
    facts: Vec<Fact>,
    reproduce: Name,
    many_runs: bool,
    /// Cells that are not applicable, with the reasons.
    inapplicable: Vec<Name>,
    inapplicable_more: usize,
    /// How many cells that are.
    inapplicable_cells: usize,
    /// The word for it.
    not_applicable: &'static str,
    backends: Vec<BackendGrid>,
    properties: Vec<PropertyKey>,
    /// The signs of `held`, `violated`, `unknown` and `not-applicable`.
    signs: [&'static str; 4],
    scorecard: Option<ScorecardView>,
    searches: Vec<SearchView>,
    /// The evidence of the only cell.
    only: Option<CellDetails>,
    /// The evidence of several cells.
    packs: Vec<Pack>,
}

/// The meaning of a letter.
struct PropertyKey {
    letter: char,
    property: Property,
    demand: &'static str,
}

/// # Errors
/// Only errors of the template engine; none is expected.
pub(super) fn view(input: &ReportInput) -> Result<Page, askama::Error> {
    let matrix = &input.matrix;
    let title = match (&matrix.cells[..], &input.searches[..]) {
        (_, [search, ..]) => format!("{}, searched", name(&search.lock.name).shown),
        ([cell], _) => format!(
            "{} in {}",
            name(&cell.lock.name).shown,
            name(&cell.scenario).shown
        ),
        (cells, _) => {
            let locks = distinct(cells.iter().map(|cell| cell.lock.name.as_str()));
            format!("{} locks tested", locks.len())
        }
    };
    let inapplicable = inapplicable(matrix);
    let mut details = all_cell_details(input);
    let only = match matrix.cells.len() {
        1 => details.next(),
        _ => None,
    };
    Ok(Page {
        frame: Frame {
            notices: notices(input),
            counts: cell_counts(input),
            ..Frame::new(STYLE, SCRIPT, &matrix.picklock, title)
        },
        counted: counts_in_words(matrix),
        facts: facts(input),
        reproduce: sentence(&matrix.reproduce),
        many_runs: matrix.cells.iter().any(|cell| cell.runs > 1),
        inapplicable: inapplicable
            .iter()
            .take(MOST_REASONS)
            .map(|group| sentence(&group.in_words()))
            .collect(),
        inapplicable_more: inapplicable.len().saturating_sub(MOST_REASONS),
        inapplicable_cells: inapplicable.iter().map(|group| group.locks.len()).sum(),
        not_applicable: NOT_APPLICABLE,
        backends: grid::backends(matrix),
        properties: Property::ALL.map(property_key).into(),
        signs: [
            Status::Held,
            Status::Violated,
            Status::Unknown,
            Status::NotApplicable,
        ]
        .map(Status::sign),
        scorecard: scorecard(input),
        searches: searches(input),
        only,
        packs: packs(details)?,
    })
}

fn property_key(property: Property) -> PropertyKey {
    PropertyKey {
        letter: describe(property).letter,
        property,
        demand: property.demand(),
    }
}

fn notices(input: &ReportInput) -> Vec<Name> {
    let interrupted = input.matrix.interrupted;
    let interrupted = interrupted.then(|| sentence("Interrupted by the user: cells are missing."));
    let skipped = input.skipped.iter().take(MOST_NOTICES);
    let left_out = skipped.map(|words| sentence(&format!("Skipped: {words}")));
    let more = input.skipped.len().saturating_sub(MOST_NOTICES);
    let more = (more > 0).then(|| sentence(&format!("Skipped: {more} more.")));
    interrupted
        .into_iter()
        .chain(left_out)
        .chain(more)
        .collect()
}

/// The number of cells of each status.
fn cell_counts(input: &ReportInput) -> Vec<Count> {
    let cells = &input.matrix.cells;
    // The page of a search alone has none.
    if cells.is_empty() && input.matrix.skipped.is_empty() {
        return Vec::new();
    }
    let of_tone = |tone: &str| {
        let tiles = cells.iter().map(super::tile::tile);
        tiles.filter(|tile| tile.tone == tone).count()
    };
    let violated = Status::Violated.sign();
    let surprising = cells.iter().filter(|cell| cell.is_surprising()).count();
    let all = [
        ("surprise", "‼", surprising, "not as expected"),
        ("held", Status::Held.sign(), of_tone("held"), "held"),
        ("lock", violated, of_tone("lock"), "the lock’s fault"),
        ("redis", violated, of_tone("redis"), "Redis lost the lock"),
        ("client", violated, of_tone("client"), "the client’s fault"),
        ("fenced", "◆", of_tone("fenced"), "saved by fencing"),
        (
            "unknown",
            Status::Unknown.sign(),
            of_tone("unknown"),
            "not judged",
        ),
        ("failed", "!", of_tone("failed"), "not run"),
        (
            "absent",
            Status::NotApplicable.sign(),
            of_tone("absent") + input.matrix.skipped.len(),
            NOT_APPLICABLE,
        ),
    ];
    counts(all, "surprise")
}

/// How it was run.
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
    facts.push(fact(
        "cells",
        format!("{}; {}", counts_in_words(matrix), count(runs, "run")),
    ));
    for one in &matrix.similarity {
        let words = format!("{} ({})", similarity_in_words(one), one.backend);
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
        if !all.is_empty() {
            facts.push(fact(
                what,
                distinct(all.iter().map(String::as_str)).join(", "),
            ));
        }
    }
    if let Some(elapsed_ms) = matrix.elapsed_ms {
        facts.push(fact("took", span_ms(elapsed_ms)));
    }
    facts
}
