//! The page that compares two sets of runs: changed verdicts first, then latencies.

use askama::Template;
use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::Cell;

use super::cell_details::{ProblemView, problem_views};
use super::frame::{Command, Count, Frame, counts};
use super::name::{Name, name, sentence};
use super::page::facts;
use super::ratio_axis::{self, Axis, Mark, Tick};
use super::tone::Tone;
use crate::comparison::{
    Change, ChangedStory, Comparison, Direction, METHOD, OtherServer, Parameter, Place, Ratio,
    describe_ratio, headline, percentile,
};
use crate::format::{File, FormatError};
use crate::report_input::ReportInput;
use crate::responsibility::Blame;

const STYLE: &str = concat!(
    include_str!("../../assets/base.css"),
    include_str!("../../assets/matrix.css"),
    include_str!("../../assets/cell_details.css"),
    include_str!("../../assets/before_after.css"),
    include_str!("../../assets/print.css"),
    include_str!("../../assets/before_after_print.css"),
);

const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("../../assets/theme.js"),
    include_str!("../../assets/navigation.js"),
    "startTheme();\nstartNavigation();\n})();\n",
);

/// Maximum number of stories per direction and of ratios per kind to list. The rest is counted.
const MAX_ROWS: usize = 1_000;
/// Maximum number of cells per list. The rest is counted.
const MAX_PLACES: usize = 200;

