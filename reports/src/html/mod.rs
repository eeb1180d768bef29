//! A report for people: one self-contained page for a browser.
//!
//! [`page`] creates it. Style, script and data are inside, so it works from a file as well as from
//! a server, and it uses no network (a content security policy in it enforces that). Untrusted text
//! is escaped where it becomes HTML, and again where it becomes JSON.
//!
//! - `page.rs`, `grid.rs`, `tile.rs`, `cell_details.rs`: the data for the templates in `templates/`
//! - `scorecard.rs`: the scorecard; `pack.rs`: the evidence of many cells, compressed
//! - `search.rs`: what a search found, and its heat map
//! - `frame.rs`: what all pages share
//! - `before_after.rs`, `ratio_axis.rs`: the page that compares two sets of runs
//! - `timeline_data.rs` and the files that it uses: histories as columns of numbers, for the timeline
//! - `percentiles.rs`: latency curves
//! - `assets/*.css`, `assets/*.js`: the style, and the interactive timeline
//!
//! A page has some 10 MB at most: segments that are too short to see are drawn together
//! (`cluster.rs`), and the page says so.

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
mod scorecard;
mod search;
#[cfg(test)]
mod small_history;
mod tile;
mod time_series;
mod timeline_data;
mod value_rows;

use askama::Template;

use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

pub use before_after::{comparison_file, comparison_page};

/// The page, a whole HTML document.
///
/// # Errors
/// Only errors of the template engine; none is expected.
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

/// The page as a report's file, `report.html`.
///
/// # Errors
/// As [`page`].
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let page = page(input)?;
    Ok(vec![File {
        name: "report.html".to_owned(),
        bytes: page.into_bytes(),
    }])
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "what `map_err` hands over it hands over whole"
)]
fn refused(error: askama::Error) -> FormatError {
    FormatError::Refused {
        format: "html",
        reason: format!("cannot fill in the page: {error}"),
    }
}
