//! Markdown for GitHub: a job summary, and a shorter version for a pull-request comment.
//!
//! The worst results come first, because GitHub limits the length of both: unexpected results, other
//! violations, the table of locks × scenarios, then the stories with their commands. Untrusted text is shown
//! literally, never interpreted as Markdown or HTML.

mod page;
pub mod quoted;
mod scorecard;
mod sections;

use crate::format::{File, Format, FormatError};
use crate::inert::Inert;
use crate::report_input::ReportInput;

pub(crate) use page::Page;
pub(crate) use sections::{place_columns, table_of};

/// Maximum size of a step's job summary on GitHub: 1 MiB.
pub const SUMMARY_BYTES: usize = 1024 * 1024;

/// Maximum length of a comment on GitHub, in characters. Counted in bytes to be safe.
pub const COMMENT_BYTES: usize = 65_536;

/// `--format md`.
pub const FORMAT: Format = Format {
    name: "md",
    ending: ".md",
    about: "Markdown, worst first: report.md fits a GitHub job summary, comment.md a comment",
    write: files,
};

/// Returns `report.md`, which fits a job summary, and `comment.md`, which fits a comment.
///
/// # Errors
///
/// Never fails.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    Ok(vec![
        File::text("report.md", Inert::lines(&summary(input))),
        File::text("comment.md", Inert::lines(&comment(input))),
    ])
}

/// Returns the whole report, truncated to [`SUMMARY_BYTES`] with a note about the omitted parts.
pub fn summary(input: &ReportInput) -> String {
    let mut page = Page::new(SUMMARY_BYTES);
    sections::headline(&mut page, input);
    scorecard::scorecard(&mut page, input);
    sections::mismatches(&mut page, input);
    sections::not_run(&mut page, input);
    sections::warnings(&mut page, input);
    sections::violated(&mut page, input);
    sections::table(&mut page, input);
    sections::open_loops(&mut page, input);
    sections::stories(&mut page, input);
    sections::not_applicable(&mut page, input);
    sections::omitted(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}

/// Returns the version for a comment, truncated to [`COMMENT_BYTES`]. It omits the tables of expected
/// violations and of open loops, and has at most five stories.
pub fn comment(input: &ReportInput) -> String {
    let mut page = Page::new(COMMENT_BYTES);
    page.at_most("stories", 5);
    sections::headline(&mut page, input);
    sections::mismatches(&mut page, input);
    sections::not_run(&mut page, input);
    sections::warnings(&mut page, input);
    sections::table(&mut page, input);
    sections::stories(&mut page, input);
    sections::omitted(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}
