//! Search: sweeps miss nothing, pruned runs are redundant, counterexamples shrink and repeat, and
//! correct locks stay clean.

mod clean;
mod found;
mod injection_points;

use picklock_harness::history::{EventKind, History};
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::run::RunResult;
use picklock_harness::search::fault_model::{FaultModel, Group};
use picklock_harness::search::injection_points::{
    InjectionPoint, injection_points as injection_points_of,
};
use picklock_harness::search::{Plan, Sweep, Target, ViolationFilter, workload};
use picklock_harness::sim::{Simulation, run};
use picklock_impls::find;

fn target(lock: &str) -> Target {
    Target::new(LockFactory::built_in(find(lock).unwrap()))
}

fn plan(name: &str) -> Plan {
    let scenario = workload::named(name).unwrap().unwrap();
    Plan { scenario, seed: 1 }
}

fn sweep(lock: &str, workload: &str, groups: &[Group]) -> Sweep {
    Sweep {
        target: target(lock),
        base: plan(workload).scenario,
        seed: 1,
        depth: 1,
        groups: groups.to_vec(),
        wanted: ViolationFilter::default(),
        shard: (1, 1),
    }
}

fn run_plan(target: &Target, plan: &Plan) -> RunResult {
    let simulation = Simulation {
        spec: target.run_spec(plan).unwrap(),
        lock: target.lock.clone(),
        logs_commands: true,
    };
    run(simulation).unwrap()
}

fn listed(target: &Target, plan: &Plan) -> Vec<InjectionPoint> {
    injection_points_of(&run_plan(target, plan))
}

fn fault_model(target: &Target, groups: &[Group]) -> FaultModel {
    let plan = plan("short");
    FaultModel::new(
        groups,
        target.nodes(&plan.scenario),
        &plan.scenario.topology,
    )
}

fn is_missed(history: &History) -> bool {
    let mut events = history.events.iter();
    events.any(|event| matches!(event.what, EventKind::FaultMissed { .. }))
}
