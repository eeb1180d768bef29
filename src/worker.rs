//! The hidden ends: the worker of the built-in locks, and the reaper.

use std::io::{stdin, stdout};
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::adapter::connect::connect;
use picklock_harness::adapter::serve::{Init, serve};
use picklock_harness::{clock, entropy, real};
use picklock_impls::{Context, DynLock, Strategy, WallClock, find};

use crate::exit::{self, Failure};
use crate::print;

/// The wall clock of this machine.
struct MachineClock;

impl WallClock for MachineClock {
    fn since_epoch(&self) -> Duration {
        clock::wall_clock()
    }
}

/// Serves one built-in lock on standard input and output until the input ends.
///
/// # Errors
/// An unknown name, or a broken pipe.
pub async fn run(name: String) -> Result<u8, Failure> {
    let strategy =
        find(&name).ok_or_else(|| Failure::Usage(format!("--impl {name}: no such lock")))?;
    let reader = tokio::io::BufReader::new(tokio::io::stdin());
    let complain = |text: &str| print::err(&format!("{text}\n"));
    let build = |init| async move { build(strategy, init) };
    serve(reader, tokio::io::stdout(), build, complain)
        .await
        .map_err(|error| Failure::Environment(error.to_string()))?;
    Ok(exit::HELD)
}

fn build(strategy: &Strategy, init: Init) -> Result<Box<dyn DynLock>, String> {
    let given = init.options.iter();
    let options = strategy
        .read_options(given.map(|(name, value)| (name.as_str(), value.as_str())))
        .map_err(|error| format!("option {}: {error}", error.name()))?;
    let nodes = connect(&init.nodes, init.timeout).map_err(|error| error.to_string())?;
    let context = Context {
        wall_clock: Rc::new(MachineClock),
        entropy: entropy::stream(init.seed, "lock", 0),
        options,
    };
    Ok((strategy.build)(nodes, context))
}

/// Waits until the picklock that started it is gone, and cleans up after it.
///
/// # Errors
/// The pipe to it broke.
pub fn reap() -> Result<u8, Failure> {
    real::run_reaper(stdin().lock(), stdout())
        .map_err(|error| Failure::Environment(error.to_string()))?;
    Ok(exit::HELD)
}
