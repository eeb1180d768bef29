//! The hidden commands: the worker of the built-in locks, the streams of a container, and the reaper.

use std::io::{stdin, stdout};

use picklock_harness::adapter::serve::ServeError;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::servers;
use picklock_harness::worker::serve_lock;
use picklock_impls::find;
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::{self, Failure};
use crate::print;

/// Serves one built-in lock on standard input and output until the input ends.
///
/// # Errors
/// Returns an error if the name is unknown, or if a pipe breaks.
pub async fn run(name: String) -> Result<u8, Failure> {
    let lock =
        find(&name).ok_or_else(|| Failure::Usage(inert!("--impl {}: no such lock", name)))?;
    let mut reader = tokio::io::BufReader::new(tokio::io::stdin());
    let mut complain = |text: &str| print::err(&inert!("{}\n", Inert::lines(text)));
    let lock = LockFactory::built_in(lock);
    let mut stdout = tokio::io::stdout();
    match serve_lock(&lock, &mut reader, &mut stdout, &mut complain).await {
        Ok(()) => Ok(exit::HELD),
        Err(ServeError::Terminated) => Ok(exit::TERMINATED),
        Err(error) => Err(Failure::Environment(inert!("{}", error))),
    }
}

/// Starts a worker's container and carries its standard streams until it ends. Returns the container's exit code.
pub async fn carry_streams(name: String) -> Result<u8, Failure> {
    Ok(servers::carry_streams(&name).await?)
}

/// Waits until the parent picklock has exited, then cleans up after it.
pub fn reap() -> Result<u8, Failure> {
    servers::run_reaper(stdin().lock(), stdout())
        .map_err(|error| Failure::Environment(inert!("{}", error)))?;
    Ok(exit::HELD)
}
