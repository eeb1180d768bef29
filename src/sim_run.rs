//! One run in the simulation.

use picklock_harness::history::{History, What};
use picklock_harness::model::ServerVersion;
use picklock_harness::record::{Phases, Redis};
use picklock_harness::sim::{SimError, Simulation, Subject, run as simulate};
use picklock_harness::wire::WireLog;
use picklock_impls::find;

use crate::exit::Failure;
use crate::order::Order;
use crate::scenario::Ran;

/// Simulates the run. It takes no time to speak of, so there is no progress to show. `kept`: what
/// passes between workers and nodes is written down, for a run that is to be kept.
///
/// # Errors
/// The subject is not one of ours, or cannot be simulated.
pub fn run(order: &Order, kept: bool) -> Result<Ran, Failure> {
    let simulation = simulation(order)?;
    let log = kept.then(|| WireLog::new(&simulation.plan.keys));
    let history = simulate(Simulation {
        log: log.clone(),
        ..simulation
    });
    Ok(ran(history.map_err(failure)?, log))
}

/// What shall be simulated.
///
/// # Errors
/// The subject is not one of ours.
pub fn simulation(order: &Order) -> Result<Simulation, Failure> {
    let name = &order.subject.name;
    let strategy = find(name).ok_or_else(|| {
        Failure::Usage(format!(
            "--impl {name}: a program of your own runs in real time and cannot be simulated; choose --backend process or docker"
        ))
    })?;
    Ok(Simulation {
        plan: order.plan(),
        subject: Subject::of(strategy),
        log: None,
    })
}

/// Why there is no history.
fn failure(error: SimError) -> Failure {
    match error {
        SimError::Stuck { .. } | SimError::Broken(_) => Failure::Stuck(error.to_string()),
        SimError::Run(refused) => Failure::Environment(refused.to_string()),
    }
}

fn ran(history: History, wire: Option<WireLog>) -> Ran {
    let ended = history.events.iter().rev();
    let end_ns = ended
        .filter(|event| matches!(event.what, What::End { .. }))
        .map(|event| event.at_ns)
        .next();
    let version = ServerVersion::default();
    Ran {
        redis: Redis {
            server: format!("model of {}", version.server()),
            version: version.number().to_owned(),
        },
        phases: Phases {
            setup_ms: 0,
            workload_ms: end_ns.unwrap_or(0) / 1_000_000,
            teardown_ms: 0,
        },
        history,
        subject_version: None,
        wire,
        logs: None,
    }
}
