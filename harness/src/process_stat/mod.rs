//! Information about processes and threads from `/proc`.
//!
//! - [`stat`]: one process or thread
//! - [`process_table`]: all processes at one time, with the marks that they inherited
//! - [`tcp_sockets`]: the TCP sockets of this machine
//! - [`peers`]: the addresses to which processes are connected
//! - [`stall`]: detects that a process is stalled
//! - [`lineage`]: the descendants of a process that was started here

mod lineage;
#[cfg(feature = "servers")]
mod peers;
mod process_table;
#[cfg(feature = "servers")]
mod stall;
mod stat;
mod tcp_sockets;

pub(crate) use lineage::{Lineage, Member, is_held, is_stopped};
#[cfg(feature = "servers")]
pub(crate) use peers::peers_of;
#[cfg(feature = "servers")]
pub(crate) use process_table::variable_of;
pub(crate) use process_table::{MARK_VARIABLE, ProcessTable};
#[cfg(feature = "servers")]
pub(crate) use stall::{Motion, families, is_any_stopped};
pub(crate) use stat::{ProcessStat, tracer_of_this_process};
#[cfg(feature = "servers")]
pub(crate) use stat::{all_processes, cpu_waits, ran_ns};
#[cfg(test)]
pub(crate) use tcp_sockets::parse_sockets;
pub(crate) use tcp_sockets::{ip_v4_sockets, ip_v6_sockets};
