//! The pages about libraries and servers.

mod cells;
mod findings;
mod program;
mod servers;
