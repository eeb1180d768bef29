//! The parts of the page, each of which may be empty.

use std::collections::HashMap;

use picklock_scenarios::BackendName;
use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::latency::ASKED;
use picklock_verdicts::record::{Cell, Mismatch, SearchRecord};

use super::page::Page;
use super::quoted::{block, code, prose};
use crate::cell_status::{self, CellStatus, failures, sign, status};
use crate::escape::shortened;
use crate::matrix::{
    Conclusion, NOT_APPLICABLE, counts_in_words, distinct, inapplicable, lock_with_options,
    name_of_lock, similarity_in_words,
};
use crate::report_input::ReportInput;
use crate::responsibility::responsibility;
use crate::search::statement;
use crate::units::{count, span_us};

/// The properties that every cell of the table shows; the others are named only if they did not
/// hold.
const SHOWN_BY_SIGN: [Property; 3] = [Property::Exclusion, Property::Lease, Property::Resource];

fn with(input: &ReportInput, wanted: CellStatus) -> Vec<&Cell> {
    let cells = input.matrix.cells.iter();
    cells.filter(|cell| status(cell) == wanted).collect()
}

fn place(cell: &Cell) -> String {
    place_columns(&lock_with_options(cell), &cell.scenario, cell.backend)
}

/// Three columns of a table.
pub(crate) fn place_columns(lock: &str, scenario: &str, backend: BackendName) -> String {
    let [lock, scenario, backend] = [lock, scenario, backend.as_str()].map(code);
    format!("{lock} | {scenario} | {backend}")
}

/// A one-line summary of the report, and how much each search has tried.
pub fn headline(page: &mut Page, input: &ReportInput) {
    let cells = input.matrix.cells.len();
    let of = |wanted| with(input, wanted).len();
    let (held, violated) = (of(CellStatus::Held), of(CellStatus::Violated));
    let unknown = of(CellStatus::Unknown);
    // Of the cells that there are: a violation stands even if others are missing.
    let conclusion = Conclusion::of_cells(&input.matrix.cells);
    let is_interrupted = input.matrix.interrupted;
    let head = match (cells, conclusion) {
        (0, _) => "nothing was run".to_owned(),
        (_, Conclusion::AsExpected) if is_interrupted => Conclusion::Interrupted.why(),
        (_, Conclusion::AsExpected) => format!("✔ {}", conclusion.why()),
        (_, Conclusion::Violated { .. }) => format!("✘ {}", conclusion.why()),
        (_, _) => conclusion.why(),
    };
    let interrupted = match is_interrupted {
        true => " It was **interrupted**: cells may be missing.",
        false => "",
    };
    let counts = counts_in_words(&input.matrix);
    let counted = format!(
        "{counts}. By verdict: {held} held, {violated} violated as expected, {unknown} partly undecided.{interrupted}\n\n"
    );
    let text = match (&input.searches[..], cells) {
        ([], _) => format!("## Picklock: {head}\n\n{counted}"),
        (searches, 0) => format!("## Picklock: {}\n\n", found(searches)),
        (searches, _) => format!("## Picklock: {}; {head}\n\n{counted}", found(searches)),
    };
    page.add("headlines", &text);
    for search in &input.searches {
        let told: Vec<String> = statement(search).iter().map(|it| prose(it)).collect();
        let (lock, told) = (code(&search.lock.name), told.join(" "));
        page.add("searches", &format!("Search of {lock}: {told}\n\n"));
    }
    for one in &input.matrix.similarity {
        let line = format!("{} ({})\n\n", prose(&similarity_in_words(one)), one.backend);
        page.add("similarities", &line);
    }
}

/// What all searches together have found.
fn found(searches: &[SearchRecord]) -> String {
    let counterexamples: usize = searches
        .iter()
        .map(|search| search.counterexamples.len())
        .sum();
    let schedules = searches.iter().map(|search| search.schedules);
    let schedules = count(schedules.fold(0, u64::saturating_add), "schedule");
    match counterexamples {
        0 => format!("nothing found in {schedules}"),
        _ => format!("✘ {} in {schedules}", count(counterexamples, "find")),
    }
}

/// Results that are not as expected.
pub fn mismatches(page: &mut Page, input: &ReportInput) {
    let head = "### Not as expected\n\n\
                | lock | scenario | backend | property | expected | got |\n\
                |---|---|---|---|---|---|\n";
    let mut rows = Vec::new();
    for cell in with(input, CellStatus::Failed) {
        rows.extend(failures(cell).iter().map(|failure| mismatch(cell, failure)));
    }
    table_of(page, "mismatches", head, rows);
}

fn mismatch(cell: &Cell, failure: &Mismatch) -> String {
    let runs = match cell.runs {
        0 | 1 => String::new(),
        all => format!(" in {} of {all} runs", failure.runs),
    };
    let (cell, property) = (place(cell), failure.property);
    let [expected, got] = [failure.expected.to_string(), failure.got.to_string()].map(|it| code(&it));
    format!("| {cell} | **{property}** | {expected} | **{got}**{runs} |\n")
}

