//! The worked example of docs/extending.md, followed: what it adds is added to a copy of the workspace
//! as one file and one line each, compiled, and seen from the command line to the reports. The crate of
//! docs/trial.md is a member of the same copy.

mod built;
mod page;
mod trial;
mod workspace;
