//! The findings about third-party libraries, as one page of Markdown.
//!
//! The figures come from matrices. One file per library adds the texts: the library's promise, and how to interpret
//! its violations.

mod hypotheses;
mod kept;
mod mechanisms;
mod page;
mod tally;
mod violations;

pub use hypotheses::Decision;
pub use page::page;
pub use tally::Seen;
