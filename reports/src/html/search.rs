//! A search: what was found, how much that covers, and a heat map of faults at moments.

use std::path::Path;

use picklock_verdicts::record::{Counterexample, Placed, SearchRecord};

use super::cell_details::{Story, story_line};
use super::frame::Command;
use super::name::{Name, name, sentence};
use crate::matrix::distinct;
use crate::report_input::ReportInput;
use crate::search::statement;
use crate::units::count;

/// Further finds are only counted.
const MAX_COUNTEREXAMPLES: usize = 100;
/// Further sorts of moments, and kinds of faults, are left out.
const MAX_INJECTION_POINTS: usize = 200;
const MAX_FAULTS: usize = 40;

pub(super) struct SearchView {
    pub(super) lock: Name,
    pub(super) counterexamples: Vec<CounterexampleView>,
    pub(super) more_counterexamples: usize,
    /// How much was tried.
    pub(super) statement: Vec<Name>,
    /// The heat map: the kinds of faults, and a row for each sort of moment.
    pub(super) faults: Vec<Name>,
    pub(super) rows: Vec<HeatRow>,
}

pub(super) struct CounterexampleView {
    pub(super) property: &'static str,
    pub(super) cause: &'static str,
    pub(super) schedules: String,
    pub(super) faults: Vec<Name>,
    pub(super) story: Story,
    pub(super) command: Command,
    /// The cell of its run, if that is on the page.
    pub(super) cell: Option<usize>,
}

/// A sort of moments.
pub(super) struct HeatRow {
    pub(super) moment: Name,
    pub(super) cells: Vec<Option<Heat>>,
}

/// A kind of fault at a sort of moment.
pub(super) struct Heat {
    pub(super) schedules: u64,
    pub(super) counterexamples: u64,
    /// 0: nothing was found there; 4: every schedule had a find.
    pub(super) degree: u64,
}

pub(super) fn searches(input: &ReportInput) -> Vec<SearchView> {
    let views = input.searches.iter();
    views.map(|search| view(search, input)).collect()
}

fn view(search: &SearchRecord, input: &ReportInput) -> SearchView {
    let placed = &search.coverage.placed;
    let faults = distinct(placed.iter().map(|one| one.fault.as_str()));
    let faults: Vec<&str> = faults.into_iter().take(MAX_FAULTS).collect();
    let injection_points = distinct(placed.iter().map(|one| one.moment.as_str()));
    let row = |moment: &str| HeatRow {
        moment: name(moment),
        cells: faults
            .iter()
            .map(|fault| heat(placed, moment, fault))
            .collect(),
    };
    let counterexamples = search.counterexamples.iter().take(MAX_COUNTEREXAMPLES);
    SearchView {
        lock: name(&search.lock.name),
        counterexamples: counterexamples
            .map(|find| counterexample_view(find, input))
            .collect(),
        more_counterexamples: search
            .counterexamples
            .len()
            .saturating_sub(MAX_COUNTEREXAMPLES),
        statement: statement(search).iter().map(|it| sentence(it)).collect(),
        rows: injection_points
            .into_iter()
            .take(MAX_INJECTION_POINTS)
            .map(row)
            .collect(),
        faults: faults.into_iter().map(name).collect(),
    }
}

fn heat(placed: &[Placed], moment: &str, fault: &str) -> Option<Heat> {
    let mut placed = placed.iter();
    let found = placed.find(|one| one.moment == moment && one.fault == fault)?;
    let (schedules, counterexamples) = (found.schedules, found.counterexamples);
    Some(Heat {
        schedules,
        counterexamples,
        degree: counterexamples
            .saturating_mul(4)
            .div_ceil(schedules.max(1))
            .min(4),
    })
}

fn counterexample_view(find: &Counterexample, input: &ReportInput) -> CounterexampleView {
    let directory = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let own = (find.repro.as_deref())
        .and_then(|repro| Path::new(repro).parent()?.to_str())
        .and_then(directory);
    let mut cells = input.matrix.cells.iter();
    let is_own = |run_dir: &str| own.is_some() && directory(run_dir) == own;
    CounterexampleView {
        property: find.property.as_str(),
        cause: find.cause.as_str(),
        schedules: count(find.schedules, "schedule"),
        faults: find.faults.iter().map(|it| sentence(it)).collect(),
        story: Story {
            properties: find.property.as_str().to_owned(),
            lines: find.story.iter().map(|it| story_line(it)).collect(),
        },
        command: Command::for_command(&find.reproduce),
        cell: cells.position(|cell| cell.run_dir.as_deref().is_some_and(is_own)),
    }
}