#[derive(Template)]
#[template(path = "before_after.html")]
struct BeforeAfter {
    frame: Frame,
    /// Parameters with other values after, in words.
    parameters: Vec<String>,
    groups: Vec<Group>,
    lists: Vec<PlaceList>,
    width: f64,
    height: f64,
    ticks: Vec<Tick>,
    ratios: Vec<RatioTable>,
    compared: Vec<Compared>,
    commands: Vec<(&'static str, Command)>,
    method: &'static str,
}

/// Changes of one direction.
struct Group {
    title: &'static str,
    about: &'static str,
    tone: Tone,
    sign: &'static str,
    rows: Vec<Changed>,
    more: usize,
}

/// Changes of one cell that one story explains.
struct Changed {
    lock: Name,
    scenario: Name,
    backend: Name,
    item: String,
    before: Name,
    after: Name,
    /// The party at fault for the result after.
    after_tone: Tone,
    /// The verdict on each property, if there are several, and what the scenario expects.
    verdicts: Vec<ChangedVerdict>,
    open: bool,
    /// The violation after.
    problem: Option<ProblemView>,
    command: Command,
}

/// The change of the verdict on one property.
struct ChangedVerdict {
    property: &'static str,
    before: Name,
    after: Name,
    expected: Option<Name>,
}

/// Cells that are in only one set, or whose scenario has changed.
struct PlaceList {
    title: &'static str,
    about: &'static str,
    places: Vec<Name>,
    more: usize,
}

/// Ratios of one kind.
struct RatioTable {
    title: String,
    about: &'static str,
    /// Whether the table is collapsed because it shows no change.
    is_noise: bool,
    rows: Vec<RatioRow>,
    more: usize,
}

struct RatioRow {
    lock: Name,
    scenario: Name,
    backend: Name,
    operation: Name,
    percentile: String,
    words: String,
    direction: &'static str,
    mark: Mark,
}

/// One fact about how both sets were run.
struct Compared {
    what: &'static str,
    before: Name,
    after: Name,
    differ: bool,
}

/// Returns the page as a whole HTML document. `comparison` must compare the matrices of the two inputs.
///
/// # Errors
/// Returns an error only if the template engine fails.
pub fn comparison_page(
    before: &ReportInput,
    after: &ReportInput,
    comparison: &Comparison,
) -> Result<String, FormatError> {
    let axis = Axis::new(&comparison.latency);
    let page = BeforeAfter {
        frame: Frame {
            notices: notices(before, after),
            counts: change_counts(comparison),
            ..Frame::new(STYLE, SCRIPT, &after.matrix.picklock, headline(comparison))
        },
        parameters: comparison
            .parameters
            .iter()
            .map(Parameter::describe)
            .collect(),
        groups: groups(comparison, &after.matrix.cells),
        lists: lists(comparison),
        ticks: axis.ticks(),
        ratios: tables(comparison, axis),
        width: ratio_axis::WIDTH,
        height: ratio_axis::HEIGHT,
        compared: compared(before, after),
        commands: vec![
            ("before", Command::for_command(&before.matrix.reproduce)),
            ("after", Command::for_command(&after.matrix.reproduce)),
        ],
        method: METHOD,
    };
    page.render().map_err(super::refused)
}

/// Returns the page as a report file, `comparison.html`.
///
/// # Errors
/// Returns the errors of [`comparison_page`].
pub fn comparison_file(
    before: &ReportInput,
    after: &ReportInput,
    comparison: &Comparison,
) -> Result<File, FormatError> {
    let page = comparison_page(before, after, comparison)?;
    Ok(File::page("comparison.html", page))
}

/// Returns the counts that the headline does not have.
fn change_counts(comparison: &Comparison) -> Vec<Count> {
    let latencies = |sign, label| {
        let ratios = comparison.latency.iter();
        let count = ratios.filter(|ratio| direction(ratio) == sign).count();
        (Tone::Unknown, sign, count, label)
    };
    let one_sided = comparison.only_before.len() + comparison.only_after.len();
    let all = [
        latencies("▲", "latencies grew"),
        latencies("▼", "latencies fell"),
        (Tone::Unknown, "◐", one_sided, "cells on one side only"),
    ];
    // No count is shown if it is zero.
    counts(all, Tone::Absent)
}

fn notices(before: &ReportInput, after: &ReportInput) -> Vec<Name> {
    let mut notices = Vec::new();
    for (side, input) in [("Before", before), ("After", after)] {
        if input.matrix.interrupted {
            let words = format!("{side}: interrupted by the user; cells are missing.");
            notices.push(sentence(&words));
        }
        let skipped = input.skipped.iter();
        notices.extend(skipped.map(|words| sentence(&format!("{side}, skipped: {words}"))));
    }
    notices
}

fn groups(comparison: &Comparison, after: &[Cell]) -> Vec<Group> {
    let kinds = [
        (
            Direction::Worse,
            "Got worse",
            "Held before and violated after, decided before and inconclusive after, or run before and not run after.",
            (Tone::Lock, Status::Violated.sign()),
        ),
        (
            Direction::UnexpectedPass,
            "No longer violated, although the scenario expects it",
            "The lock was fixed, or the fault no longer has its effect.",
            (Tone::Unknown, "≠"),
        ),
        (
            Direction::Other,
            "Violated with another cause",
            "",
            (Tone::Unknown, "≠"),
        ),
        (
            Direction::Better,
            "Got better",
            "",
            (Tone::Held, Status::Held.sign()),
        ),
    ];
    let stories = comparison.stories();
    let group = |(direction, title, about, (tone, sign))| {
        let here = stories.iter().filter(|it| it.direction == direction);
        let shown = here.clone().take(MAX_ROWS);
        let mut rows: Vec<Changed> = shown.map(|story| changed(story, after)).collect();
        if let [only] = &mut rows[..] {
            only.open = only.problem.is_some();
        }
        Group {
            title,
            about,
            tone,
            sign,
            more: here.count() - rows.len(),
            rows,
        }
    };
    let groups = kinds.into_iter().map(group);
    groups.filter(|group| !group.rows.is_empty()).collect()
}

fn changed(story: &ChangedStory<'_>, after: &[Cell]) -> Changed {
    let first = story.first();
    let after = after.get(first.after_index);
    let properties = || story.changes.iter().filter_map(|change| change.property);
    let problems = after.map_or_else(Vec::new, |cell| problem_views(&cell.verdicts, None));
    let mut problems = problems.into_iter();
    let problem = problems.find(|it| properties().any(|property| it.violates(property)));
    let reproduce = after.map_or("", |cell| cell.reproduce.as_str());
    let [one, other] = story.outcomes().map(|it| sentence(&it.to_string()));
    let has_more = |change: &&&Change| story.changes.len() > 1 || change.expected.is_some();
    let verdicts = story.changes.iter().filter(has_more);
    Changed {
        lock: name(&first.place.lock),
        scenario: name(&first.place.scenario),
        backend: name(first.place.backend.as_str()),
        after_tone: after_tone(story, after),
        item: story.item(),
        before: one,
        after: other,
        verdicts: verdicts.map(|change| changed_verdict(change)).collect(),
        open: false,
        problem,
        command: Command::for_command(reproduce),
    }
}

/// Returns the tone of the result after, whatever it was before.
fn after_tone(story: &ChangedStory<'_>, after: Option<&Cell>) -> Tone {
    let [_, outcome] = story.outcomes();
    match outcome.verdict().map(|(status, _)| status) {
        Some(Status::Held) => Tone::Held,
        Some(Status::Violated) => after.map_or(Tone::Unknown, |cell| {
            let blame = Blame::from_cell(cell);
            let parties = story
                .changes
                .iter()
                .filter_map(|it| blame.party(it.property?));
            parties.max().map_or(Tone::Unknown, Tone::from)
        }),
        _ => Tone::Unknown,
    }
}

fn changed_verdict(change: &Change) -> ChangedVerdict {
    let expected = change.expected.as_ref();
    ChangedVerdict {
        property: change.property.map_or("cell", Property::as_str),
        before: sentence(&change.before.to_string()),
        after: sentence(&change.after.to_string()),
        expected: expected.map(|expected| name(&expected.to_string())),
    }
}

fn lists(comparison: &Comparison) -> Vec<PlaceList> {
    let describe = |places: &[Place]| places.iter().map(Place::to_string).collect::<Vec<_>>();
    let servers = comparison.other_server.iter().map(OtherServer::describe);
    let all = [
        (
            "Only before",
            "Cells that are only in the set before.",
            describe(&comparison.only_before),
        ),
        (
            "Only after",
            "Cells that are only in the set after.",
            describe(&comparison.only_after),
        ),
        (
            "Scenario changed",
            "Same name, different content: the scenario may be the reason for a change.",
            describe(&comparison.other_scenario),
        ),
        (
            "Server changed",
            "Another server or version: it may be the reason for a change.",
            servers.collect(),
        ),
    ];
    let lists = all.into_iter().filter(|(.., cells)| !cells.is_empty());
    let list = |(title, about, cells): (_, _, Vec<String>)| PlaceList {
        title,
        about,
        more: cells.len().saturating_sub(MAX_PLACES),
        places: cells
            .iter()
            .take(MAX_PLACES)
            .map(|cell| sentence(cell))
            .collect(),
    };
    lists.map(list).collect()
}

/// Returns the direction of a ratio, as an arrow. Colours are for faults.
fn direction(ratio: &Ratio) -> &'static str {
    match ratio.ratio {
        _ if ratio.within_noise => "",
        Some(times) if times < 1.0 => "▼",
        _ => "▲",
    }
}

