//! What makes things go wrong, and when.

mod clocks;
mod strike;
mod target;

pub use strike::Nemesis;
