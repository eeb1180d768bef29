//! One run on real Redis servers.

use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::context::{Triggers, millis};
use picklock_harness::driver::{self, RunError, Setup};
use picklock_harness::real::{Layout, Reaper, RunDir, Servers, WallShim, World, sweep};
use picklock_harness::real_world::{Parts, RealWorld};
use picklock_harness::record::{Phases, Redis};
use picklock_harness::wire::Wire;
use picklock_reports::escape::visible;
use picklock_scenarios::{Capability, StockPlace};

use crate::backend;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::order::Order;
use crate::scenario::Ran;

/// Starts servers and workers, runs the scenario, and takes everything down again.
///
/// # Errors
/// The servers or the workers could not be started or ended, or the user interrupted the start.
pub async fn run(order: &Order, world: &World, interrupt: &Interrupt) -> Result<Ran, Failure> {
    let live = Rc::new(Live::new(order.args.quiet));
    let clock = Clock::start();
    let (triggers, due) = Triggers::of(&order.scenario.faults);
    let triggers = Arc::new(triggers);
    let plan = order.plan();
    let keys = plan.keys.clone();
    let wire = Wire::new(clock.clone(), keys, order.seed, triggers.clone());
    live.phase("setting up: servers and workers");
    let preparing = prepare(order, world, &wire);
    let (world, redis, dir) = tokio::select! {
        () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
        prepared = preparing => prepared?,
    };
    let listener = Rc::clone(&live);
    let setup = Setup {
        plan,
        subject: order.subject.name.clone(),
        clock: clock.clone(),
        triggers,
        due,
        listener: Box::new(move |event| listener.event(event)),
    };
    let world = Rc::new(world);
    let ran = driver::run(Rc::clone(&world), setup, interrupt.clone().wanted()).await;
    live.phase("taking down");
    let before = clock.elapsed();
    let down = world.take_down().await;
    drop(live);
    let ran = ran.map_err(|error| with_log(&error, dir.path()))?;
    down.map_err(|error| Failure::Environment(error.to_string()))?;
    Ok(Ran {
        history: ran.history,
        subject_version: ran.subject_version,
        redis,
        phases: Phases {
            setup_ms: millis(ran.setup),
            workload_ms: millis(ran.workload),
            teardown_ms: millis(clock.elapsed().saturating_sub(before)),
        },
        wire: Some(wire.log().clone()),
        logs: Some(dir),
    })
}

async fn prepare(
    order: &Order,
    world: &World,
    wire: &Wire,
) -> Result<(RealWorld, Redis, RunDir), Failure> {
    let reaper = Reaper::spawn(&order.program, &[OsString::from("reaper")])
        .map_err(|error| Failure::Environment(error.to_string()))?;
    // What an earlier run was not able to clean up, we do.
    sweep().await;
    let dir = RunDir::create(&reaper).map_err(|error| Failure::Environment(error.to_string()))?;
    let faults = &order.scenario.faults;
    let needs = |one| faults.iter().any(|fault| fault.needs().contains(&one));
    // The store is one server more, to which no link leads.
    let keeps_stock = order.scenario.workload.stock_in == StockPlace::Redis;
    let layout = Layout {
        nodes: order.nodes + usize::from(keeps_stock),
        replicas: order.scenario.topology.replicas,
        sentinels: order.scenario.topology.sentinels,
        persistence: order.scenario.topology.persistence,
        clocks_shift: needs(Capability::NodeClocks),
    };
    let servers = backend::start(world, layout, dir.path(), &reaper).await?;
    let redis = servers.server().clone();
    let walls = match needs(Capability::WorkerClocks) {
        true => WallShim::install(dir.path()),
        false => Ok(None),
    };
    let walls = walls.map_err(|error| Failure::Environment(error.to_string()))?;
    let world = RealWorld::new(Parts {
        walls,
        name: backend::name(world),
        servers,
        nodes: order.nodes,
        wire: wire.clone(),
        argv: order.subject.argv.clone(),
        logs: dir.path().to_owned(),
        reaper,
    });
    Ok((world, redis, dir))
}

/// An environment failure with the last words of the worker, which say more than we can.
fn with_log(error: &RunError, dir: &Path) -> Failure {
    let mut text = error.to_string();
    let RunError::Worker { worker, heard, .. } = error else {
        return Failure::Interrupted;
    };
    if let Some(line) = heard {
        text.push_str(&format!(
            "\n  worker {worker} wrote to its standard output, which is for the adapter protocol only:\n    {}",
            visible(line)
        ));
    }
    let log = std::fs::read_to_string(dir.join(format!("worker-{worker}.log"))).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(8)..];
    if !last.is_empty() {
        text.push_str(&format!("\n  worker {worker} wrote to its standard error:"));
        for line in last {
            text.push_str(&format!("\n    {}", visible(line)));
        }
    }
    Failure::Environment(text)
}
