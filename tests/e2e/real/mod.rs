//! Runs on real Redis servers and in real containers. Needs `redis-server`, a Docker engine, and the
//! image that `scripts/redis-image` builds.
//!
//! - [`backends`]: simulation, processes and containers agree on the verdicts
//! - [`agreement`]: what that means, property by property
//! - [`verdicts`]: what the documents say of runs that went wrong
//! - [`sentinels`]: failovers that real Sentinels decide
//! - [`adapters`]: locks of other languages, well and ill behaved
//! - [`external`]: servers of the user's own, which a run leaves as they were; [`foreign_server`] is one
//! - [`floods`]: locks that write without an end
//! - [`adapter_check`]: adapters that keep the protocol pass, and the faults of broken ones are named
//! - [`languages`]: adapters that `picklock init` writes
//! - [`workflow`]: the workflow that `picklock init` writes, executed
//! - [`like`]: locks of other languages, held to the built-in lock that they are a copy of
//! - [`proven_faults`]: faults that missed the lock, and locks that missed the servers
//! - [`injection_points`]: faults strike at the command that takes the lock, whatever its key is called
//! - [`starvation`]: who keeps a lock from everybody, and what waiting costs
//! - [`web_servers`]: handlers of web servers that take a lock
//! - [`cases`]: scenarios that once came out wrong, on processes
//! - [`peculiar_locks`]: locks with one peculiarity each, the honest ones and the others
//! - [`leftovers`]: nothing outlives a run, however it ends
//! - [`hung_engine`]: a container engine that stands still
//! - [`other_users`]: what other users of the machine can reach
//! - [`stalls`]: a machine that stands still is not the lock's fault
//! - [`stalls`]: servers and workers that somebody stops or kills, and clients of another user
//! - [`machine_contract`]: documents, files and exit codes that other programs rely on
//! - [`choice`], [`gate`], [`matrix`], [`replay`], [`search`]: the commands of these names, with real servers
//! - [`contained_locks`]: locks in containers of their own
//! - [`configured_locks`]: locks that `picklock.toml` names
//! - [`exclusive`]: tests that must not run at the same time
//! - [`readme`]: every command of the README and the docs
//! - [`containers`], [`proc_table`]: what there is on this machine, and whose

mod adapter_check;
mod adapters;
mod agreement;
mod backends;
mod cases;
mod choice;
mod configured_locks;
mod contained_locks;
mod containers;
#[path = "../../../harness/tests/integration/real/exclusive.rs"]
mod exclusive;
mod external;
mod floods;
mod foreign_server;
mod gate;
mod hung_engine;
mod injection_points;
mod languages;
mod leftovers;
mod machine_contract;
mod matrix;
mod other_users;
mod peculiar_locks;
mod proc_table;
mod proven_faults;
mod readme;
mod reference;
mod replay;
mod search;
mod sentinels;
mod stalls;
mod starvation;
mod unexpected_stalls;
mod verdicts;
mod web_servers;
mod workflow;
