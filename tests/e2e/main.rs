//! The binary, from the command line to the exit code.
//!
//! - [`running`]: how the tests start the binary, few at a time, and what they get back
//! - [`cases`]: scenarios that once came out wrong
//! - [`init`]: a new adapter is written, and nothing overwritten
//! - [`install`]: the script that installs a release, and the archive that it fetches
//! - [`input`]: what is wrong with a command line, a file or a machine is said, where, and what to do
//! - [`mistakes`]: what people typed who tried it for the first time
//! - [`matrix`]: many cells, what is expected of them, and what stays
//! - [`configuration`]: the user's own locks by name, and what is wrong with their tables
//! - [`like`]: locks that are held to a built-in one, and quick profiles
//! - [`gate`]: what comes out, held against what the user wants
//! - [`replay`]: a kept run once more
//! - [`report`]: files from what runs have left
//! - [`bounds`]: how much a user may ask for
//! - [`strangers`]: files and directories that somebody else has made
//! - [`ending`]: signals while something is simulated, and output that nobody can read
//! - [`search`]: sweeps, hunts, and their shards
//! - [`manual`]: explanations, completions, manual pages
//! - [`commands`]: what the help says
//! - [`real`]: everything that needs real Redis servers or containers
//!
//! What a test needs and does not find is a failure that says how to get it: nothing is skipped.
//! The quick tier leaves out the modules named `real` (see CONTRIBUTING.md).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, which clippy only knows where they are marked, and they say what they measured"
)]

mod bounds;
mod cases;
mod commands;
mod configuration;
mod ending;
mod gate;
mod init;
mod input;
mod install;
mod manual;
mod matrix;
mod mistakes;
mod real;
mod reference;
mod replay;
mod report;
mod running;
mod search;
mod slots;
mod strangers;
