//! The table of report formats. Each format has a file, and a `const FORMAT` in it.

use crate::format::Format;

/// All formats, in the order of the help. docs/extending.md shows what a new format needs.
pub const FORMATS: &[Format] = &[
    crate::html::FORMAT,
    crate::markdown::FORMAT,
    crate::document_files::FORMAT,
    crate::junit::FORMAT,
    crate::trace::FORMAT,
];

/// Returns the format called `name`.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
