//! The truth table: each built-in lock under each scenario of the catalog, simulated once, and the
//! generated part of `lab/pages/truth-table.md`.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use picklock_harness::lock_kinds::kind_of;
use picklock_impls::{BuiltInLock, CRON_LOCKS, built_in, find};
use picklock_scenarios::{BackendName, LockKind, Scenario, catalog};
use picklock_verdicts::check::{Property, Status, Verdict, Verdicts, judge};
use picklock_verdicts::expectation::{Expected, Tables};
use picklock_verdicts::record::Mismatch;

use crate::simulated::simulate;

/// The results of one lock in one scenario.
#[derive(Debug)]
pub struct Cell {
    /// The lock.
    pub lock: &'static str,
    /// The scenario.
    pub scenario: String,
    /// The scenario's summary, in one sentence.
    pub summary: String,
    /// The verdicts.
    pub verdicts: Verdicts,
    /// Results that the scenario does not expect.
    pub mismatches: Vec<Mismatch>,
}

/// Simulates all cells with seed 1, one per CPU at a time. Returns them in the order of the catalog and of the table
/// of locks.
///
/// # Panics
/// Panics if a scenario of the catalog cannot be read or a simulation returns no history.
pub fn cells() -> Vec<Cell> {
    let scenarios = catalog::names()
        .map(|name| catalog::named(name).unwrap_or_else(|error| panic!("catalog/{name}: {error}")));
    let pairs: Vec<(Scenario, &BuiltInLock)> = scenarios
        .filter(|scenario| scenario.runs_in(BackendName::Sim))
        .flat_map(|scenario| {
            let runs_jobs = scenario.workload.schedule.is_some();
            let fitting = built_in().filter(|lock| {
                kind_of(lock.kind) == scenario.workload.kind.lock_kind()
                    && (runs_jobs || CRON_LOCKS.iter().all(|cron| cron.name != lock.name))
            });
            let pairs = fitting.map(|lock| (scenario.clone(), lock));
            pairs.collect::<Vec<_>>()
        })
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, lock)) = pairs.get(place) else {
                return;
            };
            if let (Some(cell), Ok(mut done)) = (cell(scenario, lock), done.lock()) {
                done.push((place, cell));
            }
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..processors).for_each(|_| drop(scope.spawn(work))));
    let mut cells = done.into_inner().unwrap_or_default();
    cells.sort_by_key(|(place, _)| *place);
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// Simulates one cell. Returns `None` if the scenario does not fit the lock.
fn cell(scenario: &Scenario, lock: &'static BuiltInLock) -> Option<Cell> {
    let verdicts = judge(&simulate(lock, scenario.clone(), 1)?.history);
    let expected = Expected::for_lock(scenario, lock.name, Tables::NamedOrAll);
    Some(Cell {
        lock: lock.name,
        scenario: scenario.name.clone(),
        summary: scenario.summary.clone(),
        mismatches: expected.mismatches(&verdicts),
        verdicts,
    })
}

/// Formats the cells as Markdown: a table with a mark for each cell, then the results of each scenario. Locks with
/// equal results share a row.
pub fn truth_table(cells: &[Cell]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for kind in LockKind::ALL {
        let is_of_kind =
            |cell: &&Cell| find(cell.lock).is_some_and(|lock| kind_of(lock.kind) == kind);
        if kind != LockKind::Mutex {
            text.push('\n');
        }
        let of_kind: Vec<&Cell> = cells.iter().filter(is_of_kind).collect();
        overview(&mut text, &of_kind).unwrap_or_default();
    }
    legend(&mut text).unwrap_or_default();
    for scenario in once(cells.iter().map(|cell| cell.scenario.as_str())) {
        details(&mut text, cells, scenario).unwrap_or_default();
    }
    text
}

fn overview(text: &mut String, cells: &[&Cell]) -> std::fmt::Result {
    let locks = once(cells.iter().map(|cell| cell.lock));
    let names: Vec<String> = locks.iter().map(|name| format!("`{name}`")).collect();
    writeln!(text, "| scenario | {} |", names.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(locks.len()))?;
    for scenario in once(cells.iter().map(|cell| cell.scenario.as_str())) {
        write!(text, "| [`{scenario}`](#{scenario}) |")?;
        for lock in &locks {
            let cell = cells
                .iter()
                .find(|c| c.scenario == scenario && c.lock == *lock);
            write!(text, " {} |", cell.map_or("", |cell| short(cell)))?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn legend(text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "\n{} held · {} something was violated, as the scenario expects · ‼ not as it expects · {} could not be judged · {} not applicable",
        Status::Held.sign(),
        Status::Violated.sign(),
        Status::Unknown.sign(),
        Status::NotApplicable.sign()
    )
}

fn short(cell: &Cell) -> &'static str {
    let any = |status| cell.verdicts.values().any(|v| v.status == status);
    if cell.mismatches.iter().any(Mismatch::is_judged) {
        "‼"
    } else if any(Status::Violated) {
        Status::Violated.sign()
    } else if any(Status::Unknown) {
        Status::Unknown.sign()
    } else if any(Status::Held) {
        Status::Held.sign()
    } else {
        Status::NotApplicable.sign()
    }
}

fn details(text: &mut String, cells: &[Cell], scenario: &str) -> std::fmt::Result {
    let of_scenario = cells.iter().filter(|cell| cell.scenario == scenario);
    let cells: Vec<&Cell> = of_scenario.collect();
    writeln!(text, "\n### {scenario}\n")?;
    if let Some(first) = cells.first() {
        writeln!(text, "{}\n", escaped(&first.summary))?;
    }
    let judged = |property: &Property| {
        let mut cells = cells.iter();
        cells.any(|cell| cell.verdicts.contains_key(property))
    };
    let judged: Vec<Property> = Property::ALL.into_iter().filter(judged).collect();
    let words: Vec<&str> = judged.iter().map(|it| it.as_str()).collect();
    writeln!(text, "| lock | {} |", words.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(words.len()))?;
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for cell in cells {
        let row = row(cell, &judged);
        let name = format!("`{}`", escaped(cell.lock));
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, names)) => names.push(name),
            None => rows.push((row, vec![name])),
        }
    }
    for (row, names) in rows {
        writeln!(text, "| {} |{row}", names.join(", "))?;
    }
    Ok(())
}

fn row(cell: &Cell, judged: &[Property]) -> String {
    let mut row = String::new();
    for property in judged.iter().copied() {
        let verdict = cell.verdicts.get(&property).map(describe);
        let mut words = verdict.unwrap_or_default();
        let mismatch = cell.mismatches.iter().find(|one| one.property == property);
        if let Some(mismatch) = mismatch {
            words.push_str(&format!(
                " ‼ expected {}",
                escaped(&mismatch.expected.to_string())
            ));
        }
        row.push_str(&format!(" {words} |"));
    }
    row
}

fn describe(verdict: &Verdict) -> String {
    match (verdict.status, verdict.cause) {
        (Status::Violated, Some(cause)) => format!("**violated**: {cause}"),
        (Status::Violated, None) => "**violated**".to_owned(),
        (Status::NotApplicable, _) => Status::NotApplicable.sign().to_owned(),
        (status, _) => status.as_str().to_owned(),
    }
}

/// Escapes text for a cell of a Markdown table.
fn escaped(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    let mut escaped = String::new();
    for c in line.chars() {
        if "|<>*_`[]\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}
