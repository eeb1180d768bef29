//! Markdown for GitHub: a job summary, and a shorter cut of it for a pull-request comment.
//!
//! Worst first, because both places cut what is too long: what came out otherwise than expected,
//! what was violated, the table of subjects × scenarios, then the stories with their commands.
//! Whatever came from a subject or a scenario is text here, never Markdown or HTML.

mod open_loops;
mod page;
pub(crate) mod quoted;
mod sections;

use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

pub(crate) use page::Page;

/// GitHub takes job summaries of up to 1 MiB for each step.
pub const SUMMARY_BYTES: usize = 1024 * 1024;

/// GitHub takes comments of up to this many characters; counted in bytes, to be on the safe side.
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
    Ok(vec![
        file("report.md", summary(input)),
        file("comment.md", comment(input)),
    ])
}

/// Everything, as long as it fits [`SUMMARY_BYTES`]; says what was cut.
pub fn summary(input: &ReportInput) -> String {
    let mut page = Page::new(SUMMARY_BYTES);
    sections::headline(&mut page, input);
    sections::surprises(&mut page, input);
    sections::not_run(&mut page, input);
    sections::violated(&mut page, input);
    sections::table(&mut page, input);
    open_loops::open_loops(&mut page, input);
    sections::stories(&mut page, input);
    sections::left_out(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}

/// The same for a comment: no table of what was violated as expected, none of open loops, at most five stories, and no
/// more than [`COMMENT_BYTES`].
pub fn comment(input: &ReportInput) -> String {
    let mut page = Page::new(COMMENT_BYTES);
    page.at_most("stories", 5);
    sections::headline(&mut page, input);
    sections::surprises(&mut page, input);
    sections::not_run(&mut page, input);
    sections::table(&mut page, input);
    sections::stories(&mut page, input);
    sections::left_out(&mut page, input);
    sections::how(&mut page, input);
    page.done()
}