fn tables(comparison: &Comparison, axis: Axis) -> Vec<RatioTable> {
    let all = &comparison.latency;
    let table = |(is_noise, title, about): (bool, &str, &'static str)| {
        let ratios = all.iter().filter(|ratio| ratio.within_noise == is_noise);
        let number = ratios.clone().count();
        let rows = ratios.take(MAX_ROWS);
        let rows: Vec<RatioRow> = rows.map(|ratio| ratio_row(ratio, axis)).collect();
        RatioTable {
            title: format!("{title}: {number} of {}", all.len()),
            about,
            is_noise,
            more: number - rows.len(),
            rows,
        }
    };
    let differ = "The intervals before and after do not overlap.";
    let tables = [
        (false, "Beyond noise", differ),
        (true, "Within noise", "No change is shown."),
    ];
    let tables = tables.into_iter().map(table);
    tables.filter(|table| !table.rows.is_empty()).collect()
}

fn ratio_row(ratio: &Ratio, axis: Axis) -> RatioRow {
    RatioRow {
        lock: name(&ratio.place.lock),
        scenario: name(&ratio.place.scenario),
        backend: name(ratio.place.backend.as_str()),
        operation: name(&ratio.operation),
        percentile: percentile(ratio.quantile),
        words: describe_ratio(ratio),
        direction: direction(ratio),
        mark: axis.mark(ratio),
    }
}

/// Lists how both sets were run, one fact per row. Rows that differ are marked, because they may explain a
/// change.
fn compared(before: &ReportInput, after: &ReportInput) -> Vec<Compared> {
    let (before, mut after) = (facts(before), facts(after));
    let mut rows = Vec::new();
    for one in before {
        let place = after.iter().position(|other| other.what == one.what);
        let other = place.map_or_else(Name::default, |place| after.remove(place).value);
        rows.push(Compared {
            what: one.what,
            differ: one.value != other && one.what != "took",
            before: one.value,
            after: other,
        });
    }
    rows.extend(after.into_iter().map(|fact| Compared {
        what: fact.what,
        before: Name::default(),
        after: fact.value,
        differ: true,
    }));
    rows
}
