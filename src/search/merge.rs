//! `picklock merge`: joins the records of shards.

use picklock_reports::documents;
use picklock_reports::search::merge;

use super::cli::MergeArgs;
use super::report::{code_of, print};
use crate::exit::Failure;
use crate::untrusted_file::{self, LONGEST_TEXT, Links};

/// Joins the shards, and prints the report of the whole.
///
/// # Errors
/// A file cannot be read, is no shard, or belongs to another search.
pub fn run(args: &MergeArgs) -> Result<u8, Failure> {
    let mut records = Vec::new();
    for path in &args.files {
        let file = path.display().to_string();
        let wrong = |problem: String| Failure::Usage(format!("{file}: {problem}"));
        let text = untrusted_file::read(path, LONGEST_TEXT, Links::Followed)
            .map_err(|error| wrong(format!("cannot read it: {error}")))?;
        let record = documents::read_search(&text).map_err(|error| wrong(error.to_string()))?;
        records.push((file, *record));
    }
    let joined = merge(records).map_err(|error| Failure::Usage(error.to_string()))?;
    print(&joined, args.json);
    Ok(code_of(&joined))
}
