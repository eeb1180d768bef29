//! The warnings of a matrix, combined for each lock, so that a lock with the same warning in every scenario has one
//! line.

use picklock_verdicts::check::{Warning, combine_warnings};
use picklock_verdicts::record::Cell;

use super::name_of_lock;

/// Maximum number of characters of a warning in one line of a report. The message of an error can be long.
const MAX_CHARS: usize = 400;

/// The warnings of one lock about one fact.
struct OfLock<'a> {
    lock: String,
    scenarios: Vec<&'a str>,
    warnings: Vec<&'a Warning>,
}

/// Returns one sentence for each lock and each fact with warnings, in the order of the cells.
pub fn lock_warnings(cells: &[Cell]) -> Vec<String> {
    let name_of_lock = name_of_lock(cells);
    let mut groups: Vec<OfLock<'_>> = Vec::new();
    for cell in cells {
        for warning in &cell.warnings {
            let lock = name_of_lock(cell);
            let is_same = |group: &&mut OfLock<'_>| {
                group.lock == lock && group.warnings[0].what.is_about_the_same(&warning.what)
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => {
                    group.warnings.push(warning);
                    if !group.scenarios.contains(&cell.scenario.as_str()) {
                        group.scenarios.push(&cell.scenario);
                    }
                }
                None => groups.push(OfLock {
                    lock,
                    scenarios: vec![&cell.scenario],
                    warnings: vec![warning],
                }),
            }
        }
    }
    groups.into_iter().filter_map(describe).collect()
}

fn describe(group: OfLock<'_>) -> Option<String> {
    let warning = combine_warnings(group.warnings).into_iter().next()?;
    let place = match group.scenarios[..] {
        [only] => only.to_owned(),
        [first, ref others @ ..] => format!("{first} and {} more", others.len()),
        [] => return None,
    };
    let text: String = warning.text.chars().take(MAX_CHARS).collect();
    Some(format!("{} in {place}: {text}", group.lock))
}
