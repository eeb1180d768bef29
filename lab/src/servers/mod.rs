//! The same cells on several servers, as one page of Markdown: where the servers differ.
//!
//! Each matrix ran on one server. Cells are the same if lock, options, scenario, its content and the
//! backend are.

mod differences;
mod names;
mod page;
mod pairing;
mod refusal;
mod results;

use picklock_reports::report_input::ReportInput;

pub use refusal::Refusal;

/// The matrices side by side, in Markdown. The others are compared with the first.
///
/// # Errors
/// There is one matrix only, one that ran on several servers or on none, two of the same server, or
/// matrices that have no cell in common or other seeds.
pub fn by_server(input: &ReportInput) -> Result<String, Refusal> {
    let columns = pairing::columns(input)?;
    let rows = pairing::rows(&columns)?;
    Ok(page::page(&columns, &rows, &input.skipped))
}
