//! What the kernel says about processes and threads in `/proc`.
//!
//! - [`stat`]: one process or thread
//! - [`process_table`]: all processes at one time, with the marks that they inherited
//! - [`lineage`]: which of them descend from one process that was started here

mod lineage;
mod process_table;
mod stat;

pub(crate) use lineage::{Lineage, Member, is_stopped};
pub(crate) use process_table::{MARK_VARIABLE, ProcessTable};
pub(crate) use stat::{ProcessStat, all_processes};
