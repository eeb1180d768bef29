//! The page for a browser: what is in it, how big it gets, and what a browser makes of it.

mod browser;
mod histories;
mod runs;
mod size;
mod values;
mod words;
