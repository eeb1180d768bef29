//! Follows the worked example of docs/extending.md: adds its files and table rows to a copy of the workspace, compiles
//! it, and checks the result from the command line to the reports. The crate of docs/trial.md is a member of the same
//! copy.

mod built;
mod page;
mod trial;
mod workspace;
