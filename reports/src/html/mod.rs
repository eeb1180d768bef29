//! The HTML report: one self-contained page for a browser.
//!
//! [`page`] creates it. Style, script and data are embedded, so the page works from a file as well as from a
//! server. It uses no network, which its content security policy enforces. Untrusted text is escaped when it
//! becomes HTML, and again when it becomes JSON.
//!
//! - `page.rs`, `grid.rs`, `tile.rs`, `cell_details.rs`: the data for the templates in `templates/`
//! - `story.rs`: the story as lines, with the numbers of the timeline; `remedy_view.rs`: the code of remedies
//! - `scorecard.rs`: the scorecard; `pack.rs`: the evidence of many cells, compressed
//! - `search.rs`: the results of a search, and its heat map
//!
//! - `frame.rs`: parts that all pages share
//! - `before_after.rs`, `ratio_axis.rs`: the page that compares two sets of runs
//! - `timeline_data.rs` and the files that it uses: histories as columns of numbers, for the timeline
//! - `percentiles.rs`: latency curves
//! - `assets/*.css`, `assets/*.js`: the style, and the interactive timeline
//!
//! A page has at most about 10 MB. Segments that are too short to see are drawn as one (`cluster.rs`), and
//! the page states this.

mod before_after;
mod cell_details;
mod clock_offset;
mod cluster;
mod column;
mod downtime;
mod embedded_json;
mod fault_band;
mod figures;
mod frame;
mod grid;
mod jump_target;
mod messages;
mod name;
mod node_rows;
mod pack;
mod page;
mod percentiles;
mod ratio_axis;
mod remedy_view;
mod scorecard;
mod search;
#[cfg(test)]
mod small_history;
mod story;
mod tile;
mod time_series;
mod timeline_data;
mod tone;
mod value_rows;

use askama::Template;

use crate::format::{File, Format, FormatError};
use crate::report_input::ReportInput;

pub use before_after::{comparison_file, comparison_page};

/// Returns the page as a whole HTML document.
///
/// # Errors
/// Returns an error only if the template engine fails.
pub fn page(input: &ReportInput) -> Result<String, FormatError> {
    let view = page::view(input).map_err(refused)?;
    view.render().map_err(refused)
}

/// `--format html`.
pub const FORMAT: Format = Format {
    name: "html",
    ending: ".html",
    about: "one page for a browser, offline: matrix, stories, timelines, latencies",
    write: files,
};

/// Returns the page as a report file, `report.html`.
///
/// # Errors
/// Returns the errors of [`page`].
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let page = page(input)?;
    Ok(vec![File::page("report.html", page)])
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes the error by value"
)]
fn refused(error: askama::Error) -> FormatError {
    FormatError::Refused {
        format: "html",
        reason: format!("cannot fill in the page: {error}"),
    }
}
