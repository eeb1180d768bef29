//! The binary, from the command line to the exit code.
//!
//! - [`running`]: how the tests start the binary, few at a time, and the results that they get
//! - [`cases`]: scenarios that once gave wrong verdicts
//! - [`init`]: writes a new adapter and overwrites nothing
//! - [`front_ends`]: the failure that the packages of `integrations/` print, in every language
//! - [`install`]: the script that installs a release, and the archive that it downloads
//! - [`input`]: errors in a command line, a file or a machine are reported: what, where, and what to do
//! - [`mistakes`]: mistakes of first-time users
//! - [`matrix`]: many cells, their expectations, and the saved results
//! - [`configuration`]: the user's own locks by name, and mistakes in their tables
//! - [`reference`]: locks with a built-in lock as their reference, and quick profiles
//! - [`gate`]: results compared with the user's requirements
//! - [`replay`]: repeats a saved run
//! - [`report`]: files created from saved runs
//! - [`bounds`]: limits of user input
//! - [`strangers`]: foreign files and directories
//! - [`ending`]: signals during a simulation, and output that cannot be written
//! - [`search`]: sweeps, hunts, and their shards
//! - [`manual`]: explanations, completions, manual pages
//! - [`commands`]: help texts
//! - [`real`]: everything that needs real Redis servers or containers
//!
//! A missing requirement fails the test with instructions to install it; no test is skipped. The quick tier omits the
//! modules named `real` (see CONTRIBUTING.md).

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
mod front_ends;
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
