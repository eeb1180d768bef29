//! The commands, one file for each family.

mod connection;
mod counters;
mod expiry;
mod hashes;
mod keys;
mod lists;
mod lists_ends;
mod pubsub;
mod scripting;
mod set_options;
mod sets;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod time;
mod transactions;

use super::command::Spec;

/// Every row of the command table.
pub(super) const FAMILIES: &[&[Spec]] = &[
    connection::COMMANDS,
    counters::COMMANDS,
    expiry::COMMANDS,
    hashes::COMMANDS,
    keys::COMMANDS,
    lists::COMMANDS,
    lists_ends::COMMANDS,
    pubsub::COMMANDS,
    scripting::COMMANDS,
    sets::COMMANDS,
    sorted_ranges::COMMANDS,
    sorted_sets::COMMANDS,
    strings::COMMANDS,
    time::COMMANDS,
    transactions::COMMANDS,
];

/// A range with positions counted from the start, or from the end if negative, as Redis reads it.
/// `None` if the range is empty.
fn span(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_start = |place: i64| {
        if place < 0 {
            place.saturating_add(len)
        } else {
            place
        }
    };
    let start = from_start(start).max(0);
    let end = from_start(end).min(len - 1);
    if start > end || start >= len {
        return None;
    }
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

/// True if an option is this word, in any case.
fn is_word(option: &[u8], word: &str) -> bool {
    option.eq_ignore_ascii_case(word.as_bytes())
}
