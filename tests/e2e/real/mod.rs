//! Runs on real Redis servers and in real containers. Needs `redis-server`, a Docker engine, and the
//! image that `scripts/redis-image` builds.
//!
//! - [`backends`]: simulation, processes and containers agree on the verdicts
//! - [`agreement`]: the definition of agreement, property by property
//! - [`verdicts`]: documents of runs that violated a property
//! - [`sentinels`]: failovers that real Sentinels decide
//! - [`adapters`]: locks in other languages, well and ill behaved
//! - [`external`]: the user's own servers, which a run leaves unchanged; [`foreign_server`] is one
//! - [`floods`]: locks that write endlessly
//! - [`adapter_check`]: adapters that follow the protocol pass, and the faults of others are named
//! - [`kinds`]: their examples of semaphores, read/write locks, leader elections and locks of jobs
//! - [`languages`]: adapters that `picklock init` writes
//! - [`workflow`]: the workflow that `picklock init` writes, executed
//! - [`reference`]: locks in other languages, compared with the built-in lock that they copy
//! - [`proven_faults`]: faults that did not reach the lock, and locks that do not use the servers
//! - [`injection_points`]: faults fire at the command that takes the lock, whatever its key is called
//! - [`starvation`]: locks that starve other clients, and the cost of waiting
//! - [`web_servers`]: handlers of web servers that take a lock
//! - [`cases`]: scenarios that once gave wrong verdicts, on processes
//! - [`peculiar_locks`]: locks with one peculiarity each, correct or not
//! - [`leftovers`]: nothing outlives a run, however it ends
//! - [`hung_engine`]: a stalled container engine
//! - [`other_users`]: what other users of the machine can access
//! - [`slow_servers`]: external servers that answer late or never
//! - [`stalls`]: a stalled machine is not the lock's fault
//! - [`unexpected_stalls`]: servers and workers that another process stops or kills, and clients of another user
//! - [`machine_contract`]: documents, files and exit codes that other programs rely on
//! - [`choice`], [`gate`], [`matrix`], [`replay`], [`search`]: the commands of these names, with real servers
//! - [`contained_locks`]: locks in separate containers
//! - [`configured_locks`]: locks that `picklock.toml` defines
//! - [`exclusive`]: tests that must not run at the same time
//! - [`proxy`]: `picklock proxy`, driven by curl
//! - [`readme`]: every command of the README and the docs
//! - [`containers`], [`proc_table`]: containers and processes of this machine, with their owners

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
mod kinds;
mod languages;
pub mod leftovers;
mod machine_contract;
mod matrix;
mod other_users;
mod peculiar_locks;
mod proc_table;
mod proven_faults;
mod proxy;
mod readme;
mod reference;
mod replay;
mod search;
mod sentinels;
mod slow_servers;
mod stalls;
mod starvation;
mod unexpected_stalls;
mod verdicts;
mod web_servers;
mod workflow;

/// Returns `true` if the tests run in CI, where every program is installed.
fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Returns `true` in the longer tier (`scripts/test --long`), in which tables and series are complete.
fn is_long() -> bool {
    std::env::var_os("PICKLOCK_LONG").is_some()
}
