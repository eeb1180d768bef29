//! Candidates: the plans that shrinking tries as replacements for a plan, pass by pass.

use picklock_scenarios::{
    Affects, FaultPlan, LeaseDuration, Selection, SignedDuration, Trigger, TriggerEvent, Who,
    Workload,
};

use super::attempt::{Keep, run_plan};
use super::fault_model::{FaultModel, Group};
use super::injection_points::event;
use super::plan::{Plan, Target};
use super::size::{ROUND, nodes_affected, size_of, trigger_rank};
use crate::counterexamples::ViolationFilter;

/// Maximum number of injection points that are tried for one fault, the simplest ones first.
const MAX_INJECTION_POINTS: usize = 200;

/// Number of other seeds with which each smaller plan is tried.
const SEEDS: u64 = 8;

pub(super) struct Shrunken<'a> {
    pub(super) target: &'a Target,
    pub(super) wanted: ViolationFilter,
}

/// One way to make a plan smaller.
pub(super) type Pass = fn(&Shrunken<'_>, &Plan) -> Vec<Plan>;

/// The passes, the most promising one first.
pub(super) const PASSES: [Pass; 9] = [
    fewer_faults,
    fewer_workers,
    fewer_operations,
    weaker_faults,
    usual_workload,
    rounder_times,
    simpler_triggers,
    moved_faults,
    other_seeds,
];

impl Shrunken<'_> {
    fn fault_model(&self, plan: &Plan) -> FaultModel {
        let nodes = self.target.nodes(&plan.scenario);
        FaultModel::new(&Group::ALL, nodes, &plan.scenario.topology)
    }
}

fn fewer_faults(_: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let faults = 0..plan.scenario.faults.len();
    faults.map(|fault| plan.without(fault)).collect()
}

/// Returns one plan for each worker that can be removed. The remaining workers are renumbered.
fn fewer_workers(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let workers = plan.scenario.workload.workers;
    if workers < 2 {
        return Vec::new();
    }
    let mut fewer: Vec<Plan> = (0..workers)
        .rev()
        .filter_map(|gone| without_worker(plan, gone))
        .collect();
    // Fewer workers compete less often, so try longer holds, too.
    let longer: Vec<Plan> = fewer.iter().map(held_longer).collect();
    fewer.extend(longer);
    // With fewer workers, the same event may have another number, so try the faults at other injection points, too.
    with_moved_faults(shrunken, fewer)
}

/// Returns these plans, and each of them with its faults at other injection points.
fn with_moved_faults(shrunken: &Shrunken<'_>, mut plans: Vec<Plan>) -> Vec<Plan> {
    let moved = plans.iter().flat_map(|plan| moved_faults(shrunken, plan));
    plans.extend(moved.collect::<Vec<_>>());
    plans
}

/// Returns the plan with sections so long that the client that holds the lock after a lease still
/// holds it when a fault of 1.5 leases ends.
fn held_longer(plan: &Plan) -> Plan {
    with_workload(plan, &|workload| {
        (workload.section, workload.extend) = (LeaseDuration::Ttl(0.75), None);
    })
}

fn with_workload(plan: &Plan, change: &dyn Fn(&mut Workload)) -> Plan {
    let mut plan = plan.clone();
    change(&mut plan.scenario.workload);
    plan
}

/// Returns the plan without a worker, or `None` if a fault concerns that worker.
fn without_worker(plan: &Plan, gone: usize) -> Option<Plan> {
    let renumbered = |worker: usize| (worker != gone).then(|| worker - usize::from(worker > gone));
    let mut plan = plan.clone();
    let workload = &mut plan.scenario.workload;
    let share = workload.stock / i64::try_from(workload.workers).unwrap_or(1);
    workload.workers -= 1;
    workload.stock = (workload.stock - share).max(1);
    for fault in &mut plan.scenario.faults {
        if let Some(worker) = fault.when.as_mut().and_then(|when| when.worker.as_mut()) {
            *worker = renumbered(*worker)?;
        }
        if let Some(Selection::List(list)) = &mut fault.workers {
            *list = list
                .iter()
                .filter_map(|worker| renumbered(*worker))
                .collect();
            if list.is_empty() {
                return None;
            }
        }
    }
    Some(plan)
}

fn fewer_operations(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let changed = |change: &dyn Fn(&mut Workload)| with_workload(plan, change);
    let fewer = vec![
        changed(&|workload| workload.keys = 1),
        changed(&|workload| workload.stock = 1),
        changed(&|workload| workload.stock = 2),
        changed(&|workload| workload.stock -= 1),
        changed(&|workload| workload.purchases = Some(1)),
        changed(&|workload| {
            workload.purchases = Some(workload.purchases.map_or(2, |count| count.max(2) - 1))
        }),
    ];
    with_moved_faults(shrunken, fewer)
}

/// Returns plans in which one fault is replaced by a weaker fault of the fault model at the same injection point, or
/// affects fewer nodes.
fn weaker_faults(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let fault_model = shrunken.fault_model(plan);
    let mut weaker = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let one_node = |node| FaultPlan {
            nodes: Some(Selection::List(vec![node])),
            ..fault.clone()
        };
        if nodes_affected(fault, shrunken.target.nodes(&plan.scenario)) > 1 {
            let nodes = 0..shrunken.target.nodes(&plan.scenario);
            weaker.extend(nodes.map(|node| plan.replacing(index, one_node(node))));
        }
        let Some(when) = &fault.when else { continue };
        let others = fault_model.at(when).into_iter();
        weaker.extend(others.map(|other| plan.replacing(index, other)));
    }
    weaker
}

