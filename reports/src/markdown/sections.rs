//! The sections of the page. Each may be empty.

use std::collections::HashMap;

use picklock_scenarios::BackendName;
use picklock_verdicts::check::Status;
use picklock_verdicts::latency::REQUESTED;
use picklock_verdicts::record::{Cell, Mismatch, SearchRecord};

use super::page::Page;
use super::quoted::{block, code, prose};
use crate::cell_mark::CellMark;
use crate::cell_status::{self, failures, overall};
use crate::escape::{quoted, shortened};
use crate::matrix::{
    CellOutcome, Conclusion, Severity, describe_counts, describe_similarity, distinct,
    inapplicable, lock_warnings, lock_with_options, name_of_lock,
};
use crate::problem::problems;
use crate::report_input::ReportInput;
use crate::search::statement;
use crate::units::{count, span_us};

/// Returns the cells with unexpected results, and those without expectations that did not hold.
fn failed(input: &ReportInput) -> impl Iterator<Item = &Cell> {
    let cells = input.matrix.cells.iter();
    cells.filter(|cell| CellOutcome::from_cell(cell).has_failures())
}

/// Returns the applicable cells without failures whose worst verdict has this status.
fn as_expected(input: &ReportInput, status: Status) -> impl Iterator<Item = &Cell> {
    input.matrix.cells.iter().filter(move |cell| {
        let outcome = CellOutcome::from_cell(cell);
        outcome.severity() == Severity::AsExpected
            && outcome != CellOutcome::NotApplicable
            && overall(&cell.verdicts) == status
    })
}

fn place(cell: &Cell) -> String {
    place_columns(&lock_with_options(cell), &cell.scenario, cell.backend)
}

/// Formats lock, scenario and backend as three columns of a table.
pub(crate) fn place_columns(lock: &str, scenario: &str, backend: BackendName) -> String {
    let [lock, scenario, backend] = [lock, scenario, backend.as_str()].map(code);
    format!("{lock} | {scenario} | {backend}")
}

/// Adds a one-line summary of the report, and the coverage of each search.
pub fn headline(page: &mut Page, input: &ReportInput) {
    let cells = input.matrix.cells.len();
    let [held, violated, unknown] = [Status::Held, Status::Violated, Status::Unknown]
        .map(|status| as_expected(input, status).count());
    // Based on the cells that were run: a violation counts even if other cells are missing.
    let conclusion = Conclusion::from_cells(&input.matrix.cells);
    let is_interrupted = input.matrix.interrupted;
    let head = match conclusion.severity() {
        _ if cells == 0 => "no cell was run".to_owned(),
        Severity::AsExpected if is_interrupted => Conclusion::from_matrix(&input.matrix).describe(),
        Severity::AsExpected => format!("✔ {}", conclusion.describe()),
        Severity::Failed => format!("✘ {}", conclusion.describe()),
        _ => conclusion.describe(),
    };
    let interrupted = if is_interrupted {
        " The matrix was **interrupted**: cells may be missing."
    } else {
        ""
    };
    let counts = describe_counts(&input.matrix);
    let counted = format!(
        "{counts}. By verdict: {held} held, {violated} violated as expected, {unknown} partly inconclusive.{interrupted}\n\n"
    );
    let text = match (&input.searches[..], cells) {
        ([], _) => format!("## Picklock: {head}\n\n{counted}"),
        (searches, 0) => format!("## Picklock: {}\n\n", describe_results(searches)),
        (searches, _) => format!(
            "## Picklock: {}; {head}\n\n{counted}",
            describe_results(searches)
        ),
    };
    page.add("headlines", &text);
    for search in &input.searches {
        let sentences: Vec<String> = statement(search).iter().map(|it| prose(it)).collect();
        let (lock, sentences) = (code(&search.lock.name), sentences.join(" "));
        page.add("searches", &format!("Search of {lock}: {sentences}\n\n"));
    }
    for one in &input.matrix.similarity {
        let line = format!("{} ({})\n\n", prose(&describe_similarity(one)), one.backend);
        page.add("similarities", &line);
    }
}

/// Adds the warnings of each lock.
pub fn warnings(page: &mut Page, input: &ReportInput) {
    let mut head = "### Warnings\n\n";
    for warning in lock_warnings(&input.matrix.cells) {
        let line = format!("{head}- {}\n", prose(&warning));
        if page.add("warnings", &line) {
            head = "";
        }
    }
    if head.is_empty() {
        page.add("blank lines", "\n");
    }
}

