//! Output of adapters, read and judged by the driver in a backend without servers.
//!
//! Each request of the driver releases the next line of the input, to whichever worker the request goes. In a line,
//! `$` is replaced by the number of the request. A line with one of these prefixes is special:
//! - `+`: the worker writes the rest as well, right after the line before it.
//! - `~`: the worker pauses for this many milliseconds, and then the next line follows.
//! - `!`: the worker exits.
//!
//! A line that ends with `\` is written without a line break. When the input is used up, the workers send nothing
//! more.

use std::rc::Rc;
use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::context::{RunContext, Triggers};
use picklock_harness::driver;
use picklock_harness::spec::{LockSpec, RunSpec};
use picklock_scenarios::Scenario;

use crate::history::use_it;
use crate::talking_backend::TalkingBackend;

/// Runs the driver against workers that answer with the input, and judges the run.
///
/// # Panics
/// Panics if the run's history cannot be read back.
pub fn run(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without sockets can be made");
    let tasks = tokio::task::LocalSet::new();
    let history = tasks.block_on(&runtime, async {
        let spec = Rc::new(spec());
        let (triggers, due) = Triggers::for_plans(&spec.scenario.faults, spec.needed_nodes());
        let context = RunContext::new(
            Rc::new(TalkingBackend::new(input)),
            spec,
            Clock::start(),
            Arc::new(triggers),
            Box::new(|_| {}),
        );
        driver::run(context, due, std::future::pending()).await
    });
    match history {
        Ok(ran) => use_it(ran.history),
        Err(error) => drop(error.to_string()),
    }
}

fn spec() -> RunSpec {
    let text = include_str!("adapter_protocol.toml");
    let scenario = Scenario::parse(text, "adapter_protocol.toml").expect("its scenario is valid");
    RunSpec::simulated(LockSpec::new("input"), scenario, 1)
}