/// Returns plans in which one setting of the workload is reset to its default.
fn usual_workload(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let usual = Workload::default();
    let changes: [&dyn Fn(&mut Workload); 11] = [
        &|workload| (workload.arrivals, workload.duration) = (None, None),
        &|workload| workload.extend = None,
        &|workload| workload.update = usual.update,
        &|workload| workload.start = usual.start,
        &|workload| workload.seeds = usual.seeds,
        &|workload| workload.ttl = usual.ttl,
        &|workload| (workload.section, workload.extend) = (usual.section, None),
        &|workload| workload.wait = usual.wait,
        &|workload| workload.again = usual.again,
        &|workload| workload.think = usual.think,
        &|workload| workload.command_timeout = usual.command_timeout,
    ];
    let mut plans: Vec<Plan> = changes
        .iter()
        .map(|change| with_workload(plan, change))
        .collect();
    let size = size_of(plan, shrunken.target);
    let smaller = plans
        .iter()
        .filter(|plan| size_of(plan, shrunken.target) < size);
    let moved = smaller.flat_map(|plan| moved_faults(shrunken, plan));
    plans.extend(moved.collect::<Vec<_>>());
    plans
}

fn rounder_times(_: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let mut rounder = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let mut push = |change: &dyn Fn(&mut FaultPlan)| {
            let mut fault = fault.clone();
            change(&mut fault);
            rounder.push(plan.replacing(index, fault));
        };
        for span in ROUND.map(LeaseDuration::Ttl) {
            if let Some(by) = fault.by {
                push(&|fault| fault.by = Some(SignedDuration { span, ..by }));
            }
            if fault.duration.is_some() {
                push(&|fault| fault.duration = Some(span));
            }
            if fault.at.is_some() {
                push(&|fault| fault.at = Some(span));
            }
        }
        push(&|fault| fault.jitter = None);
    }
    rounder
}

/// Returns plans in which one fault has a simpler trigger: an early step of any worker or of a certain worker, or an
/// early event of the same kind.
fn simpler_triggers(_: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    const STEPS: [TriggerEvent; 6] = [
        TriggerEvent::Granted,
        TriggerEvent::StockRead,
        TriggerEvent::StockChanged,
        TriggerEvent::JobBegan,
        TriggerEvent::Release,
        TriggerEvent::Acquire,
    ];
    let workers = (0..plan.scenario.workload.workers).map(Some);
    let workers = [None].into_iter().chain(workers);
    let steps = workers.flat_map(|worker| STEPS.map(|step| event(step, worker)));
    let mut taking = event(TriggerEvent::Reply, None);
    taking.takes = true;
    let first: Vec<Trigger> = steps.chain([taking]).collect();
    let mut simpler = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let mut injection_points = first.clone();
        if let Some(when) = &fault.when {
            let mut any_worker = when.clone();
            any_worker.worker = None;
            let mut anywhere = any_worker.clone();
            anywhere.node = None;
            injection_points.extend([anywhere, any_worker]);
        }
        for trigger in injection_points {
            for nth in 1..=3 {
                let mut trigger = trigger.clone();
                trigger.nth = nth;
                simpler.push(plan.replacing(index, moved_to(fault, trigger)));
            }
        }
    }
    simpler.sort_by_key(|plan| plan.scenario.faults.iter().map(trigger_rank).sum::<u32>());
    simpler
}

/// Returns plans with one fault or one worker less, and with other seeds, so that latencies and choices differ.
fn other_seeds(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let mut smaller = fewer_faults(shrunken, plan);
    if plan.scenario.workload.workers > 1 {
        let workers = 0..plan.scenario.workload.workers;
        smaller.extend(workers.filter_map(|gone| without_worker(plan, gone)));
    }
    let seeded = (1..=SEEDS).flat_map(|seed| {
        smaller.iter().map(move |plan| Plan {
            seed,
            ..plan.clone()
        })
    });
    seeded.collect()
}

/// Returns plans in which one fault is moved to another injection point of the run without that fault.
fn moved_faults(shrunken: &Shrunken<'_>, plan: &Plan) -> Vec<Plan> {
    let mut moved = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let without = plan.without(index);
        let result = run_plan(
            shrunken.target,
            &shrunken.wanted,
            &without,
            Keep::InjectionPoints,
        );
        let injection_points = result.unwrap_or_default().injection_points;
        let mut injection_points: Vec<Plan> = injection_points
            .into_iter()
            .map(|point| plan.replacing(index, moved_to(fault, point.trigger)))
            .collect();
        injection_points.sort_by_key(|plan| trigger_rank(&plan.scenario.faults[index]));
        injection_points.truncate(MAX_INJECTION_POINTS);
        moved.extend(injection_points);
    }
    moved
}

/// Returns the fault with another trigger. The trigger determines the fault's targets, unless it has no node.
fn moved_to(fault: &FaultPlan, trigger: Trigger) -> FaultPlan {
    let by_node = match fault.nodes {
        Some(Selection::Word(who)) => who == Who::Same,
        Some(Selection::List(_)) => false,
        // By default, a fault of nodes affects the node of its trigger, and a fault of links affects all links.
        None => fault.kind.affects() == Affects::Nodes,
    };
    let old_node = fault.when.as_ref().and_then(|when| when.node);
    let nodes = if by_node && !trigger.on.is_message() {
        Some(Selection::List(vec![old_node.unwrap_or(0)]))
    } else {
        fault.nodes.clone()
    };
    FaultPlan {
        at: None,
        when: Some(trigger),
        nodes,
        ..fault.clone()
    }
}
