//! Open loops: what buyers waited, and what a closed loop would have shown of it.

use picklock_verdicts::latency::ASKED;
use picklock_verdicts::record::{Cell, Latency};

use super::page::Page;
use super::sections::{place, table_of};
use crate::report_input::ReportInput;
use crate::units::span_us;

/// A row for each cell whose buyers came at a rate.
pub(super) fn open_loops(page: &mut Page, input: &ReportInput) {
    let head = "### Open loops\n\n\
                Time to get the lock (median / 99 % / longest): from the intended start, when the \
                buyer came; and from asking, when a worker asked for him.\n\n\
                | subject | scenario | world | came | unserved | from the intended start | from asking |\n\
                |---|---|---|---:|---:|---|---|\n";
    let rows = input.matrix.cells.iter().filter_map(row);
    table_of(page, "open loops", head, rows.collect());
}

fn row(cell: &Cell) -> Option<String> {
    let (arrived, unserved) = (cell.counts.arrived?, cell.counts.unserved?);
    Some(format!(
        "| {} | {arrived} | {unserved} | {} | {} |\n",
        place(cell),
        figures(cell.latency.get("acquire")),
        figures(cell.latency.get(ASKED)),
    ))
}

fn figures(latency: Option<&Latency>) -> String {
    match latency.filter(|latency| latency.count > 0) {
        Some(latency) => format!(
            "{} / {} / {}",
            span_us(latency.p50_us),
            span_us(latency.p99_us),
            span_us(latency.max_us)
        ),
        None => "nobody got it".to_owned(),
    }
}
