//! The results of a search: its coverage as sentences, and shards joined into one.

mod merge;
mod statement;

pub use merge::{MergeError, continued, merge};
pub use statement::statement;
