//! The size of a plan, which shrinking reduces.

use picklock_scenarios::{FaultKind, FaultPlan, Lasts, LeaseDuration, TriggerEvent, Workload};

use super::plan::{Plan, Target};

/// Times in leases that are easy to read, in ascending order. No time is close to a whole lease, because the outcome
/// would then depend on a millisecond.
pub(super) const ROUND: [f64; 5] = [0.1, 0.5, 1.5, 2.0, 3.0];

/// The size of a plan. Earlier fields take precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    faults: usize,
    workers: usize,
    operations: u64,
    nodes_affected: usize,
    strength: u32,
    workload: usize,
    times: usize,
    injection_points: u32,
}

pub(super) fn size_of(plan: &Plan, target: &Target) -> Size {
    let nodes = target.nodes(&plan.scenario);
    let workload = &plan.scenario.workload;
    let faults = &plan.scenario.faults;
    let each = u64::from(workload.purchases.unwrap_or(1000)) * workload.workers as u64;
    let stock = u64::try_from(workload.stock).unwrap_or(u64::MAX);
    Size {
        faults: faults.len(),
        workers: workload.workers,
        operations: (stock + each) * workload.keys as u64,
        nodes_affected: faults
            .iter()
            .map(|fault| nodes_affected(fault, nodes))
            .sum(),
        strength: faults.iter().map(strength).sum(),
        workload: unusual(workload),
        times: times(plan).map(|span| oddness(*span)).sum(),
        injection_points: faults.iter().map(trigger_rank).sum(),
    }
}

pub(super) fn nodes_affected(fault: &FaultPlan, nodes: usize) -> usize {
    let target = fault.target(Some(0), Some(0), 1, nodes);
    target.nodes.len()
}

/// Returns the strength of a fault: a delay is weaker than a drop, a pause weaker than a kill, and
/// a single effect weaker than a permanent one.
fn strength(fault: &FaultPlan) -> u32 {
    let kind = match fault.kind {
        FaultKind::Delay => 1,
        FaultKind::Hold => 2,
        FaultKind::Drop | FaultKind::Cut => 3,
        FaultKind::Answer => 4,
        FaultKind::PauseClient | FaultKind::PauseTask => 5,
        FaultKind::Partition => 6,
        FaultKind::CrashClient | FaultKind::TerminateClient => 7,
        FaultKind::FlushScripts => 8,
        FaultKind::PauseNode => 9,
        FaultKind::CrashNode => 10,
        FaultKind::ClockSkew => 11,
        FaultKind::ClockJump => 12,
        FaultKind::Evict => 13,
        FaultKind::Exhaust | FaultKind::FalseAnswer => 14,
        FaultKind::CutReplication | FaultKind::Failover | FaultKind::SentinelFailover => 15,
        // Faults that affect all keys at once, faults of the stock, and new kinds. Shrinking prefers any other fault.
        _ => 16,
    };
    let lasts = match fault.lasts() {
        Lasts::AtOnce | Lasts::Frames(1) => 0,
        Lasts::Frames(_) => 1,
        Lasts::For(_) => 2,
        Lasts::Forever => 3,
    };
    4 * kind + lasts
}

/// Returns the number of workload settings that differ from their defaults.
fn unusual(workload: &Workload) -> usize {
    let usual = Workload::default();
    [
        workload.extend.is_some(),
        workload.arrivals.is_some(),
        workload.update != usual.update,
        workload.start != usual.start,
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

fn times(plan: &Plan) -> impl Iterator<Item = &LeaseDuration> {
    let faults = plan.scenario.faults.iter();
    faults.flat_map(|fault| {
        let by = fault.by.as_ref().map(|by| &by.span);
        let own = [&fault.at, &fault.duration, &fault.jitter];
        own.into_iter().flatten().chain(by)
    })
}

/// Returns how hard a time is to read: round times are easier than others, and short times are easier than long ones.
fn oddness(span: LeaseDuration) -> usize {
    let round = ROUND
        .iter()
        .position(|round| LeaseDuration::Ttl(*round) == span);
    round.unwrap_or_else(|| ROUND.len() + span.to_string().len())
}

/// Returns how hard a trigger is to understand, and to reach on real servers. A trigger at any client is easier than
/// one at a certain client, a step of the driver is easier than a message, and the first event is easier than the
/// tenth.
pub(super) fn trigger_rank(fault: &FaultPlan) -> u32 {
    let Some(when) = &fault.when else { return 5000 };
    let event = match when.on {
        TriggerEvent::Granted => 0,
        TriggerEvent::StockRead | TriggerEvent::StockChanged | TriggerEvent::JobBegan => 1,
        TriggerEvent::Release | TriggerEvent::Acquire => 2,
        TriggerEvent::Extend | TriggerEvent::Extended => 3,
        TriggerEvent::Reply if when.takes => 4,
        TriggerEvent::Request | TriggerEvent::Reply => 5 + u32::from(when.node.is_some()),
    };
    let owner = when.worker.map_or(0, |worker| 1000 + 5 * worker as u32);
    owner + 100 * event + when.nth
}
