//! The results of a search: its counterexamples by story, its coverage as sentences, and shards joined into one.

mod by_story;
mod merge;
mod statement;

pub use by_story::by_story;
pub use merge::{MergeError, continued, merge};
pub use statement::statement;
