//! All reports on an input.

use picklock_reports::comparison;
use picklock_reports::formats::FORMATS;
use picklock_reports::report_input::ReportInput;

/// Writes every report. An error that a format returns is a valid result.
pub fn write_all(input: &ReportInput) {
    for format in FORMATS {
        if let Err(error) = (format.write)(input) {
            drop(error.to_string());
        }
    }
    match comparison::compare(&input.matrix, &input.matrix) {
        Ok(compared) => {
            drop(comparison::text(&compared));
            drop(comparison::markdown(&compared));
            drop(comparison::json(&compared));
        }
        Err(error) => drop(error.to_string()),
    }
}
