//! What makes things go wrong, and when.

mod strike;
mod target;

pub use strike::Nemesis;
