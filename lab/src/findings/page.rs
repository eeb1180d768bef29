//! The page: an overview, then a section for each library.

use std::fmt::Write;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::Cell;

use super::hypotheses;
use super::kept::{Kept, SERVERS};
use super::mechanisms::Mechanisms;
use super::tally::cells_of;
use super::violations::{self, grouped, is_violated, quoted};
use crate::library::{Library, LibraryLock, Reading};
use picklock_reports::markdown::quoted::{code, prose};
use picklock_reports::report_input::ReportInput;
use picklock_reports::scorecard::{LockScore, Scorecard};

/// Writes the page about these libraries, from their runs in `input`.
///
/// With a `kept` page, libraries without runs keep the rows and the section that they have there. Those that it does
/// not have are left out.
pub fn page(input: &ReportInput, libraries: &[Library], kept: Option<&str>) -> String {
    let mut text = String::new();
    let kept = kept.map(Kept::new);
    // Writing to a string cannot fail.
    overview(&mut text, input, libraries, kept).unwrap_or_default();
    for library in libraries {
        match kept {
            Some(kept) if !has_runs(input, library) => {
                text.push_str(&kept.section(library).unwrap_or_default());
            }
            _ => section(&mut text, library, &input.matrix.cells).unwrap_or_default(),
        }
    }
    if !input.skipped.is_empty() {
        text.push_str("## Skipped\n\n");
        let lines = input.skipped.iter();
        text.extend(lines.map(|reason| format!("- {}\n", prose(reason))));
    }
    text
}

fn has_runs(input: &ReportInput, library: &Library) -> bool {
    let locks = &library.locks;
    let of_library = |cell: &Cell| locks.iter().any(|lock| lock.name == cell.lock.name);
    input.matrix.cells.iter().any(of_library)
}

