//! The same cells on several servers, as one page of Markdown that shows where the servers differ.
//!
//! Each matrix ran on one server. Two cells are the same if they have the same lock, options, scenario, scenario
//! content and backend.

mod differences;
mod page;
mod pairing;
mod refusal;
mod results;

use picklock_reports::report_input::ReportInput;

pub use refusal::Refusal;

/// Compares the matrices in Markdown, each given with the path that it was read from. Each matrix is compared with the
/// first one.
///
/// # Errors
/// Returns an error if there is only one matrix, a matrix ran on several servers or on none, two matrices ran on the
/// same server, or the matrices have different seeds or no cell in common.
pub fn by_server(parts: &[(String, ReportInput)]) -> Result<String, Refusal> {
    let columns = pairing::columns(parts)?;
    let rows = pairing::rows(&columns)?;
    let skipped = parts
        .iter()
        .flat_map(|(_, part)| part.skipped.iter().cloned());
    Ok(page::page(&columns, &rows, &skipped.collect::<Vec<_>>()))
}
