//! Open loops: how long buyers waited, compared with what a closed loop would have shown.

use picklock_verdicts::latency::ASKED;
use picklock_verdicts::record::{Cell, Latency};

use super::page::Page;
use super::sections::{place, table_of};
use crate::report_input::ReportInput;
use crate::units::span_us;

/// A row for each cell whose buyers arrived at a rate.
pub(super) fn open_loops(page: &mut Page, input: &ReportInput) {
    let head = "### Open loops\n\n\
                Time to acquire (median / 99 % / longest): from the intended start, when the \
                buyer arrived; and from the request that a worker sent for the buyer.\n\n\
                | lock | scenario | backend | arrived | unserved | from the intended start | from the request |\n\
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
        None => "never acquired".to_owned(),
    }
}