fn overview(
    text: &mut String,
    input: &ReportInput,
    libraries: &[Library],
    kept: Option<Kept<'_>>,
) -> std::fmt::Result {
    writeln!(
        text,
        "| library | lock | nodes | survived | known limits | defects | not read yet | not judged | runs \
         | commands | acquired in |"
    )?;
    writeln!(
        text,
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    let scores = Scorecard::from_matrix(&input.matrix).map_or_else(Vec::new, |all| all.locks);
    for library in libraries {
        for lock in &library.locks {
            if let (Some(kept), false) = (kept, has_runs(input, library)) {
                text.push_str(&kept.row(lock));
                continue;
            }
            let score = scores.iter().find(|score| score.lock == lock.name);
            let cells = cells_of(&input.matrix.cells, &lock.name);
            score_of(text, library, lock, score, &cells)?;
        }
    }
    let lines = servers(input);
    let kept = kept.and_then(Kept::servers).map(str::to_owned);
    for line in kept
        .iter()
        .filter(|kept| !lines.contains(kept))
        .chain(&lines)
    {
        writeln!(text, "\n{line}")?;
    }
    writeln!(text)
}

/// Returns the line about the servers and the version of Picklock, or nothing if no run names a server.
fn servers(input: &ReportInput) -> Vec<String> {
    let mut servers: Vec<String> = Vec::new();
    let cells = input.matrix.cells.iter();
    for server in cells.filter_map(|cell| cell.redis.as_ref()) {
        let words = server.to_string();
        if !servers.contains(&words) {
            servers.push(words);
        }
    }
    if servers.is_empty() {
        return Vec::new();
    }
    let (servers, picklock) = (prose(&servers.join(", ")), prose(&input.matrix.picklock));
    vec![format!("{SERVERS}{servers}. Picklock {picklock}.")]
}

/// Writes the row of a lock: the number of scenarios that it survived, the mechanisms of its violations, and the cost
/// of a grant.
fn score_of(
    text: &mut String,
    library: &Library,
    lock: &LibraryLock,
    score: Option<&LockScore>,
    cells: &[&Cell],
) -> std::fmt::Result {
    if cells.is_empty() {
        let (library, version) = (prose(&library.name), prose(&library.version));
        let lock = code(&lock.name);
        return writeln!(
            text,
            "| {library} {version} | {lock} | not run | | | | | | | | |"
        );
    }
    let violated = cells.iter().filter(|cell| is_violated(cell)).count();
    let unclear = cells.iter().filter(|cell| is_unclear(cell)).count();
    let mechanisms = Mechanisms::of(library, cells);
    let costs = score.map(|score| &score.costs);
    let commands = costs
        .and_then(|it| it.commands)
        .map_or_else(String::new, |each| format!("{each:.1}"));
    let took = costs
        .and_then(|it| it.healthy)
        .map_or_else(String::new, |it| {
            format!("{:.1} ms", it.p50_us as f64 / 1000.0)
        });
    writeln!(
        text,
        "| {} {} | {} | {} | {} | {} | {} | {} | {unclear} | {} | {commands} | {took} |",
        prose(&library.name),
        prose(&library.version),
        code(&lock.name),
        score.map_or_else(String::new, |score| score.nodes.to_string()),
        cells.len() - violated - unclear,
        mechanisms.limits,
        mechanisms.defects,
        mechanisms.unread,
        cells.iter().map(|cell| cell.runs).sum::<u64>(),
    )
}

/// Returns `true` if nothing was violated but some property was inconclusive in every run.
fn is_unclear(cell: &Cell) -> bool {
    let no_run_judged = |property: &Property| {
        let tally = &cell.tally[property];
        tally.unknown > 0 && tally.held + tally.violated + tally.not_applicable == 0
    };
    !is_violated(cell) && (cell.error.is_some() || cell.tally.keys().any(no_run_judged))
}

fn section(text: &mut String, library: &Library, cells: &[Cell]) -> std::fmt::Result {
    writeln!(
        text,
        "## {} {}\n",
        prose(&library.name),
        prose(&library.version)
    )?;
    writeln!(text, "<{}>\n", library.home)?;
    if let Some(promise) = &library.promise {
        writeln!(text, "It promises: {}\n", quoted(promise))?;
    }
    let mut first: Option<&LibraryLock> = None;
    for lock in &library.locks {
        one_lock(text, library, lock, first, cells)?;
        first.get_or_insert(lock);
    }
    hypotheses::section(text, library, cells)
}

fn one_lock(
    text: &mut String,
    library: &Library,
    lock: &LibraryLock,
    first: Option<&LibraryLock>,
    cells: &[Cell],
) -> std::fmt::Result {
    writeln!(text, "### The lock {}\n", code(&lock.name))?;
    writeln!(text, "{}\n", prose(&lock.about))?;
    let own = cells_of(cells, &lock.name);
    if own.is_empty() {
        return writeln!(text, "Not run.\n");
    }
    versions(text, library, &own)?;
    let held: Vec<&Cell> = own
        .iter()
        .copied()
        .filter(|cell| !is_violated(cell) && !is_unclear(cell))
        .collect();
    list(text, "Everything held in", &held)?;
    not_judged(text, &own)?;
    let violated = own.iter().copied().filter(|cell| is_violated(cell));
    let (mut same, mut others): (Vec<&Cell>, Vec<&Cell>) = (Vec::new(), Vec::new());
    for cell in violated {
        let twin = first.and_then(|first| super::tally::cell(cells, &first.name, &cell.scenario));
        if twin.is_some_and(|twin| {
            results(twin) == results(cell) && readings(library, twin) == readings(library, cell)
        }) {
            same.push(cell)
        } else {
            others.push(cell)
        }
    }
    if let Some(first) = first {
        list(
            text,
            &format!("The same violations as {} in", code(&first.name)),
            &same,
        )?;
    }
    for cell in others {
        violations::section(text, library, cell)?;
    }
    Ok(())
}

/// Writes which versions ran, if they differ from the version that the findings file is about.
fn versions(text: &mut String, library: &Library, cells: &[&Cell]) -> std::fmt::Result {
    let mut others: Vec<&str> = Vec::new();
    for version in cells.iter().map(|cell| cell.lock.version.as_str()) {
        if version != library.version && !version.is_empty() && !others.contains(&version) {
            others.push(version);
        }
    }
    if others.is_empty() {
        Ok(())
    } else {
        writeln!(
            text,
            "**The runs are of version {}.**\n",
            prose(&others.join(", "))
        )
    }
}

fn list(text: &mut String, what: &str, cells: &[&Cell]) -> std::fmt::Result {
    if cells.is_empty() {
        return Ok(());
    }
    let scenarios = if cells.len() == 1 {
        "scenario"
    } else {
        "scenarios"
    };
    // Most scenarios have one run, so only other numbers are written.
    let named = |cell: &&Cell| match cell.runs {
        1 => code(&cell.scenario),
        runs => format!("{} ({runs} runs)", code(&cell.scenario)),
    };
    let names: Vec<String> = cells.iter().map(named).collect();
    writeln!(
        text,
        "{what} {} {scenarios}, in one run each unless a number is given: {}.\n",
        cells.len(),
        names.join(", ")
    )
}

fn not_judged(text: &mut String, cells: &[&Cell]) -> std::fmt::Result {
    let unclear: Vec<&&Cell> = cells.iter().filter(|cell| is_unclear(cell)).collect();
    if unclear.is_empty() {
        return Ok(());
    }
    writeln!(text, "Not judged, or not wholly:\n")?;
    for cell in unclear {
        let verdicts = cell.verdicts.values();
        let reason = verdicts
            .filter(|verdict| verdict.status == Status::Unknown)
            .find_map(|verdict| verdict.story.first());
        let reason = cell.error.as_ref().or(reason);
        let reason = reason.map_or("no reason is kept", String::as_str);
        let runs = match cell.runs {
            1 => String::new(),
            runs => format!(" ({runs} runs)"),
        };
        writeln!(text, "- {}{runs}: {}", code(&cell.scenario), prose(reason))?;
    }
    writeln!(text)
}

/// Returns the interpretations of a cell's violations.
fn readings<'a>(library: &'a Library, cell: &Cell) -> Vec<Option<&'a Reading>> {
    grouped(library, cell)
        .into_iter()
        .map(|(reading, _)| reading)
        .collect()
}

/// Returns the violated properties, each with its causes.
fn results(cell: &Cell) -> Vec<(Property, Vec<&str>)> {
    let violated = cell.tally.iter().filter(|(_, tally)| tally.violated > 0);
    violated
        .map(|(property, tally)| {
            (
                *property,
                tally.causes.keys().map(|cause| cause.as_str()).collect(),
            )
        })
        .collect()
}
