//! The one entry for runs: a specification and a backend in, what the run leaves out.
//!
//! A [`BackendSetup`] holds what data cannot: the code of a lock, or the servers that were found and the
//! programs to start. Simulation and servers leave the same [`RunResult`].

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
) -> LocalBoxFuture<'a, Result<RunResult, RunFailure>> {
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

/// Simulates the run beside the caller's thread, so that an interrupt is noticed at once. The thread of
/// an interrupted simulation cannot be ended; it is left behind until the process ends.
async fn simulated(
    simulation: Simulation,
    interrupt: LocalBoxFuture<'_, ()>,
) -> Result<RunResult, RunFailure> {
    let run = tokio::task::spawn_blocking(move || simulate(simulation));
    tokio::select! {
        ran = run => Ok(ran.unwrap_or_else(|error| Err(SimError::Internal(error.to_string())))?),
        () = interrupt => Err(RunFailure::Interrupted),
    }
}
