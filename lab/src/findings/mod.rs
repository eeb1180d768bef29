//! What was found out about libraries that other people wrote, as one page of Markdown.
//!
//! The matrices have the figures, and a file for each library has the words: its promise, and how a
//! violation is to be read.

mod hypotheses;
mod page;
mod tally;
mod violations;

pub use hypotheses::Decision;
pub use page::page;
pub use tally::Seen;
