//! Generates random plans for a hunt.
//!
//! With bias, most faults fire where locks tend to break: during an acquisition, an extension or a release, at the last
//! unit of stock, for about the length of a lease, or on as many nodes as the lock can lose without losing its quorum,
//! or on one more. Without bias, every possible plan element is equally likely.

use std::time::Duration;

use picklock_scenarios::{
    Affects, Direction, FaultKind, FaultPlan, LeaseDuration, Phase, Scenario, Seeds, Selection,
    ServerError, SignedDuration, StartOrder, Trigger, TriggerEvent, Update, Who, Workload,
    WorkloadKind,
};
use rand::RngExt;
use rand::rngs::StdRng;

use super::fault_model::Group;
use super::injection_points::at_worker;
use super::novelty::Memory;
use super::plan::Plan;
use crate::rng;
use crate::spec::LockSpec;

/// The settings from which the plans of a hunt are generated.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// The lock under test.
    pub lock: &'a LockSpec,
    /// A scenario with the servers, and with the part of the workload that is not generated.
    pub base: &'a Scenario,
    /// The groups of faults.
    pub groups: &'a [Group],
    /// Seed from which the plans are generated.
    pub seed: u64,
    /// Whether all choices are equally likely and plans are independent of earlier plans.
    pub uniform: bool,
    /// Number of the shard, starting at 1, and the total number of shards.
    pub shard: (u64, u64),
}