/// A table whose rows may be cut.
pub(crate) fn table_of(page: &mut Page, kind: &'static str, head: &str, rows: Vec<String>) {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else {
        return;
    };
    // The heading comes with the first row, because a table without rows is useless.
    if !page.add(kind, &format!("{head}{first}")) {
        return page.cut(kind, rows.len());
    }
    for row in rows {
        page.add(kind, &row);
    }
    page.add("blank lines", "\n");
}

/// Cells that could not be run.
pub fn not_run(page: &mut Page, input: &ReportInput) {
    let head = "### Not run\n\n| lock | scenario | backend | why |\n|---|---|---|---|\n";
    // With those that failed with another seed, which are the worst.
    let mut cells: Vec<&Cell> = input.matrix.cells.iter().collect();
    cells.sort_by_key(|cell| status(cell));
    let rows = cells.into_iter().filter_map(|cell| {
        let why = cell.error.as_deref()?;
        Some(format!("| {} | {} |\n", place(cell), prose(why)))
    });
    table_of(page, "cells that were not run", head, rows.collect());
}

/// Expected violations.
pub fn violated(page: &mut Page, input: &ReportInput) {
    let head = "### Violated, as expected\n\n| lock | scenario | backend | violated | runs |\n\
                |---|---|---|---|---|\n";
    let rows = with(input, CellStatus::Violated).into_iter().map(|cell| {
        let verdicts = cell.verdicts.iter();
        let violated = verdicts.filter(|(_, it)| it.status == Status::Violated);
        let violated = violated.map(|(property, verdict)| {
            let cause = verdict.cause.map(|cause| format!(" ({cause})"));
            let rate = match cell.tally.get(property) {
                Some(tally) if cell.runs > 1 => format!(" in {} runs", tally.violated),
                _ => String::new(),
            };
            format!("{property}{}{rate}", cause.unwrap_or_default())
        });
        let violated = violated.collect::<Vec<_>>().join(", ");
        format!("| {} | {violated} | {} |\n", place(cell), cell.runs)
    });
    table_of(page, "violations that were expected", head, rows.collect());
}

/// Locks × scenarios, one table for each backend.
pub fn table(page: &mut Page, input: &ReportInput) {
    let cells = &input.matrix.cells;
    let name_of_lock = name_of_lock(cells);
    let names: Vec<String> = cells.iter().map(name_of_lock).collect();
    let locks = distinct(names.iter().map(String::as_str));
    let scenarios = distinct(cells.iter().map(|cell| cell.scenario.as_str()));
    // Of several runs of one place, each.
    let mut by_place: HashMap<[&str; 3], Vec<String>> = HashMap::new();
    for (cell, name) in cells.iter().zip(&names) {
        let place = [cell.backend.as_str(), &cell.scenario, name];
        by_place.entry(place).or_default().push(marks_of(cell));
    }
    for backend in distinct(cells.iter().map(|cell| cell.backend.as_str())) {
        let names: Vec<String> = locks.iter().map(|lock| code(lock)).collect();
        let (names, columns) = (names.join(" | "), ":-:|".repeat(locks.len()));
        let of = code(backend);
        let head = format!("### Locks × scenarios ({of})\n\n| | {names} |\n|---|{columns}\n");
        let rows = scenarios.iter().map(|scenario| {
            let marks = locks.iter().map(|lock| {
                let all = by_place.get(&[backend, scenario, lock]);
                all.map_or(String::new(), |all| all.join(" / "))
            });
            let marks = marks.collect::<Vec<_>>().join(" | ");
            format!("| {} | {marks} |\n", code(scenario))
        });
        table_of(page, "rows of the table", &head, rows.collect());
    }
    if !cells.is_empty() {
        let shown = SHOWN_BY_SIGN.map(Property::as_str).join(", ");
        let [held, violated] = [Status::Held, Status::Violated].map(Status::sign);
        let [unknown, not_applicable] = [Status::Unknown, Status::NotApplicable].map(Status::sign);
        let legend = format!(
            "Each cell: {shown}; {held} held, {violated} violated, {unknown} undecided, \
             {not_applicable} {NOT_APPLICABLE}; other properties by name where violated (or \
             undecided, with {unknown}); **bold with !**: not as expected.\n\n"
        );
        page.add("legends", &legend);
    }
}

fn marks_of(cell: &Cell) -> String {
    match status(cell) {
        CellStatus::NotRun => return "not run".to_owned(),
        CellStatus::NotApplicable => return Status::NotApplicable.sign().to_owned(),
        _ => {}
    }
    let mut marks: String = SHOWN_BY_SIGN.map(|property| sign(cell, property)).concat();
    for (property, verdict) in &cell.verdicts {
        match verdict.status {
            _ if SHOWN_BY_SIGN.contains(property) => {}
            Status::Violated => marks.push_str(&format!(" {property}")),
            Status::Unknown => marks.push_str(&format!(" {property}?")),
            Status::Held | Status::NotApplicable => {}
        }
    }
    match status(cell) {
        CellStatus::Failed => format!("**{marks} !**"),
        _ => marks,
    }
}

