//! A search: what was found, how much that covers, and a heat map of faults at moments.

use std::path::Path;

use picklock_verdicts::record::{Find, Placed, SearchRecord};

use super::cell_details::{Story, story_line};
use super::frame::Command;
use super::name::{Name, name, sentence};
use crate::matrix::distinct;
use crate::report_input::ReportInput;
use crate::search::statement;
use crate::units::count;

/// Further finds are only counted.
const MOST_FINDS: usize = 100;
/// Further sorts of moments, and kinds of faults, are left out.
const MOST_MOMENTS: usize = 200;
const MOST_FAULTS: usize = 40;

pub(super) struct SearchView {
    pub(super) lock: Name,
    pub(super) finds: Vec<FindView>,
    pub(super) more_finds: usize,
    /// How much was tried.
    pub(super) statement: Vec<Name>,
    /// The heat map: the kinds of faults, and a row for each sort of moment.
    pub(super) faults: Vec<Name>,
    pub(super) rows: Vec<HeatRow>,
}

pub(super) struct FindView {
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
    pub(super) finds: u64,
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
    let faults: Vec<&str> = faults.into_iter().take(MOST_FAULTS).collect();
    let moments = distinct(placed.iter().map(|one| one.moment.as_str()));
    let row = |moment: &str| HeatRow {
        moment: name(moment),
        cells: faults
            .iter()
            .map(|fault| heat(placed, moment, fault))
            .collect(),
    };
    let finds = search.finds.iter().take(MOST_FINDS);
    SearchView {
        lock: name(&search.lock.name),
        finds: finds.map(|find| find_view(find, input)).collect(),
        more_finds: search.finds.len().saturating_sub(MOST_FINDS),
        statement: statement(search).iter().map(|it| sentence(it)).collect(),
        rows: moments.into_iter().take(MOST_MOMENTS).map(row).collect(),
        faults: faults.into_iter().map(name).collect(),
    }
}

fn heat(placed: &[Placed], moment: &str, fault: &str) -> Option<Heat> {
    let mut placed = placed.iter();
    let found = placed.find(|one| one.moment == moment && one.fault == fault)?;
    let (schedules, finds) = (found.schedules, found.finds);
    Some(Heat {
        schedules,
        finds,
        degree: finds.saturating_mul(4).div_ceil(schedules.max(1)).min(4),
    })
}

fn find_view(find: &Find, input: &ReportInput) -> FindView {
    let directory = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let own = (find.repro.as_deref())
        .and_then(|repro| Path::new(repro).parent()?.to_str())
        .and_then(directory);
    let mut cells = input.matrix.cells.iter();
    let is_own = |run_dir: &str| own.is_some() && directory(run_dir) == own;
    FindView {
        property: find.property.word(),
        cause: find.cause.word(),
        schedules: count(find.schedules, "schedule"),
        faults: find.faults.iter().map(|it| sentence(it)).collect(),
        story: Story {
            properties: find.property.word().to_owned(),
            lines: find.story.iter().map(|it| story_line(it)).collect(),
        },
        command: Command::of(&find.reproduce),
        cell: cells.position(|cell| cell.run_dir.as_deref().is_some_and(is_own)),
    }
}