impl Draw<'_> {
    /// Returns the plan with this number. The plan fits the lock. Half of the plans are mutations of remembered ones.
    pub fn plan(&self, number: u64, memory: &Memory) -> Plan {
        let (shard, shards) = self.shard;
        let number = number * shards + shard - 1;
        let fits = |plan: &Plan| plan.scenario.check_for(self.lock.nodes).is_ok();
        let remembered = memory.plans();
        if !self.uniform && !remembered.is_empty() && number.is_multiple_of(2) {
            // Prefers later plans, which were harder to reach.
            let back = (number / 2 % 16) as usize * remembered.len() / 24;
            let plan = self.mutated(&remembered[remembered.len() - 1 - back], number, memory);
            if fits(&plan) {
                return plan;
            }
        }
        // Different numbers and different attempts use different random streams.
        let mut attempts = (0..32).map(|attempt| self.draw(number ^ (attempt << 56), memory));
        attempts.find(fits).unwrap_or_else(|| Plan {
            scenario: self.base.clone(),
            seed: number,
        })
    }

    /// Generates the plan for a number.
    fn draw(&self, number: u64, memory: &Memory) -> Plan {
        let mut rng = rng::stream(self.seed, "hunt", number);
        let mut plan = Plan {
            scenario: Scenario {
                workload: self.workload(&mut rng),
                ..self.base.clone()
            },
            seed: u64::from(rng.random::<u32>()),
        };
        let faults = one_of(&mut rng, &[0, 1, 1, 1, 2, 2, 3]);
        for _ in 0..faults {
            let fault = self.fault(&mut rng, &plan, memory);
            plan.scenario.faults.push(fault);
        }
        plan
    }

    /// Returns a mutation of the plan, which differs in one element.
    fn mutated(&self, plan: &Plan, number: u64, memory: &Memory) -> Plan {
        let mut rng = rng::stream(self.seed, "hunt: mutation", number);
        let mut plan = plan.clone();
        let faults = plan.scenario.faults.len();
        let which = rng.random_range(0..faults.max(1));
        match rng.random_range(0..6) {
            0 if faults > 1 => drop(plan.scenario.faults.remove(which)),
            1 if faults > 0 => {
                let fault = self.fault(&mut rng, &plan, memory);
                plan.scenario.faults[which] = fault;
            }
            2 | 3 if faults > 0 => self.shift(&mut rng, &mut plan.scenario.faults[which]),
            4 => plan.seed = u64::from(rng.random::<u32>()),
            _ if faults < 4 => {
                let fault = self.fault(&mut rng, &plan, memory);
                plan.scenario.faults.push(fault);
            }
            _ => plan.seed = u64::from(rng.random::<u32>()),
        }
        plan
    }

    /// Returns the plan with another workload, in which one element differs: how long clients wait, how long they work,
    /// how often each of them needs the lock, or how long they wait for a server.
    pub fn with_other_workload(&self, plan: &Plan, number: u64) -> Plan {
        let mut rng = rng::stream(self.seed, "hunt: workload", number);
        let mut plan = plan.clone();
        let workload = &mut plan.scenario.workload;
        match rng.random_range(0..6) {
            // Clients are refused several times in a row while another one works.
            0..3 => workload.wait = LeaseDuration::Ttl(one_of(&mut rng, &[0.02, 0.05, 0.1])),
            3 => workload.section = LeaseDuration::Ttl(one_of(&mut rng, &[0.02, 0.5, 0.8])),
            4 => workload.purchases = workload.purchases.map(|_| rng.random_range(1..4)),
            _ => workload.command_timeout = LeaseDuration::Ttl(one_of(&mut rng, &[0.2, 3.0])),
        }
        plan
    }

    /// Moves the fault to another event of the same kind, or changes its duration.
    fn shift(&self, rng: &mut StdRng, fault: &mut FaultPlan) {
        if fault.duration.is_some() && rng.random_bool(0.3) {
            fault.duration = Some(self.span(rng));
        } else if let Some(when) = &mut fault.when {
            let by = rng.random_range(1..4);
            when.nth = if rng.random_bool(0.5) {
                when.nth + by
            } else {
                when.nth.saturating_sub(by).max(1)
            };
        } else {
            fault.at = Some(self.time(rng));
        }
    }

    fn workload(&self, rng: &mut StdRng) -> Workload {
        let base = &self.base.workload;
        let workers = rng.random_range(2..5) + base.capacity as usize - 1;
        let purchases = rng.random_range(1..4);
        let keys = one_of(rng, &[1, 1, 1, 1, 1, 1, 2]);
        let max_sold = i64::from(purchases) * workers as i64;
        let section = one_of(rng, &[0.02, 0.1, 0.1, 0.3, 0.5, 0.8]);
        let buys = matches!(base.kind, WorkloadKind::FlashSale | WorkloadKind::Permits);
        let leads = base.kind == WorkloadKind::Leader;
        // A leader renews its lease, so its term may be longer than a lease.
        let section = LeaseDuration::Ttl(if leads { 3.0 * section } else { section });
        let extends = rng.random_bool(0.3) && section.resolve(LEASE) >= LEASE / 10;
        let quarter = |span: LeaseDuration| match span {
            LeaseDuration::Ttl(factor) => LeaseDuration::Ttl(factor / 4.0),
            absolute => absolute,
        };
        let ttl = Duration::from_millis(one_of(rng, &[1000, 1000, 1000, 1500]));
        if base.kind == WorkloadKind::Ticks {
            // A workload with a schedule keeps the schedule and the time for which the lock may wait.
            return Workload {
                workers,
                section,
                ttl: LeaseDuration::Absolute(ttl),
                command_timeout: LeaseDuration::Ttl(one_of(rng, &[0.2, 0.5, 2.0, 3.0])),
                ..base.clone()
            };
        }
        Workload {
            workers,
            keys,
            stock: rng.random_range(1..=max_sold),
            // Readers and leaders continue until everything is sold.
            purchases: buys.then_some(purchases),
            act_every: base.act_every.map(|_| quarter(section)),
            section,
            extend: (extends && !leads).then(|| quarter(section)),
            ttl: LeaseDuration::Absolute(ttl),
            update: match rarely(rng, 0.15, Update::Write, Update::Decrement) {
                _ if base.kind != WorkloadKind::FlashSale => base.update,
                update => update,
            },
            start: rarely(rng, 0.15, StartOrder::OneFirst, StartOrder::Together),
            seeds: rarely(rng, 0.05, Seeds::Same, Seeds::Different),
            wait: LeaseDuration::Ttl(one_of(rng, &[0.3, 1.0, 3.0, 3.0, 8.0])),
            command_timeout: LeaseDuration::Ttl(one_of(rng, &[0.2, 0.5, 2.0, 3.0])),
            ..base.clone()
        }
    }

    fn fault(&self, rng: &mut StdRng, plan: &Plan, memory: &Memory) -> FaultPlan {
        let workload = &plan.scenario.workload;
        let kind = one_of(rng, &self.kinds(&plan.scenario.faults));
        let mut fault = FaultPlan::new(kind);
        if rng.random_bool(if !self.uniform { 0.85 } else { 0.5 }) {
            fault.when = Some(self.trigger(rng, workload, kind, memory));
        } else {
            fault.at = Some(self.time(rng));
        }
        let nodes = plan.scenario.topology.nodes.unwrap_or(self.lock.nodes);
        self.choose_targets(rng, &mut fault, workload.workers, nodes);
        self.set_parameters(rng, &mut fault);
        fault
    }

    /// Returns the kinds from which the next fault of a plan with these faults is drawn. With bias, some kinds occur
    /// more than once.
    fn kinds(&self, faults: &[FaultPlan]) -> Vec<FaultKind> {
        let has_replicas = self.lock.replicas.max(self.base.topology.replicas) > 0;
        let kinds = FaultKind::all().filter(|kind| {
            let kind_group = group(*kind);
            kind_group.is_some_and(|group| self.groups.contains(&group))
                && (has_replicas || !kind.is_replicated())
        });
        let mut kinds: Vec<FaultKind> = kinds.collect();
        if !self.uniform {
            use FaultKind as Kind;
            let often = [
                Kind::PauseClient,
                Kind::PauseClient,
                Kind::Delay,
                Kind::Delay,
                Kind::Drop,
                Kind::CrashNode,
                // A topology with replicas should exercise them, so draw these faults more often.
                Kind::CutReplication,
                Kind::CutReplication,
                Kind::Failover,
                Kind::Failover,
            ];
            let often = often.into_iter().filter(|kind| kinds.contains(kind));
            kinds.extend(often.collect::<Vec<_>>());
            // Missing data on a replica has an effect only when the replica is promoted.
            let has = |kind| faults.iter().any(|fault| fault.kind == kind);
            if has(Kind::CutReplication) && !has(Kind::Failover) {
                kinds.extend(vec![Kind::Failover; kinds.len()]);
            }
        }
        kinds
    }

    /// Draws the event at which a fault of this kind fires.
    fn trigger(
        &self,
        rng: &mut StdRng,
        workload: &Workload,
        kind: FaultKind,
        memory: &Memory,
    ) -> Trigger {
        use TriggerEvent as On;
        let at_message = match kind.affects() {
            Affects::Workers => 0.0,
            // A fault of a node matters most while a client holds the lock, and the steps of the driver occur in that
            // time.
            Affects::Nodes if !self.uniform => 0.4,
            _ => 0.7,
        };
        let on = if rng.random_bool(at_message) {
            one_of(rng, &[On::Request, On::Reply])
        } else {
            let mut steps = vec![
                On::Acquire,
                On::Granted,
                On::Extend,
                On::StockRead,
                On::StockRead,
                On::StockChanged,
                On::Release,
                On::Request,
                On::Reply,
            ];
            steps.retain(|on| self.uniform || *on != On::Extend || workload.extend.is_some());
            one_of(rng, &steps)
        };
        let worker = rng.random_range(0..workload.workers);
        let nth = if self.uniform {
            rng.random_range(1..12)
        } else {
            one_of(rng, &[1, 1, 1, 2, 2, 3])
        };
        let mut when = at_worker(on, worker, nth);
        if self.uniform || rng.random_bool(0.5) {
            when.worker = rng.random_bool(0.5).then_some(worker);
        }
        // Each client makes such a step once per purchase.
        let purchases = workload.purchases.unwrap_or(u32::MAX);
        if !self.uniform && !on.is_message() && when.worker.is_some() {
            when.nth = when.nth.min(purchases);
        }
        if on.is_message() && rng.random_bool(if !self.uniform { 0.8 } else { 0.3 }) {
            let mut phases = vec![
                Phase::Acquire,
                Phase::Extend,
                Phase::Release,
                Phase::Release,
                Phase::Idle,
            ];
            if !self.uniform {
                phases.retain(|phase| memory.has_seen(*phase));
            }
            when.during = Some(one_of(rng, &phases));
            when.takes =
                on == On::Reply && when.during == Some(Phase::Acquire) && rng.random_bool(0.7);
            when.names_key = rng.random_bool(0.3);
        }
        // The last or the second-to-last unit.
        if on == On::StockRead && !self.uniform && rng.random_bool(0.5) {
            when.stock = Some(rng.random_range(1..=workload.stock.min(2)));
            when.nth = 1;
        }
        when
    }

    fn choose_targets(
        &self,
        rng: &mut StdRng,
        fault: &mut FaultPlan,
        workers: usize,
        nodes: usize,
    ) {
        let on = fault.when.as_ref().map(|when| when.on);
        let affects = fault.kind.affects();
        if affects != Affects::Nodes {
            let same = on.is_some() && rng.random_bool(0.85);
            fault.workers = Some(if same {
                Selection::Word(Who::Same)
            } else {
                Selection::List(vec![rng.random_range(0..workers)])
            });
        }
        if affects != Affects::Workers {
            let at_node = on.is_some_and(TriggerEvent::is_message);
            // A lock with a quorum tolerates the loss of one link.
            let is_down = matches!(fault.kind, FaultKind::Partition | FaultKind::Hold);
            let rarely = is_down && nodes > 1 && !self.uniform;
            let same = at_node && rng.random_bool(if rarely { 0.2 } else { 0.7 });
            let majority = nodes / 2 + 1;
            let counts = [1, majority.saturating_sub(1).max(1), majority, nodes];
            fault.nodes = Some(if same {
                Selection::Word(Who::Same)
            } else {
                Selection::List((0..one_of(rng, &counts)).collect())
            });
        }
    }

    /// Sets the parameters that only some kinds have.
    fn set_parameters(&self, rng: &mut StdRng, fault: &mut FaultPlan) {
        use FaultKind as Kind;
        let one_message = rng.random_bool(0.7);
        match fault.kind {
            Kind::PauseClient | Kind::PauseNode => fault.duration = Some(self.span(rng)),
            Kind::Delay => {
                fault.by = Some(self.span(rng).into());
                fault.frames = Some(1);
            }
            Kind::Drop if one_message => fault.frames = Some(1),
            Kind::Answer => {
                fault.error = Some(one_of(rng, &ServerError::ALL));
                fault.frames = Some(if one_message { 1 } else { 3 });
            }
            Kind::Hold | Kind::Partition | Kind::Drop | Kind::Exhaust => {
                fault.duration = Some(self.span(rng));
            }
            Kind::CrashNode | Kind::CrashClient if one_message => {
                // The node usually restarts before a lease has expired, because otherwise nothing is lost.
                let spans = [0.02, 0.02, 0.1, 0.5, 1.5];
                fault.duration = Some(LeaseDuration::Ttl(one_of(rng, &spans)));
            }
            Kind::ClockJump | Kind::ClockSkew => {
                let back = rng.random_bool(0.4);
                let span = self.span(rng);
                fault.by = Some(SignedDuration { span, back });
            }
            _ => {}
        }
        if fault.kind == Kind::Exhaust {
            fault.what = Some(picklock_scenarios::Resource::Memory);
        }
        let has_direction = matches!(
            fault.kind,
            Kind::Delay | Kind::Drop | Kind::Hold | Kind::Partition
        );
        if has_direction && rng.random_bool(0.5) {
            fault.direction = Some(one_of(rng, &[Direction::Request, Direction::Reply]));
        }
    }

    fn span(&self, rng: &mut StdRng) -> LeaseDuration {
        LeaseDuration::Ttl(if self.uniform {
            f64::from(rng.random_range(1..30)) / 10.0
        } else {
            one_of(rng, &[0.1, 0.3, 0.6, 0.9, 1.0, 1.1, 1.2, 1.5, 1.5, 2.0])
        })
    }

    /// Returns the start time of a fault without a trigger.
    fn time(&self, rng: &mut StdRng) -> LeaseDuration {
        LeaseDuration::Ttl(f64::from(rng.random_range(0..40)) / 10.0)
    }
}

