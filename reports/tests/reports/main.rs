//! Reports as people and machines read them.

mod any_history;
mod cells;
mod comparisons;
mod distributions;
mod document;
mod matrix;
mod gathered;
mod junit;
mod markdown;
mod samples;
mod tape;
mod terminal;
mod trace;
