//! Reports as people and machines read them.

mod any_history;
mod document;
mod gate;
mod limits;
mod matrix;
mod samples;
mod tape;
mod terminal;
