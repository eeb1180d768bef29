//! The parts of the page, each of which may be empty.

use std::collections::HashMap;

use picklock_scenarios::BackendName;
use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::latency::ASKED;
use picklock_verdicts::record::{Cell, Latency, SearchRecord, Surprise};

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

/// Cells by status, the worst first; cells with the same status keep their order.
fn ranked(input: &ReportInput) -> Vec<&Cell> {
    let mut cells: Vec<&Cell> = input.matrix.cells.iter().collect();
    cells.sort_by_key(|cell| status(cell));
    cells
}

fn with(input: &ReportInput, wanted: CellStatus) -> Vec<&Cell> {
    let cells = input.matrix.cells.iter();
    cells.filter(|cell| status(cell) == wanted).collect()
}

pub(super) fn place(cell: &Cell) -> String {
    place_columns(&lock_with_options(cell), &cell.scenario, cell.backend)
}

/// Three columns of a table.
pub(crate) fn place_columns(lock: &str, scenario: &str, backend: BackendName) -> String {
    let [lock, scenario, backend] = [lock, scenario, backend.word()].map(code);
    format!("{lock} | {scenario} | {backend}")
}

/// A one-line summary of the report, and how much each search has tried.
pub fn headline(page: &mut Page, input: &ReportInput) {
    let cells = input.matrix.cells.len();
    let count = |wanted| with(input, wanted).len();
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
        "{counts}. By verdict: {} held, {} violated as expected, {} partly undecided.{interrupted}\n\n",
        count(CellStatus::Held),
        count(CellStatus::Violated),
        count(CellStatus::Unknown),
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
    let finds: usize = searches.iter().map(|search| search.finds.len()).sum();
    let schedules = searches.iter().map(|search| search.schedules);
    let schedules = count(schedules.fold(0, u64::saturating_add), "schedule");
    match finds {
        0 => format!("nothing found in {schedules}"),
        _ => format!("✘ {} in {schedules}", count(finds, "find")),
    }
}

/// Results that are not as expected.
pub fn surprises(page: &mut Page, input: &ReportInput) {
    let head = "### Not as expected\n\n\
                | lock | scenario | backend | property | expected | got |\n\
                |---|---|---|---|---|---|\n";
    let rows = with(input, CellStatus::Failed)
        .into_iter()
        .flat_map(|cell| {
            let rows = failures(cell);
            rows.into_iter()
                .map(move |failure| surprise(cell, &failure))
        });
    table_of(page, "surprises", head, rows.collect());
}

fn surprise(cell: &Cell, failure: &Surprise) -> String {
    let runs = match cell.runs {
        0 | 1 => String::new(),
        all => format!(" in {} of {all} runs", failure.runs),
    };
    format!(
        "| {} | **{}** | {} | **{}**{runs} |\n",
        place(cell),
        failure.property,
        code(&failure.expected),
        code(&failure.got)
    )
}

/// A table whose rows may be cut.
pub(crate) fn table_of(page: &mut Page, kind: &'static str, head: &str, rows: Vec<String>) {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else {
        return;
    };
    // The heading comes with the first row, because a table without rows is useless.
    let begun = page.add(kind, &format!("{head}{first}"));
    for row in rows {
        // Rows without their heading are cut with it, and counted.
        page.add_if(begun, kind, &row);
    }
    page.add_if(begun, "blank lines", "\n");
}

/// Cells that could not be run.
pub fn not_run(page: &mut Page, input: &ReportInput) {
    let head = "### Not run\n\n| lock | scenario | backend | why |\n|---|---|---|---|\n";
    // With those that failed with another seed.
    let cells = ranked(input).into_iter();
    let rows = cells.filter_map(|cell| {
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
        let violated = cell
            .verdicts
            .iter()
            .filter(|(_, v)| v.status == Status::Violated);
        let violated = violated.map(|(property, verdict)| match verdict.cause {
            Some(cause) => format!("{property} ({cause}){}", rate(cell, *property)),
            None => format!("{property}{}", rate(cell, *property)),
        });
        let violated: Vec<String> = violated.collect();
        format!(
            "| {} | {} | {} |\n",
            place(cell),
            violated.join(", "),
            cell.runs
        )
    });
    table_of(page, "violations that were expected", head, rows.collect());
}