/// An arbitrary lease, because the durations of plans are relative to it.
const LEASE: Duration = Duration::from_secs(1);

/// Returns the group of a kind of fault, or `None` if hunts do not use this kind.
fn group(kind: FaultKind) -> Option<Group> {
    use FaultKind as Kind;
    Some(match kind {
        Kind::Delay | Kind::Drop | Kind::Hold | Kind::Cut | Kind::Partition => Group::Network,
        Kind::PauseClient | Kind::CrashClient => Group::Clients,
        Kind::Answer
        | Kind::PauseNode
        | Kind::CrashNode
        | Kind::CutReplication
        | Kind::Failover
        | Kind::Exhaust => Group::Nodes,
        Kind::Evict | Kind::FlushScripts | Kind::FlushAll => Group::Data,
        Kind::ClockJump | Kind::ClockSkew => Group::Clocks,
        // Untrue answers mislead any lock that relies on them. The other kinds exist only in some topologies, or are
        // not yet part of hunts.
        _ => return None,
    })
}

fn rarely<T>(rng: &mut StdRng, probability: f64, rare: T, usual: T) -> T {
    if rng.random_bool(probability) {
        rare
    } else {
        usual
    }
}

fn one_of<T: Clone>(rng: &mut StdRng, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())].clone()
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::catalog;

    use super::super::workload;
    use super::*;

    #[test]
    fn other_workload_differs_in_one_element() {
        let lock = LockSpec::new("set-nx-px");
        let draw = Draw {
            lock: &lock,
            base: &workload::for_hunts(&[]).unwrap(),
            groups: &Group::ALL,
            seed: 1,
            uniform: false,
            shard: (1, 1),
        };
        let scenario = catalog::named("holder-crash").unwrap();
        let plan = Plan { scenario, seed: 7 };
        let same = |other: &Plan| *other == plan;
        let others: Vec<Plan> = (0..24)
            .map(|number| draw.with_other_workload(&plan, number))
            .collect();
        assert!(others.iter().filter(|other| !same(other)).count() > 12);
        for other in &others {
            let (before, after) = (&plan.scenario.workload, &other.scenario.workload);
            let differs = [
                before.wait != after.wait,
                before.section != after.section,
                before.purchases != after.purchases,
                before.command_timeout != after.command_timeout,
            ];
            assert!(differs.iter().filter(|it| **it).count() <= 1, "{after:?}");
            assert_eq!(other.scenario.faults, plan.scenario.faults);
            assert_eq!(other.scenario.check_for(1), Ok(()));
        }
    }
}
