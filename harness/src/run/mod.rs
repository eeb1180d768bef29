//! The single entry point for runs: takes a specification and a backend, and returns the result.
//!
//! A [`BackendSetup`] contains the parts that a specification cannot contain: the code of a lock, or the servers that
//! were found and the programs to start. A simulation and a run on servers return the same type, [`RunResult`].

mod error;
mod observer;
#[cfg(feature = "servers")]
mod servers;

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;

pub use error::RunFailure;
pub use observer::{Observer, RunPhase};
#[cfg(feature = "servers")]
pub use servers::ServerSetup;

use crate::lock_factory::LockFactory;
pub use crate::run_result::RunResult;
use crate::sim::{SimError, Simulation, run as simulate};
use crate::spec::RunSpec;

/// The backend of a run, with its resources.
pub enum BackendSetup {
    /// Virtual time, in this process.
    Simulation {
        /// Creates the clients of the lock.
        lock: LockFactory,
        /// Whether to log the commands. A simulation without a log is faster.
        logs_commands: bool,
    },
    /// Real servers, with worker processes.
    #[cfg(feature = "servers")]
    Servers(ServerSetup),
}

/// Runs a specification. If `interrupt` completes before the run ends, the run ends in an orderly way and its history
/// records the interrupt. An interrupted simulation returns [`RunFailure::Interrupted`] instead.
///
/// Must be called on a `tokio::task::LocalSet`, and on a thread that outlives the run, because worker processes and
/// servers die with the thread that started them.
///
/// # Errors
/// See [`RunFailure`]. A violated property is not an error.
pub fn run<'a>(
    spec: &'a RunSpec,
    backend: BackendSetup,
    observer: Rc<dyn Observer>,
    interrupt: impl Future<Output = ()> + 'a,
) -> LocalBoxFuture<'a, Result<RunResult, RunFailure>> {
    run_boxed(spec, backend, observer, Box::pin(interrupt))
}

/// Creates and boxes the future in a function without type parameters, so that the driver is compiled once and not
/// again for each caller's type of interrupt.
#[cfg_attr(
    not(feature = "servers"),
    expect(unused_variables, reason = "a simulation has no observer")
)]
fn run_boxed<'a>(
    spec: &'a RunSpec,
    backend: BackendSetup,
    observer: Rc<dyn Observer>,
    interrupt: LocalBoxFuture<'a, ()>,
) -> LocalBoxFuture<'a, Result<RunResult, RunFailure>> {
    match backend {
        BackendSetup::Simulation {
            lock,
            logs_commands,
        } => {
            let simulation = Simulation {
                spec: spec.clone(),
                lock,
                logs_commands,
            };
            Box::pin(simulated(simulation, interrupt))
        }
        #[cfg(feature = "servers")]
        BackendSetup::Servers(backend) => {
            Box::pin(servers::run(spec, backend, observer, interrupt))
        }
    }
}

/// Simulates the run on another thread, so that an interrupt takes effect at once. The thread of an interrupted
/// simulation cannot be stopped; it is left behind until the process exits.
async fn simulated(
    simulation: Simulation,
    interrupt: LocalBoxFuture<'_, ()>,
) -> Result<RunResult, RunFailure> {
    let run = tokio::task::spawn_blocking(move || simulate(simulation));
    tokio::select! {
        result = run => Ok(result.unwrap_or_else(|error| Err(SimError::Internal(error.to_string())))?),
        () = interrupt => Err(RunFailure::Interrupted),
    }
}
