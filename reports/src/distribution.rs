//! Histograms decoded from records.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use picklock_verdicts::record::{Cell, Latency};

use crate::cell_status::title;
use crate::formats::FormatError;

/// A cell, an operation, and the histogram of its latencies.
pub type Distribution<'a> = (&'a Cell, &'a str, Histogram<u64>);

/// The histogram of a latency; values are microseconds.
///
/// # Errors
/// Not base64, or not an HdrHistogram V2: the record is damaged, or not from Picklock.
pub fn decode(
    cell: &Cell,
    operation: &str,
    latency: &Latency,
) -> Result<Histogram<u64>, FormatError> {
    let broken = |reason: String| FormatError::Histogram {
        cell: crate::escape::visible(&title(cell)).into_owned(),
        operation: operation.to_owned(),
        reason,
    };
    let bytes = STANDARD
        .decode(latency.histogram.trim())
        .map_err(|error| broken(error.to_string()))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| broken(error.to_string()))
}

/// The histogram of every operation that was counted in any cell.
///
/// # Errors
/// As [`decode`], or there is nothing to write because no cell counted an operation.
pub fn all<'a>(
    cells: &'a [Cell],
    format: &'static str,
) -> Result<Vec<Distribution<'a>>, FormatError> {
    let mut found = Vec::new();
    for cell in cells.iter().filter(|cell| cell.error.is_none()) {
        for (operation, latency) in &cell.latency {
            if latency.count > 0 {
                found.push((cell, operation.as_str(), decode(cell, operation, latency)?));
            }
        }
    }
    match found.is_empty() {
        true => Err(FormatError::Nothing {
            format,
            reason: "no operation succeeded in any cell, so there is no latency",
        }),
        false => Ok(found),
    }
}