/// Summarizes the results of all searches.
fn describe_results(searches: &[SearchRecord]) -> String {
    let counterexamples: usize = searches
        .iter()
        .map(|search| search.counterexamples.len())
        .sum();
    let schedules = searches.iter().map(|search| search.schedules);
    let schedules = count(schedules.fold(0, u64::saturating_add), "schedule");
    match counterexamples {
        0 => format!("no counterexample in {schedules}"),
        _ => format!(
            "✘ {} in {schedules}",
            count(counterexamples, "counterexample")
        ),
    }
}

/// Adds the unexpected results.
pub fn mismatches(page: &mut Page, input: &ReportInput) {
    let head = "### Unexpected results\n\n\
                | lock | scenario | backend | property | expected | got |\n\
                |---|---|---|---|---|---|\n";
    let mut rows = Vec::new();
    for cell in failed(input) {
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
    let [expected, got] =
        [failure.expected.to_string(), failure.got.to_string()].map(|it| code(&it));
    format!("| {cell} | **{property}** | {expected} | **{got}**{runs} |\n")
}

/// Adds a table whose last rows may be omitted.
pub(crate) fn table_of(page: &mut Page, kind: &'static str, head: &str, rows: Vec<String>) {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else {
        return;
    };
    // The heading is added with the first row, because a table without rows is useless.
    if !page.add(kind, &format!("{head}{first}")) {
        return page.cut(kind, rows.len());
    }
    for row in rows {
        page.add(kind, &row);
    }
    page.add("blank lines", "\n");
}

/// Adds the cells that failed to run.
pub fn not_run(page: &mut Page, input: &ReportInput) {
    let head = "### Not run\n\n| lock | scenario | backend | reason |\n|---|---|---|---|\n";
    // Includes cells that failed with another seed, which come first because they are the worst.
    let mut cells: Vec<&Cell> = input.matrix.cells.iter().collect();
    cells.sort_by_key(|cell| CellOutcome::from_cell(cell).severity());
    let rows = cells.into_iter().filter_map(|cell| {
        let why = cell.error.as_deref()?;
        Some(format!("| {} | {} |\n", place(cell), prose(why)))
    });
    table_of(page, "cells that were not run", head, rows.collect());
}

