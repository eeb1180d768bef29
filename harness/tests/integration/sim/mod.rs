//! The simulated backend, from the outside.
//!
//! - [`actor`]: clients that play a part and write down what they saw
//! - [`availability`]: locks that need more of their nodes than a majority
//! - [`cases`]: scenarios that once came out wrong
//! - [`clients`], [`clocks`], [`links`], [`nodes`], [`injection_points`]: every fault, by what it does
//! - [`data`]: faults of keys, scripts, memory and connections
//! - [`commands`]: Redis through simulated connections
//! - [`determinism`]: the same seed, the same bytes, and the verdicts that the catalog expects
//! - [`extensions`]: holders that extend their lease while they work
//! - [`refused_leases`]: locks that do not take the lease of the scenario
//! - [`replicas`]: WAIT, beside real servers
//! - [`sections`]: what an application does in and around a section
//! - [`subscriptions`]: what is published comes to those who have subscribed, unless a fault is on
//! - [`taking`]: moments that mean the command which takes the lock
//! - [`command_log`]: what is kept of what passed
//! - [`undo`]: how faults end, and that some do not
//! - [`trouble`]: locks that cannot be simulated
//! - [`open_loop`]: buyers who come at a rate, whether or not anybody is free
//! - [`peculiar`]: locks of strangers with one peculiarity each
//! - [`properties`]: any scenario, and nobody accused who keeps its word
//! - [`stock_faults`]: what a right lock does not prevent
//! - [`trials`]: the library's front door
//! - [`verdicts`]: what the catalog expects of a history

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
mod undo;

use std::collections::BTreeMap;

use picklock_harness::history::History;
use picklock_harness::sim::{LockFactory, Simulation, run};
use picklock_harness::spec::RunSpec;
use picklock_scenarios::{Scenario, catalog};

/// A run of a scenario with this lock, which may need more replicas than the scenario has.
pub fn simulation(mut scenario: Scenario, lock: &LockFactory, seed: u64) -> Simulation {
    let replicas = &mut scenario.topology.replicas;
    *replicas = lock.replicas().max(*replicas);
    Simulation {
        spec: RunSpec::simulated(lock.spec(&BTreeMap::new()), scenario, seed),
        lock: lock.clone(),
        logs_commands: false,
    }
}

/// Simulates a scenario of the catalog.
pub fn simulate(scenario: &str, lock: &LockFactory, seed: u64) -> History {
    let scenario = catalog::named(scenario).unwrap();
    run(simulation(scenario, lock, seed)).unwrap().history
}
