//! The page for a browser: what is in it, how big it gets, and what a browser makes of it.

mod browser;
mod compared;
mod histories;
mod looks;
mod runs;
mod size;
mod whole_table;
mod words;
