//! Shrinking: the smallest plan that still has the same violation, by the same cause.
//!
//! Candidates are tried pass by pass, the most telling first; the first one that is smaller and has the violation takes
//! the place of the plan, and all begins anew. What is smaller is one order ([`Size`]), so it ends. Every candidate is a
//! valid scenario by itself, or is not tried.

use std::sync::atomic::{AtomicBool, Ordering};

use picklock_scenarios::{
    FaultKind, FaultPlan, Lasts, LeaseDuration, Selection, SignedDuration, Strikes, Trigger,
    TriggerEvent, Who, Workload,
};

use super::attempt::{Keep, show, show_one};
use super::finds::{Violation, Wanted};
use super::moments::event;
use super::plan::{Plan, Target};
use super::vocabulary::{Group, Vocabulary};

/// So many candidates are run at a time: the first of them that is good ends the rest.
const CHUNK: usize = 24;

/// So many moments are tried for one fault, the simplest ones.
const MOST_MOMENTS: usize = 200;

/// How large a plan is: the earlier number decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    faults: usize,
    workers: usize,
    operations: u64,
    nodes_struck: usize,
    strength: u32,
    workload: usize,
    times: usize,
    moments: u32,
}

/// What shrinking has made of a plan.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest plan that was found.
    pub plan: Plan,
    /// How many runs that took.
    pub runs: u64,
    /// False: it was interrupted, or its budget was spent.
    pub complete: bool,
}

/// Shrinks a plan that has the violation. At most `budget` runs are made.
pub fn shrink(
    target: &Target,
    plan: Plan,
    violation: Violation,
    budget: u64,
    stop: &AtomicBool,
) -> Shrunk {
    let mut shrinking = Shrinking {
        target,
        wanted: Wanted {
            properties: vec![violation.property],
            outlived_lease: true,
        },
        violation,
        left: budget,
        stop,
    };
    let mut plan = plan;
    'again: loop {
        for pass in PASSES {
            let candidates = pass(&shrinking, &plan);
            if let Some(smaller) = shrinking.first_smaller(&plan, candidates) {
                plan = smaller;
                continue 'again;
            }
            if shrinking.is_over() {
                break 'again;
            }
        }
        break;
    }
    Shrunk {
        plan,
        runs: budget - shrinking.left,
        complete: !shrinking.is_over(),
    }
}

/// One way to make a plan smaller.
type Pass = fn(&Shrinking<'_>, &Plan) -> Vec<Plan>;

const PASSES: [Pass; 8] = [
    fewer_faults,
    fewer_workers,
    fewer_operations,
    weaker_faults,
    usual_workload,
    rounder_times,
    simpler_moments,
    other_moments,
];

struct Shrinking<'a> {
    target: &'a Target,
    wanted: Wanted,
    violation: Violation,
    left: u64,
    stop: &'a AtomicBool,
}

impl Shrinking<'_> {
    fn is_over(&self) -> bool {
        self.left == 0 || self.stop.load(Ordering::Relaxed)
    }

    /// The first candidate that is smaller than the plan and has the violation.
    fn first_smaller(&mut self, plan: &Plan, candidates: Vec<Plan>) -> Option<Plan> {
        let nodes = self.target.nodes(&plan.scenario);
        let size = size(plan, nodes);
        let smaller = candidates.into_iter().filter(|one| {
            size_of(one, self.target) < size
                && one.scenario.check_for(self.target.spec.nodes).is_ok()
        });
        let smaller: Vec<Plan> = smaller.collect();
        for chunk in smaller.chunks(CHUNK) {
            if self.is_over() {
                return None;
            }
            let room = usize::try_from(self.left).unwrap_or(usize::MAX);
            let chunk = &chunk[..chunk.len().min(room)];
            self.left -= chunk.len() as u64;
            let shown = show(self.target, &self.wanted, chunk, Keep::Nothing);
            let has_it = shown.iter().position(|shown| {
                let shown = shown.as_ref();
                shown.is_some_and(|it| !it.missed && it.violations.contains(&self.violation))
            });
            if let Some(found) = has_it {
                return Some(chunk[found].clone());
            }
        }
        None
    }

    fn vocabulary(&self, plan: &Plan) -> Vocabulary {
        let nodes = self.target.nodes(&plan.scenario);
        Vocabulary::new(&Group::ALL, nodes, &plan.scenario.topology)
    }
}