/// Adds the expected violations.
pub fn violated(page: &mut Page, input: &ReportInput) {
    let head = "### Violated, as expected\n\n| lock | scenario | backend | violated | runs |\n\
                |---|---|---|---|---|\n";
    let rows = as_expected(input, Status::Violated).map(|cell| {
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

/// Adds the table of locks × scenarios for each backend.
pub fn table(page: &mut Page, input: &ReportInput) {
    let cells = &input.matrix.cells;
    let name_of_lock = name_of_lock(cells);
    let names: Vec<String> = cells.iter().map(name_of_lock).collect();
    let locks = distinct(names.iter().map(String::as_str));
    let scenarios = distinct(cells.iter().map(|cell| cell.scenario.as_str()));
    // A place that was run several times shows the sign of each cell.
    let mut by_place: HashMap<[&str; 3], Vec<String>> = HashMap::new();
    for (cell, name) in cells.iter().zip(&names) {
        let place = [cell.backend.as_str(), &cell.scenario, name];
        by_place.entry(place).or_default().push(sign_of(cell));
    }
    for backend in distinct(cells.iter().map(|cell| cell.backend.as_str())) {
        let names: Vec<String> = locks.iter().map(|lock| code(lock)).collect();
        let (names, columns) = (names.join(" | "), ":-:|".repeat(locks.len()));
        let backend_code = code(backend);
        let head =
            format!("### Locks × scenarios ({backend_code})\n\n| | {names} |\n|---|{columns}\n");
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
        let marks: Vec<CellMark> = cells.iter().map(CellMark::from_cell).collect();
        let used = CellMark::ALL.into_iter().filter(|it| marks.contains(it));
        let meanings: Vec<String> = used
            .map(|mark| format!("{} {}", mark.sign(), mark.meaning()))
            .collect();
        let legend = format!("{}; **bold with !**: unexpected.\n\n", meanings.join(", "));
        page.add("legends", &legend);
    }
}

/// Returns the sign of a cell, as all reports show it.
fn sign_of(cell: &Cell) -> String {
    let sign = CellMark::from_cell(cell).sign();
    if CellOutcome::from_cell(cell).has_failures() {
        format!("**{sign} !**")
    } else {
        sign.to_owned()
    }
}

/// Adds the collapsed story of each failure, worst first.
pub fn stories(page: &mut Page, input: &ReportInput) {
    let mut head = "### Stories\n\n";
    for cell in failed(input) {
        let story = story(cell, input.replayable(cell));
        if page.add("stories", &format!("{head}{story}")) {
            head = "";
        }
    }
}

fn story(cell: &Cell, replayable: Option<&str>) -> String {
    let failures = failures(cell);
    let lines: Vec<String> = failures
        .iter()
        .map(|it| format!("{}: expected {}, got {}", it.property, it.expected, it.got))
        .collect();
    let mut told = String::new();
    for problem in problems(&cell.verdicts) {
        let remedy = problem
            .remedy()
            .map(|remedy| format!(" **Remedy:** {}.", prose(remedy)));
        told.push_str(&format!(
            "**{}.** {}{}\n\n{}\n\n",
            prose(&problem.headline()),
            prose(&problem.fault(&cell.verdicts)),
            remedy.unwrap_or_default(),
            block(&problem.story())
        ));
    }
    let summary: Vec<&str> = failures.iter().map(|it| it.property.as_str()).collect();
    let title = shortened(&cell_status::title(cell), 200);
    let replay = replayable.map_or(String::new(), |run_dir| {
        let command = block(&[format!("picklock replay {}", quoted(run_dir))]);
        format!("\n\nFrom the saved <code>repro.toml</code>:\n\n{command}")
    });
    format!(
        "<details><summary>{} — {}</summary>\n\n{}\n\n{}\n\n{told}Reproduce:\n\n{}{replay}\n\n</details>\n\n",
        code(&title),
        summary.join(", "),
        prose(&cell.summary),
        block(&lines),
        block(std::slice::from_ref(&cell.reproduce)),
    )
}

/// Adds the cells that are not applicable.
pub fn not_applicable(page: &mut Page, input: &ReportInput) {
    let head = "### Not applicable\n\n| locks | scenario | backend | reason |\n|---|---|---|---|\n";
    let rows = inapplicable(&input.matrix).into_iter().map(|group| {
        let locks: Vec<String> = group.locks.iter().map(|lock| code(lock)).collect();
        let [scenario, backend] = [group.scenario, group.backend.as_str()].map(code);
        let (locks, why) = (locks.join(", "), prose(group.reason));
        format!("| {locks} | {scenario} | {backend} | {why} |\n")
    });
    table_of(page, "cells that are not applicable", head, rows.collect());
}

/// Adds the paths that could not be read.
pub fn omitted(page: &mut Page, input: &ReportInput) {
    for (index, reason) in input.skipped.iter().enumerate() {
        let head = if index == 0 { "### Skipped\n\n" } else { "" };
        let note = format!("{head}- {}\n", prose(reason));
        page.add("notes on what was skipped", &note);
    }
}

/// Adds the settings of the matrix and the commands that repeat it.
pub fn how(page: &mut Page, input: &ReportInput) {
    let matrix = &input.matrix;
    let commands: Vec<String> = matrix.reproduce.lines().map(str::to_owned).collect();
    // A search has no number of runs per cell.
    let runs = if input.searches.is_empty() {
        format!("{} per cell from ", count(matrix.seeds, "run"))
    } else {
        String::new()
    };
    let text = format!(
        "\nTo repeat everything (picklock {}, {runs}seed {}):\n\n{}\n\nA held property is \
         not proven: these runs found no violation of it.\n",
        prose(&matrix.picklock),
        matrix.seed,
        block(&commands),
    );
    page.add("commands", &text);
}

/// Adds a row for each cell with an open loop.
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
    let [intended, from_request] = ["acquire", REQUESTED].map(|operation| {
        let latency = cell.latency.get(operation).filter(|it| it.count > 0);
        latency.map_or("never acquired".to_owned(), |it| {
            [it.p50_us, it.p99_us, it.max_us].map(span_us).join(" / ")
        })
    });
    let cell = place(cell);
    Some(format!(
        "| {cell} | {arrived} | {unserved} | {intended} | {from_request} |\n"
    ))
}