/// The story of each failure, the worst first, collapsed.
pub fn stories(page: &mut Page, input: &ReportInput) {
    let mut head = "### Stories\n\n";
    for cell in with(input, CellStatus::Failed) {
        let story = story(cell, input.replayable(cell));
        if page.add("stories", &format!("{head}{story}")) {
            head = "";
        }
    }
}

fn story(cell: &Cell, replayable: Option<&str>) -> String {
    let failures = failures(cell);
    let mut lines: Vec<String> = Vec::new();
    let mut told: Vec<&[String]> = Vec::new();
    for failure in &failures {
        let (property, expected, got) = (failure.property, &failure.expected, &failure.got);
        lines.push(format!("{property}: expected {expected}, got {got}"));
        let story = cell_status::story(cell, failure.property);
        if !story.is_empty() && told.contains(&story) {
            lines.push("  (the same story)".to_owned());
        } else {
            lines.extend(story.iter().map(|line| format!("  {line}")));
            told.push(story);
        }
    }
    let responsibility = responsibility(&cell.verdicts);
    let responsibility = responsibility.map_or(String::new(), |text| format!("{text}\n\n"));
    let summary: Vec<&str> = failures.iter().map(|it| it.property.as_str()).collect();
    let title = shortened(&cell_status::title(cell), 200);
    let replay = replayable.map_or(String::new(), |run_dir| {
        let command = block(&[format!("picklock replay {}", shell_words::quote(run_dir))]);
        format!("\n\nIts <code>repro.toml</code> is kept:\n\n{command}")
    });
    format!(
        "<details><summary>{} — {}</summary>\n\n{}\n\n{}\n\n{responsibility}See it again:\n\n{}{replay}\n\n</details>\n\n",
        code(&title),
        summary.join(", "),
        prose(&cell.summary),
        block(&lines),
        block(std::slice::from_ref(&cell.reproduce)),
    )
}

/// What the locks or the backends do not offer.
pub fn not_applicable(page: &mut Page, input: &ReportInput) {
    let head = "### Not applicable\n\n| locks | scenario | backend | why |\n|---|---|---|---|\n";
    let rows = inapplicable(&input.matrix).into_iter().map(|group| {
        let locks: Vec<String> = group.locks.iter().map(|lock| code(lock)).collect();
        let [scenario, backend] = [group.scenario, group.backend.as_str()].map(code);
        let (locks, why) = (locks.join(", "), prose(group.reason));
        format!("| {locks} | {scenario} | {backend} | {why} |\n")
    });
    table_of(page, "cells that are not applicable", head, rows.collect());
}

/// Paths that could not be read.
pub fn omitted(page: &mut Page, input: &ReportInput) {
    for (index, reason) in input.skipped.iter().enumerate() {
        let head = if index == 0 { "### Skipped\n\n" } else { "" };
        let note = format!("{head}- {}\n", prose(reason));
        page.add("notes on what was skipped", &note);
    }
}

/// How it was run, and the commands that repeat it.
pub fn how(page: &mut Page, input: &ReportInput) {
    let matrix = &input.matrix;
    let commands: Vec<String> = matrix.reproduce.lines().map(str::to_owned).collect();
    // A search has no number of runs per cell.
    let runs = match input.searches.is_empty() {
        true => format!("{} per cell from ", count(matrix.seeds, "run")),
        false => String::new(),
    };
    let text = format!(
        "\nTo repeat all of it (picklock {}, {runs}seed {}):\n\n{}\n\nA held property is \
         not proven: these runs found no violation of it.\n",
        prose(&matrix.picklock),
        matrix.seed,
        block(&commands),
    );
    page.add("commands", &text);
}

/// A row for each cell whose buyers arrived at a rate.
pub(super) fn open_loops(page: &mut Page, input: &ReportInput) {
    let head = "### Open loops\n\n\
                Time to acquire (median / 99 % / longest): from the intended start, when the \
                buyer arrived; and from the request that a worker sent for the buyer.\n\n\
                | lock | scenario | backend | arrived | unserved | from the intended start | from the request |\n\
                |---|---|---|---:|---:|---|---|\n";
    let rows = input.matrix.cells.iter().filter_map(open_loop_row);
    table_of(page, "open loops", head, rows.collect());
}

fn open_loop_row(cell: &Cell) -> Option<String> {
    let (arrived, unserved) = (cell.counts.arrived?, cell.counts.unserved?);
    let [intended, asked] = ["acquire", ASKED].map(|operation| {
        let latency = cell.latency.get(operation).filter(|it| it.count > 0);
        latency.map_or("never acquired".to_owned(), |it| {
            [it.p50_us, it.p99_us, it.max_us].map(span_us).join(" / ")
        })
    });
    let cell = place(cell);
    Some(format!(
        "| {cell} | {arrived} | {unserved} | {intended} | {asked} |\n"
    ))
}
