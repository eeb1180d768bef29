//! The HdrHistogram interval log, format 1.3, which `HistogramLogProcessor` and similar tools read.
//!
//! Each cell and operation has one line, identified by its tag. Values are microseconds; the
//! readable maximum in each line is in milliseconds. Times are relative to the beginning of each
//! run: an interval begins at 0 and is as long as the shown run's workload, or 0 if that run was
//! not kept.

use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use picklock_verdicts::record::Cell;

use crate::distribution;
use crate::file_name::Names;
use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

const HEADER: &str = "\
#[Histogram log format version 1.3]
#[StartTime: 0.000 (seconds since epoch), the beginning of each run]
";

const LEGEND: &str = concat!(
    r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#,
    "\n"
);

/// `--format hlog`.
pub const FORMAT: Format = Format {
    name: "hlog",
    ending: ".hlog",
    about: "one HdrHistogram interval log with all histograms, distinguished by tags",
    write: files,
};

/// `latency.hlog` with all histograms.
///
/// # Errors
/// A histogram does not decode, or no operation succeeded in any cell.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let refused = |reason: String| FormatError::Refused {
        format: "hlog",
        reason,
    };
    let mut lines = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(1_000.0)
        .begin_log_with(&mut lines, &mut serializer)
        .map_err(|error| refused(error.to_string()))?;
    let mut names = Names::default();
    for one in distribution::all(&input.matrix.cells, "hlog") {
        let (cell, operation, histogram) = one?;
        let parts = [
            &cell.lock.name,
            &cell.scenario,
            cell.backend.word(),
            operation,
        ];
        let name = names.take(&parts);
        let length = workload(input, cell);
        log.write_histogram(&histogram, Duration::ZERO, length, Tag::new(&name))
            .map_err(|error| refused(error.to_string()))?;
    }
    let lines = String::from_utf8_lossy(&lines);
    // The reader treats the legend as the end of the header, so it follows every comment.
    let (comments, intervals) = split_comments(&lines);
    Ok(vec![File {
        name: "latency.hlog".to_owned(),
        bytes: format!("{HEADER}{comments}{LEGEND}{intervals}").into_bytes(),
    }])
}

fn split_comments(lines: &str) -> (&str, &str) {
    let mut comments = 0;
    for line in lines.split_inclusive('\n') {
        if !line.starts_with('#') {
            break;
        }
        comments += line.len();
    }
    lines.split_at(comments)
}

fn workload(input: &ReportInput, cell: &Cell) -> Duration {
    let mut evidence = input.evidence.iter();
    let own = evidence.find(|evidence| Some(&evidence.run_dir) == cell.run_dir.as_ref());
    own.map_or(Duration::ZERO, |evidence| {
        Duration::from_millis(evidence.record.phases.workload_ms)
    })
}
