//! Histograms decoded from records.

use hdrhistogram::Histogram;
use picklock_verdicts::latency;
use picklock_verdicts::record::{Cell, Latency};

use crate::cell_status::title;
use crate::formats::FormatError;

/// A cell, an operation, and the histogram of its latencies.
pub type Distribution<'a> = (&'a Cell, &'a str, Histogram<u64>);

/// The histogram of a latency; values are microseconds.
///
/// # Errors
/// The record is damaged, or not from Picklock.
pub fn decode(
    cell: &Cell,
    operation: &str,
    latency: &Latency,
) -> Result<Histogram<u64>, FormatError> {
    latency::decode(&latency.histogram).map_err(|error| FormatError::Histogram {
        cell: crate::escape::visible(&title(cell)).into_owned(),
        operation: operation.to_owned(),
        reason: error.to_string(),
    })
}

/// The histogram of every operation that was counted in any cell, one after the other: together they take much
/// more memory than their record.
///
/// Each is an error where [`decode`] gives one. If no cell counted an operation there is nothing to write, which
/// is an error, too.
pub fn all<'a>(
    cells: &'a [Cell],
    format: &'static str,
) -> impl Iterator<Item = Result<Distribution<'a>, FormatError>> {
    let cells = cells.iter().filter(|cell| cell.error.is_none());
    let latencies = cells.flat_map(|cell| cell.latency.iter().map(move |one| (cell, one)));
    let mut counted = latencies.filter(|(_, (_, latency))| latency.count > 0);
    let first = counted.next();
    let nothing = first.is_none().then_some(Err(FormatError::Nothing {
        format,
        reason: "no operation succeeded in any cell, so there is no latency",
    }));
    let decoded = |(cell, (operation, latency)): (&'a Cell, (&'a String, &'a Latency))| {
        Ok((cell, operation.as_str(), decode(cell, operation, latency)?))
    };
    nothing
        .into_iter()
        .chain(first.into_iter().chain(counted).map(decoded))
}