fn rate(cell: &Cell, property: Property) -> String {
    match cell.tally.get(&property) {
        Some(tally) if cell.runs > 1 => format!(" in {} runs", tally.violated),
        _ => String::new(),
    }
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
        let place = [cell.backend.word(), &cell.scenario, name];
        by_place.entry(place).or_default().push(marks_of(cell));
    }
    for backend in distinct(cells.iter().map(|cell| cell.backend.word())) {
        let names: Vec<String> = locks.iter().map(|lock| code(lock)).collect();
        let head = format!(
            "### Locks × scenarios ({})\n\n| | {} |\n|---|{}\n",
            code(backend),
            names.join(" | "),
            ":-:|".repeat(locks.len())
        );
        let rows = scenarios.iter().map(|scenario| {
            let cells = locks.iter();
            let marks = cells.map(|lock| by_place.get(&[backend, scenario, lock]));
            let marks: Vec<String> = marks
                .map(|all| all.map_or(String::new(), |all| all.join(" / ")))
                .collect();
            format!("| {} | {} |\n", code(scenario), marks.join(" | "))
        });
        table_of(page, "rows of the table", &head, rows.collect());
    }
    if !cells.is_empty() {
        let [held, violated, unknown, not_applicable] = [
            Status::Held,
            Status::Violated,
            Status::Unknown,
            Status::NotApplicable,
        ]
        .map(Status::sign);
        let legend = format!(
            "Each cell: {}; {held} held, {violated} violated, {unknown} undecided, \
             {not_applicable} {NOT_APPLICABLE}; other properties by name where violated (or \
             undecided, with {unknown}); **bold with !**: not as expected.\n\n",
            SHOWN_BY_SIGN.map(Property::word).join(", ")
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
    let failed = ranked(input).into_iter();
    let failed = failed.filter(|cell| status(cell) == CellStatus::Failed);
    let mut is_first = true;
    for cell in failed {
        let head = if is_first { "### Stories\n\n" } else { "" };
        if page.add(
            "stories",
            &format!("{head}{}", story(cell, input.replayable(cell))),
        ) {
            is_first = false;
        }
    }
}

fn story(cell: &Cell, replayable: Option<&str>) -> String {
    let failures = failures(cell);
    let mut lines: Vec<String> = Vec::new();
    let mut told: Vec<&[String]> = Vec::new();
    for failure in &failures {
        lines.push(format!(
            "{}: expected {}, got {}",
            failure.property, failure.expected, failure.got
        ));
        let story = cell_status::story(cell, failure.property);
        if told.contains(&story) {
            lines.push("  (the same story)".to_owned());
        } else {
            lines.extend(story.iter().map(|line| format!("  {line}")));
            told.push(story);
        }
    }
    let responsibility = responsibility(&cell.verdicts);
    let responsibility = responsibility.map_or(String::new(), |text| format!("{text}\n\n"));
    let summary: Vec<String> = failures.iter().map(|f| f.property.to_string()).collect();
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
        let [scenario, backend] = [group.scenario, group.backend.word()].map(code);
        let (locks, why) = (locks.join(", "), prose(group.reason));
        format!("| {locks} | {scenario} | {backend} | {why} |\n")
    });
    table_of(page, "cells that are not applicable", head, rows.collect());
}

/// Paths that could not be read.
pub fn left_out(page: &mut Page, input: &ReportInput) {
    for (index, reason) in input.skipped.iter().enumerate() {
        let head = if index == 0 { "### Skipped\n\n" } else { "" };
        page.add(
            "notes on what was skipped",
            &format!("{head}- {}\n", prose(reason)),
        );
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
    Some(format!(
        "| {} | {arrived} | {unserved} | {} | {} |\n",
        place(cell),
        open_loop_figures(cell.latency.get("acquire")),
        open_loop_figures(cell.latency.get(ASKED)),
    ))
}

fn open_loop_figures(latency: Option<&Latency>) -> String {
    match latency.filter(|latency| latency.count > 0) {
        Some(latency) => format!(
            "{} / {} / {}",
            span_us(latency.p50_us),
            span_us(latency.p99_us),
            span_us(latency.max_us)
        ),
        None => "never acquired".to_owned(),
    }
}
