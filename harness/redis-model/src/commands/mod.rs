//! The commands, one file for each family.

mod client;
mod config;
mod connection;
mod copy;
mod counters;
mod expiry;
mod functions;
mod hash_expiry;
mod hash_fields;
mod hash_leases;
mod hashes;
mod index_range;
mod keys;
mod lists;
mod lists_ends;
mod many_pops;
mod object;
mod option_word;
mod pubsub;
mod pubsub_state;
mod scan;
mod scan_cursor;
mod scan_options;
mod scripting;
mod set_options;
mod sets;
mod sorted_pops;
mod sorted_ranges;
mod sorted_sets;
mod strings;
mod time;
mod transactions;

use super::command::Spec;

/// Every row of the command table.
pub(super) const FAMILIES: &[&[Spec]] = &[
    client::COMMANDS,
    config::COMMANDS,
    connection::COMMANDS,
    copy::COMMANDS,
    counters::COMMANDS,
    expiry::COMMANDS,
    functions::COMMANDS,
    hash_expiry::COMMANDS,
    hash_leases::COMMANDS,
    hashes::COMMANDS,
    keys::COMMANDS,
    lists::COMMANDS,
    lists_ends::COMMANDS,
    many_pops::COMMANDS,
    object::COMMANDS,
    pubsub::COMMANDS,
    pubsub_state::COMMANDS,
    scan::COMMANDS,
    scripting::COMMANDS,
    sets::COMMANDS,
    sorted_pops::COMMANDS,
    sorted_ranges::COMMANDS,
    sorted_sets::COMMANDS,
    strings::COMMANDS,
    time::COMMANDS,
    transactions::COMMANDS,
];
