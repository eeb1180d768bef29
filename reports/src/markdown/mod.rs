//! Markdown for GitHub: a job summary, and a shorter version for a pull-request comment.
//!
//! Worst first, because GitHub limits the length of both: results that are not as expected, other
//! violations, the table of locks × scenarios, then the stories with their commands. Untrusted
//! text stays text, never Markdown or HTML.

mod page;
pub mod quoted;
mod scorecard;
mod sections;

use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

pub(crate) use page::Page;
pub(crate) use sections::{place_columns, table_of};

/// The limit of GitHub for a step's job summary: 1 MiB.
pub const SUMMARY_BYTES: usize = 1024 * 1024;

/// The limit of GitHub for a comment, in characters; counted in bytes to be safe.
pub const COMMENT_BYTES: usize = 65_536;

/// `--format md`.
pub const FORMAT: Format = Format {
    name: "md",
    ending: ".md",
    about: "Markdown, worst first: report.md fits a GitHub job summary, comment.md a comment",
    write: files,
};

/// `report.md`, which fits a job summary, and `comment.md`, which fits a comment.
///
/// # Errors
/// None.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let file = |name: &str, text: String| File {
        name: name.to_owned(),
        bytes: text.into_bytes(),
    };
    let report = file("report.md", summary(input));
    Ok(vec![report, file("comment.md", comment(input))])
}

/// The whole report, truncated to [`SUMMARY_BYTES`]; says what was cut.
pub fn summary(input: &ReportInput) -> String {
    let mut page = Page::new(SUMMARY_BYTES);
    sections::headline(&mut page, input);
    scorecard::scorecard(&mut page, input);
    sections::mismatches(&mut page, input);
    sections::not_run(&mut page, input);
    sections::violated(&mut page, input);
    sections::table(&mut page, input);
    sections::open_loops(&mut page, input);
    sections::stories(&mut page, input);
    sections::not_applicable(&mut page, input);
    sections::omitted(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}

/// The version for a comment: without the tables of expected violations and of open loops, with at
/// most five stories, truncated to [`COMMENT_BYTES`].
pub fn comment(input: &ReportInput) -> String {
    let mut page = Page::new(COMMENT_BYTES);
    page.at_most("stories", 5);
    sections::headline(&mut page, input);
    sections::mismatches(&mut page, input);
    sections::not_run(&mut page, input);
    sections::table(&mut page, input);
    sections::stories(&mut page, input);
    sections::omitted(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}
