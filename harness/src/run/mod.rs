//! The one entry for runs: a specification and a backend in, what the run leaves out.
//!
//! A [`BackendSetup`] holds what data cannot: the code of a lock, or the servers that were found and the
//! programs to start. Simulation and servers leave the same [`RunOutput`].

mod error;
mod observer;
mod output;
#[cfg(feature = "servers")]
mod servers;

use std::future::Future;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;

pub use error::RunFailure;
pub use observer::{Observer, RunPhase};
pub use output::RunOutput;
#[cfg(feature = "servers")]
pub use servers::ServerSetup;

use crate::history::EventKind;
use crate::lock_factory::LockFactory;
use crate::model::ServerVersion;
use crate::record::{Phases, Redis};
use crate::sim::{SimError, Simulation, run as simulate};
use crate::spec::RunSpec;
use crate::wire::WireLog;

/// How a run happens.
pub enum BackendSetup {
    /// In virtual time, in this process.
    Simulation {
        /// Makes the clients of the lock.
        lock: LockFactory,
        /// True to log the commands; without a log a simulation is faster.
        logs_commands: bool,
    },
    /// On real servers, with a process for each worker.
    #[cfg(feature = "servers")]
    Servers(ServerSetup),
}

/// Runs what the specification says. Where `interrupt` is ready before the run ends, the run ends
/// in order and its history says so. An interrupted simulation leaves nothing: it is
/// [`RunFailure::Interrupted`].
///
/// Must be called on a `tokio::task::LocalSet`, and on a thread that outlives the run: worker
/// processes and servers die with it.
///
/// # Errors
/// See [`RunFailure`]. A violated property is no error.
pub fn run<'a>(
    spec: &'a RunSpec,
    backend: BackendSetup,
    observer: Rc<dyn Observer>,
    interrupt: impl Future<Output = ()> + 'a,
) -> LocalBoxFuture<'a, Result<RunOutput, RunFailure>> {
    run_boxed(spec, backend, observer, Box::pin(interrupt))
}

/// The future is made and boxed here, in a function without type parameters: so the driver is compiled once,
/// and not again for each caller and the kind of its interrupt.
#[cfg_attr(
    not(feature = "servers"),
    expect(unused_variables, reason = "a simulation is not watched")
)]
fn run_boxed<'a>(
    spec: &'a RunSpec,
    backend: BackendSetup,
    observer: Rc<dyn Observer>,
    interrupt: LocalBoxFuture<'a, ()>,
) -> LocalBoxFuture<'a, Result<RunOutput, RunFailure>> {
    match backend {
        BackendSetup::Simulation {
            lock,
            logs_commands,
        } => Box::pin(simulated(spec, lock, logs_commands, interrupt)),
        #[cfg(feature = "servers")]
        BackendSetup::Servers(backend) => {
            Box::pin(servers::run(spec, backend, observer, interrupt))
        }
    }
}

/// Simulates the run beside the caller's thread, so that an interrupt is noticed at once. The thread of
/// an interrupted simulation cannot be ended; it is left behind until the process ends.
async fn simulated(
    spec: &RunSpec,
    lock: LockFactory,
    logs_commands: bool,
    interrupt: LocalBoxFuture<'_, ()>,
) -> Result<RunOutput, RunFailure> {
    let spec = spec.clone();
    let run = tokio::task::spawn_blocking(move || simulation(&spec, lock, logs_commands));
    tokio::select! {
        ran = run => ran.unwrap_or_else(|error| Err(SimError::Broken(error.to_string()).into())),
        () = interrupt => Err(RunFailure::Interrupted),
    }
}

/// How records name the model of a server.
pub fn modelled(version: ServerVersion) -> Redis {
    Redis {
        server: format!("model of {}", version.server()),
        version: version.number().to_owned(),
    }
}

/// Simulates the run, without anything to wait for; it blocks the thread for as long as it takes.
///
/// # Errors
/// The simulation gave no history.
pub fn simulation(
    spec: &RunSpec,
    lock: LockFactory,
    logs_commands: bool,
) -> Result<RunOutput, RunFailure> {
    let plan = spec.plan();
    let version = plan.model;
    let log = logs_commands.then(|| WireLog::new(&plan.keys));
    let history = simulate(Simulation {
        plan,
        lock,
        log: log.clone(),
    })?;
    let mut events = history.events.iter().rev();
    let end = events.find(|event| matches!(event.what, EventKind::End { .. }));
    Ok(RunOutput {
        redis: modelled(version),
        phases: Phases {
            setup_ms: 0,
            workload_ms: end.map_or(0, |event| event.at_ns) / 1_000_000,
            teardown_ms: 0,
        },
        history,
        lock_version: None,
        wire_log: log,
        #[cfg(feature = "servers")]
        logs: None,
    })
}
