//! The results of a search: what it covers, as sentences; shards joined into one.

mod merge;
mod statement;

pub use merge::{MergeError, merge};
pub use statement::statement;
