//! Tests of the simulated backend through its public interface.
//!
//! - [`actor`]: clients that run a script and record what they observe
//! - [`availability`]: locks that need more of their nodes than a majority
//! - [`cases`]: regression cases
//! - [`clients`], [`clocks`], [`links`], [`nodes`], [`injection_points`]: every fault, by its target
//! - [`command_log`]: the command log of a run
//! - [`commands`]: Redis through simulated connections
//! - [`data`]: faults of keys, scripts, memory and connections
//! - [`determinism`]: the same seed gives the same bytes, and the verdicts that the catalog expects
//! - [`extensions`]: holders that extend their lease while they work
//! - [`open_loop`]: buyers that arrive at a fixed rate
//! - [`peculiar`]: locks with one unusual behaviour each
//! - [`properties`]: property tests with arbitrary scenarios
//! - [`refused_leases`]: locks that reject the lease of the scenario
//! - [`replicas`]: WAIT, compared with real servers
//! - [`sections`]: what an application does in and around a section
//! - [`stock_faults`]: faults that a correct lock cannot prevent
//! - [`subscriptions`]: published messages
//! - [`taking`]: triggers for the command that takes the lock
//! - [`trials`]: the library's entry point
//! - [`trouble`]: locks that fail or cannot be simulated
//! - [`two_locks`]: clients that hold two locks, are terminated, or start again
//! - [`undo`]: the end of faults

mod actor;
mod availability;
mod cases;
mod clients;
mod clocks;
mod command_log;
mod commands;
mod data;
mod determinism;
mod extensions;
mod injection_points;
mod links;
mod nodes;
mod open_loop;
mod peculiar;
mod properties;
mod refused_leases;
mod replicas;
mod sections;
mod stock_faults;
mod subscriptions;
mod taking;
mod trials;
mod trouble;
mod two_locks;
mod undo;

use picklock_harness::history::History;
use picklock_harness::sim::{LockFactory, Simulation, run};
use picklock_harness::spec::RunSpec;
use picklock_scenarios::{Scenario, catalog};

/// Creates a run of a scenario with this lock, which may need more replicas than the scenario has.
pub fn simulation(mut scenario: Scenario, lock: &LockFactory, seed: u64) -> Simulation {
    let replicas = &mut scenario.topology.replicas;
    *replicas = lock.spec().replicas.max(*replicas);
    Simulation {
        spec: RunSpec::simulated(lock.spec().clone(), scenario, seed),
        lock: lock.clone(),
        logs_commands: false,
    }
}

/// Simulates a scenario of the catalog.
pub fn simulate(scenario: &str, lock: &LockFactory, seed: u64) -> History {
    let scenario = catalog::named(scenario).unwrap();
    run(simulation(scenario, lock, seed)).unwrap().history
}