/// How large a plan is.
fn size_of(plan: &Plan, target: &Target) -> Size {
    size(plan, target.nodes(&plan.scenario))
}

fn size(plan: &Plan, nodes: usize) -> Size {
    let workload = &plan.scenario.workload;
    let faults = &plan.scenario.faults;
    let each = u64::from(workload.purchases.unwrap_or(1000)) * workload.workers as u64;
    let stock = u64::try_from(workload.stock).unwrap_or(u64::MAX);
    Size {
        faults: faults.len(),
        workers: workload.workers,
        operations: (stock + each) * workload.keys as u64,
        nodes_struck: faults.iter().map(|fault| nodes_struck(fault, nodes)).sum(),
        strength: faults.iter().map(strength).sum(),
        workload: unusual(workload),
        times: times(plan).map(|span| oddness(*span)).sum(),
        moments: faults.iter().map(moment_rank).sum(),
    }
}

fn nodes_struck(fault: &FaultPlan, nodes: usize) -> usize {
    let target = fault.target(Some(0), Some(0), 1, nodes);
    target.nodes.len()
}

/// How much a fault does: a delay less than a drop, a pause less than a kill, once less than for good.
fn strength(fault: &FaultPlan) -> u32 {
    let kind = match fault.kind {
        FaultKind::Delay => 1,
        FaultKind::Hold => 2,
        FaultKind::Drop | FaultKind::Cut => 3,
        FaultKind::Answer => 4,
        FaultKind::PauseClient => 5,
        FaultKind::Partition => 6,
        FaultKind::CrashClient => 7,
        FaultKind::FlushScripts => 8,
        FaultKind::PauseNode => 9,
        FaultKind::CrashNode => 10,
        FaultKind::ClockSkew => 11,
        FaultKind::ClockJump => 12,
        FaultKind::Evict => 13,
        FaultKind::Exhaust | FaultKind::FalseAnswer => 14,
        FaultKind::CutReplication | FaultKind::Failover | FaultKind::SentinelFailover => 15,
        FaultKind::FlushAll => 16,
    };
    let lasts = match fault.lasts() {
        Lasts::AtOnce | Lasts::Frames(1) => 0,
        Lasts::Frames(_) => 1,
        Lasts::For(_) => 2,
        Lasts::Forever => 3,
    };
    4 * kind + lasts
}

/// How many settings of a workload are not the usual ones.
fn unusual(workload: &Workload) -> usize {
    let usual = Workload::default();
    [
        workload.extend.is_some(),
        workload.arrivals.is_some(),
        workload.update != usual.update,
        workload.opening != usual.opening,
        workload.seeds != usual.seeds,
        workload.sold_out != usual.sold_out,
        workload.stock_in != usual.stock_in,
        workload.ttl != usual.ttl,
        workload.section != usual.section,
        workload.wait != usual.wait,
        workload.again != usual.again,
        workload.think != usual.think,
        workload.command_timeout != usual.command_timeout,
    ]
    .into_iter()
    .filter(|is_unusual| *is_unusual)
    .count()
}

/// The times of the faults.
fn times(plan: &Plan) -> impl Iterator<Item = &LeaseDuration> {
    let faults = plan.scenario.faults.iter();
    faults.flat_map(|fault| {
        let by = fault.by.as_ref().map(|by| &by.span);
        let own = [
            fault.at.as_ref(),
            fault.duration.as_ref(),
            fault.jitter.as_ref(),
        ];
        own.into_iter().flatten().chain(by)
    })
}

/// How hard a time is to read: a round one is easy, and a short one before a long one.
fn oddness(span: LeaseDuration) -> usize {
    let round = ROUND.iter().position(|it| LeaseDuration::Ttl(*it) == span);
    round.unwrap_or_else(|| ROUND.len() + span.to_string().len())
}

/// How hard a moment is to understand, and to meet on real servers: that of whoever comes first is easier than that of
/// one client, a step of the driver easier than a message, the first easier than the tenth.
fn moment_rank(fault: &FaultPlan) -> u32 {
    let Some(when) = &fault.when else { return 5000 };
    let event = match when.on {
        TriggerEvent::Granted => 0,
        TriggerEvent::StockRead | TriggerEvent::StockChanged => 1,
        TriggerEvent::Release | TriggerEvent::Acquire => 2,
        TriggerEvent::Extend | TriggerEvent::Extended => 3,
        TriggerEvent::Reply if when.takes => 4,
        TriggerEvent::Request | TriggerEvent::Reply => 5 + u32::from(when.node.is_some()),
    };
    let whose = when.worker.map_or(0, |worker| 1000 + 5 * worker as u32);
    whose + 100 * event + when.nth
}

