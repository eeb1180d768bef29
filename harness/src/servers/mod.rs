//! Real Redis servers, as processes of this machine or in containers, and the clean-up: however a run ends, nothing
//! that it has started outlives it.
//!
//! - [`Servers`]: the operations of a run and its nemesis on the nodes, for all kinds of servers. `server.rs` has the
//!   traits for the differences; `server_process.rs` and `container_host.rs` implement them.
//! - `external_host.rs` connects to external servers, which [`examine`] checks first. `gateway.rs` and `upstream.rs`
//!   form the connection, and [`ExternalFault`] is the reason why a server cannot be used.
//! - [`WorkerContainers`]: workers in containers. [`carry_streams`]: their standard streams.
//! - [`detect`]: finds the backend that this machine supports, and the reason.
//! - [`parent_death_signal`]: makes every child die with this process. [`signals`]: freezes children and waits until
//!   they have stopped. [`adopt_orphans`]: makes this process adopt the orphans of workers.
//! - [`DescriptorNeed`]: checks that the descriptor limit of this process suffices for a run.
//! - [`Reaper`]: the helper process that cleans up when this process ends, even by SIGKILL. [`sweep`]: removes, in the
//!   next run, leftovers that the helper could not remove.
//!
//! This module depends on neither the adapter protocol nor the proxy. It requires Linux, because it reads `/proc` and
//! relies on the parent death signal.

mod binary;
mod child_subreaper;
mod container_host;
mod container_removal;
mod container_streams;
mod descriptor_limit;
mod detect;
mod engine;
mod error;
mod external_fault;
mod external_host;
mod gateway;
mod image;
mod node_log;
mod orphan_sweep;
pub mod parent_death_signal;
mod power_loss;
mod process_identity;
mod program_fault;
mod reaper;
mod run_dir;
mod run_servers;
mod sentinel;
mod server;
mod server_address;
mod server_container;
mod server_network;
mod server_node;
mod server_order;
mod server_process;
mod server_queries;
pub mod signals;
mod upstream;
mod wall_clock_shim;
mod worker_container;

pub use binary::Binary;
pub use child_subreaper::{Adoption, adopt_orphans};
pub use container_streams::carry_streams;
pub use descriptor_limit::DescriptorNeed;
pub use detect::{Detection, ServerKind, detect};
pub use error::BackendError;
pub use external_fault::ExternalFault;
pub use external_host::{ExaminedServer, examine, find_masters};
pub use image::Image;
pub use orphan_sweep::sweep;
pub use process_identity::ProcessIdentity;
pub use program_fault::ProgramFault;
pub use reaper::{Reaper, ReaperError, Registration, run_reaper};
pub use run_dir::RunDir;
pub use run_servers::Servers;
pub use sentinel::{SentinelGroup, master_name};
pub use server::KeyReport;
pub use server_address::{Password, ServerAddress};
pub use server_order::Layout;
pub use wall_clock_shim::{ShiftedWallClock, WallClockShim};
pub use worker_container::{WorkerContainer, WorkerContainers};
