//! What makes things go wrong, and when.
//!
//! - `strike`: the moments, and how long it lasts
//! - `target`: whom
//! - `inflict`: what each kind of fault asks of the world; `undo`: how it is taken back
//! - `clocks`: by how much each is off
//! - `describe`: the fault in words

mod clocks;
mod describe;
mod inflict;
mod sentinel;
mod strike;
mod target;
mod undo;

pub use strike::Nemesis;
