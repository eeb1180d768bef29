//! Counts, latencies and the run's phases.

use anstyle::Style;
use picklock_scenarios::BackendName;
use picklock_verdicts::latency::{LOSS_REPORT, REQUESTED};
use picklock_verdicts::record::{Counts, Latency, RunRecord};

use super::line::{BAD, FAINT, Line};
use crate::costs::describe_commands;
use crate::units::{grouped, span_ms, span_us};

/// Column in which figures begin.
const NAME_COLUMN: usize = 12;
/// Width of a column: enough for a space and a duration below two minutes. Longer durations are shown in
/// seconds.
const COLUMN: usize = 8;

/// Returns counts, then latencies, then durations of the phases.
pub(super) fn lines(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut lines = counts(&record.counts, width);
    if let Some(commands) = describe_commands(&record.counts) {
        let line = Line::new().styled(FAINT, "  commands").pad_to(NAME_COLUMN);
        lines.extend(line.plain(&commands).wrap(width, NAME_COLUMN));
    }
    let measured: Vec<_> = record.latency.iter().filter(|(_, l)| l.count > 0).collect();
    if !measured.is_empty() {
        lines.push(latency_head(width));
    }
    for (operation, latency) in &measured {
        lines.push(latency_row(operation, latency, width).cut(width));
    }
    if measured
        .iter()
        .any(|(operation, _)| *operation == REQUESTED)
    {
        let words =
            "acquire is measured from the buyer's arrival, request from the client's request";
        let line = Line::new().pad_to(NAME_COLUMN).styled(FAINT, words);
        lines.extend(line.wrap(width, NAME_COLUMN));
    }
    lines.extend(phases(record).wrap(width, NAME_COLUMN));
    lines
}

/// Minimum number of operations for a percentile that a short report shows.
const MIN_OPERATIONS: u64 = 10;

/// Returns counts, and the median and the 99th percentile of operations that were measured often enough.
pub(super) fn brief(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut lines = counts(&record.counts, width);
    let often = record.latency.iter();
    let often = often.filter(|(name, it)| it.count >= MIN_OPERATIONS && *name != REQUESTED);
    let texts: Vec<String> = often
        .map(|(name, it)| format!("{name} {} / {}", span_us(it.p50_us), span_us(it.p99_us)))
        .collect();
    if !texts.is_empty() {
        let line = Line::new().styled(FAINT, "  latency").pad_to(NAME_COLUMN);
        let line = line.plain(&texts.join(" · ")).styled(FAINT, " (p50 / p99)");
        lines.extend(line.wrap(width, NAME_COLUMN));
    }
    lines
}

fn counts(counts: &Counts, width: usize) -> Vec<Line> {
    let mut attempts = vec![
        format!("{} granted", grouped(counts.granted)),
        format!("{} refused", grouped(counts.refused)),
        format!("{} failed", grouped(counts.failed)),
        format!("{} released", grouped(counts.released)),
    ];
    if counts.extended > 0 {
        attempts.push(format!("{} extended", grouped(counts.extended)));
    }
    let sale = format!(
        "{} sold of {}, {} left",
        grouped(counts.sold),
        grouped(counts.stock_start),
        grouped(counts.stock_left)
    );
    let adds_up = counts.stock_left >= 0
        && counts.sold.checked_add(counts.stock_left) == Some(counts.stock_start);
    if let (Some(arrived), Some(unserved)) = (counts.arrived, counts.unserved) {
        attempts.insert(0, format!("{} arrived", grouped(arrived)));
        attempts.insert(1, format!("{} unserved", grouped(unserved)));
    }
    let line = Line::new()
        .styled(FAINT, "  counts")
        .pad_to(NAME_COLUMN)
        .plain(&attempts.join(" · "))
        .plain(" · ");
    let style = if adds_up { Style::new() } else { BAD };
    line.styled(style, &sale).wrap(width, NAME_COLUMN)
}

/// The name of a time, and a function that reads it from a latency, in microseconds.
type Time = (&'static str, fn(&Latency) -> u64);

/// Returns the times that fit the width.
fn times(width: usize) -> &'static [Time] {
    if width < NAME_COLUMN + 6 * COLUMN {
        return &[("p50", |it| it.p50_us), ("p99", |it| it.p99_us)];
    }
    &[
        ("p50", |it| it.p50_us),
        ("p90", |it| it.p90_us),
        ("p99", |it| it.p99_us),
        ("p99.9", |it| it.p999_us),
        ("max", |it| it.max_us),
    ]
}

fn latency_head(width: usize) -> Line {
    let mut head = Line::new().styled(FAINT, "  latency").pad_to(NAME_COLUMN);
    let names = times(width).iter().map(|(name, _)| *name);
    for name in names.chain(["count"]) {
        head = head.styled(FAINT, &format!("{name:>COLUMN$}"));
    }
    head
}

fn latency_row(operation: &str, latency: &Latency, width: usize) -> Line {
    let operation = match operation {
        REQUESTED => "· request",
        LOSS_REPORT => "loss seen",
        other => other,
    };
    let name = Line::new().plain("  ").plain(operation);
    let mut row = name.cut(NAME_COLUMN - 1).pad_to(NAME_COLUMN);
    for (_, us) in times(width) {
        row = row.plain(&format!("{:>COLUMN$}", cell(us(latency))));
    }
    row.plain(&format!("{:>COLUMN$}", latency.count))
}

fn cell(us: u64) -> String {
    let span = span_us(us);
    if span.chars().count() < COLUMN {
        span
    } else {
        format!("{} s", us / 1_000_000)
    }
}

fn phases(record: &RunRecord) -> Line {
    let phases = &record.phases;
    let took = match record.backend {
        BackendName::Sim => format!("{} of virtual time", span_ms(phases.workload_ms)),
        _ => format!(
            "setup {} · workload {} · teardown {}",
            span_ms(phases.setup_ms),
            span_ms(phases.workload_ms),
            span_ms(phases.teardown_ms)
        ),
    };
    let title = Line::new().styled(FAINT, "  took");
    title.pad_to(NAME_COLUMN).plain(&took)
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::latency::HANDOVER;

    use super::*;

    #[test]
    fn names_of_latencies_fit_their_column() {
        let latency = Latency {
            count: 1,
            p50_us: 1,
            p90_us: 1,
            p99_us: 1,
            p999_us: 1,
            max_us: 1,
            histogram: String::new(),
        };
        for operation in ["acquire", REQUESTED, "release", HANDOVER, LOSS_REPORT] {
            let row = latency_row(operation, &latency, 100).render();
            assert!(!row.contains('…'), "{}", row.as_str());
        }
    }
}
