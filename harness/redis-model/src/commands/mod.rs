//! The commands, one file for each family.

mod connection;
mod counters;
mod expiry;
mod hashes;
mod index_range;
mod keys;
mod lists;
mod lists_ends;
mod option_word;
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
