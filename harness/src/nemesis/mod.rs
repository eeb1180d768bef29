//! What makes things go wrong, and when.

mod sentinel;
mod strike;
mod target;

pub use strike::Nemesis;