fn fewer_faults(_: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let faults = 0..plan.scenario.faults.len();
    faults.map(|fault| plan.without(fault)).collect()
}

/// One worker less, each in turn: the others move up.
fn fewer_workers(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let workers = plan.scenario.workload.workers;
    if workers < 2 {
        return Vec::new();
    }
    let mut fewer: Vec<Plan> = (0..workers)
        .rev()
        .filter_map(|gone| without_worker(plan, gone))
        .collect();
    // With fewer workers an event can have another number.
    let moved = fewer.clone();
    let moved = moved.iter().flat_map(|plan| moved_faults(shrinking, plan));
    fewer.extend(moved);
    fewer
}

/// `None`: a fault is about that worker.
fn without_worker(plan: &Plan, gone: usize) -> Option<Plan> {
    let renumbered = |worker: usize| match worker.cmp(&gone) {
        std::cmp::Ordering::Less => Some(worker),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(worker - 1),
    };
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
            *list = list.iter().filter_map(|one| renumbered(*one)).collect();
            if list.is_empty() {
                return None;
            }
        }
    }
    Some(plan)
}

fn fewer_operations(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let changed = |change: &dyn Fn(&mut Workload)| {
        let mut plan = plan.clone();
        change(&mut plan.scenario.workload);
        plan
    };
    let mut fewer = vec![
        changed(&|it| it.keys = 1),
        changed(&|it| it.stock = 1),
        changed(&|it| it.stock = 2),
        changed(&|it| it.stock -= 1),
        changed(&|it| it.purchases = Some(1)),
        changed(&|it| it.purchases = Some(it.purchases.map_or(2, |most| most.max(2) - 1))),
    ];
    let moved = fewer.clone();
    let moved = moved.iter().flat_map(|plan| moved_faults(shrinking, plan));
    fewer.extend(moved);
    fewer
}

/// Each fault as each weaker one of the vocabulary at the same moment, and on fewer nodes.
fn weaker_faults(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let vocabulary = shrinking.vocabulary(plan);
    let mut weaker = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let one_node = |node| FaultPlan {
            nodes: Some(Selection::List(vec![node])),
            ..fault.clone()
        };
        if nodes_struck(fault, shrinking.target.nodes(&plan.scenario)) > 1 {
            let nodes = 0..shrinking.target.nodes(&plan.scenario);
            weaker.extend(nodes.map(|node| plan.replacing(index, one_node(node))));
        }
        let Some(when) = &fault.when else { continue };
        let others = vocabulary.at(when).into_iter();
        weaker.extend(others.map(|other| plan.replacing(index, other)));
    }
    weaker
}

/// Each setting as it usually is.
fn usual_workload(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let usual = Workload::default();
    let own = &plan.scenario.workload;
    let as_usual = |part: Workload| {
        let mut plan = plan.clone();
        plan.scenario.workload = part;
        plan
    };
    let mut plans = vec![
        as_usual(Workload {
            arrivals: None,
            duration: None,
            ..own.clone()
        }),
        as_usual(Workload {
            extend: None,
            ..own.clone()
        }),
        as_usual(Workload {
            update: usual.update,
            ..own.clone()
        }),
        as_usual(Workload {
            opening: usual.opening,
            ..own.clone()
        }),
        as_usual(Workload {
            seeds: usual.seeds,
            ..own.clone()
        }),
        as_usual(Workload {
            ttl: usual.ttl,
            ..own.clone()
        }),
        as_usual(Workload {
            section: usual.section,
            extend: None,
            ..own.clone()
        }),
        as_usual(Workload {
            wait: usual.wait,
            ..own.clone()
        }),
        as_usual(Workload {
            again: usual.again,
            ..own.clone()
        }),
        as_usual(Workload {
            think: usual.think,
            ..own.clone()
        }),
        as_usual(Workload {
            command_timeout: usual.command_timeout,
            ..own.clone()
        }),
    ];
    let changed: Vec<Plan> = plans
        .iter()
        .filter(|it| size_of(it, shrinking.target) < size_of(plan, shrinking.target))
        .cloned()
        .collect();
    plans.extend(
        changed
            .iter()
            .flat_map(|plan| moved_faults(shrinking, plan)),
    );
    plans
}

