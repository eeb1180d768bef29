//! The same cells on several servers, as one page of Markdown: where the servers differ.
//!
//! Each matrix ran on one server. Cells are the same if lock, options, scenario, its content and the
//! backend are.

mod differences;
mod page;
mod pairing;
mod refusal;
mod results;

use picklock_reports::report_input::ReportInput;

pub use refusal::Refusal;

/// The matrices side by side, in Markdown, each with the name that it was read from. The others are compared with the first.
///
/// # Errors
/// There is one matrix only, one that ran on several servers or on none, two of the same server, or
/// matrices that have no cell in common or other seeds.
pub fn by_server(parts: &[(String, ReportInput)]) -> Result<String, Refusal> {
    let columns = pairing::columns(parts)?;
    let rows = pairing::rows(&columns)?;
    let skipped = parts
        .iter()
        .flat_map(|(_, part)| part.skipped.iter().cloned());
    Ok(page::page(&columns, &rows, &skipped.collect::<Vec<_>>()))
}