/// Times that are easy to read, short ones first. None is about as long as a lease: whether that is over would hang on
/// a millisecond.
const ROUND: [f64; 5] = [0.1, 0.5, 1.5, 2.0, 3.0];

fn rounder_times(_: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let mut rounder = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        for factor in ROUND {
            let span = LeaseDuration::Ttl(factor);
            if let Some(by) = fault.by {
                let by = Some(SignedDuration { span, ..by });
                rounder.push(plan.replacing(
                    index,
                    FaultPlan {
                        by,
                        ..fault.clone()
                    },
                ));
            }
            if fault.duration.is_some() {
                let duration = Some(span);
                rounder.push(plan.replacing(
                    index,
                    FaultPlan {
                        duration,
                        ..fault.clone()
                    },
                ));
            }
            if fault.at.is_some() {
                let at = Some(span);
                rounder.push(plan.replacing(
                    index,
                    FaultPlan {
                        at,
                        ..fault.clone()
                    },
                ));
            }
        }
        let without = FaultPlan {
            jitter: None,
            ..fault.clone()
        };
        rounder.push(plan.replacing(index, without));
    }
    rounder
}

/// Each fault at the first steps of anybody and of each worker, and at the first messages of its sort.
fn simpler_moments(_: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    const STEPS: [TriggerEvent; 5] = [
        TriggerEvent::Granted,
        TriggerEvent::StockRead,
        TriggerEvent::StockChanged,
        TriggerEvent::Release,
        TriggerEvent::Acquire,
    ];
    let workers = (0..plan.scenario.workload.workers).map(Some);
    let workers: Vec<Option<usize>> = [None].into_iter().chain(workers).collect();
    let mut simpler = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let mut moments = Vec::new();
        for worker in &workers {
            for step in STEPS {
                moments.push(event(step, *worker));
            }
        }
        moments.push(Trigger {
            takes: true,
            ..event(TriggerEvent::Reply, None)
        });
        if let Some(when) = fault.when.as_ref().filter(|when| when.on.is_message()) {
            let of_anybody = Trigger {
                worker: None,
                ..when.clone()
            };
            moments.push(Trigger {
                node: None,
                ..of_anybody.clone()
            });
            moments.push(of_anybody);
        }
        for moment in moments {
            for nth in 1..=3 {
                let moment = Trigger {
                    nth,
                    ..moment.clone()
                };
                simpler.push(plan.replacing(index, at(fault, moment)));
            }
        }
    }
    simpler.sort_by_key(|plan| plan.scenario.faults.iter().map(moment_rank).sum::<u32>());
    simpler
}

/// Each fault at each other moment of the run without it.
fn other_moments(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    moved_faults(shrinking, plan)
}

fn moved_faults(shrinking: &Shrinking<'_>, plan: &Plan) -> Vec<Plan> {
    let mut moved = Vec::new();
    for (index, fault) in plan.scenario.faults.iter().enumerate() {
        let without = plan.without(index);
        let shown = show_one(shrinking.target, &shrinking.wanted, &without, Keep::Moments);
        let moments = shown.map(|shown| shown.moments).unwrap_or_default();
        let mut moments: Vec<Plan> = moments
            .into_iter()
            .map(|moment| plan.replacing(index, at(fault, moment.trigger)))
            .collect();
        moments.sort_by_key(|plan| moment_rank(&plan.scenario.faults[index]));
        moments.truncate(MOST_MOMENTS);
        moved.extend(moments);
    }
    moved
}

/// The same fault at another moment. What it strikes is told by the moment, unless that has no node.
fn at(fault: &FaultPlan, moment: Trigger) -> FaultPlan {
    let by_node = match fault.nodes {
        Some(Selection::Word(who)) => who == Who::Same,
        Some(Selection::List(_)) => false,
        // By default a fault of nodes strikes the one of its moment, and one of links strikes all.
        None => fault.kind.strikes() == Strikes::Nodes,
    };
    let old_node = fault.when.as_ref().and_then(|when| when.node);
    let nodes = match moment.on.is_message() {
        false if by_node => Some(Selection::List(vec![old_node.unwrap_or(0)])),
        _ => fault.nodes.clone(),
    };
    FaultPlan {
        at: None,
        when: Some(moment),
        nodes,
        ..fault.clone()
    }
}
