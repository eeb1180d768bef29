//! A hunt on servers: first the scenarios of the catalog that break most locks, then in turn further scenarios,
//! scenarios with another workload, and random plans or mutations, as many in parallel as the machine allows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::record::Counterexample;
use picklock_harness::search::{Draw, Memory, Plan, Progress, SearchResult, ViolationFilter};
use picklock_reports::inert;
use picklock_scenarios::profile::MOST_REVEALING;
use picklock_scenarios::{BackendName, Scenario, catalog};
use tokio::task::JoinSet;

use super::about_hunt::about;
use super::attempt::{Attempted, Attempts};
use super::cli::HuntArgs;
use super::lock_under_test::LockUnderTest;
use super::report::{self, Earlier};
use super::searching::SearchProgress;
use crate::backend_choice::{self, BackendRequest, ChosenBackend};
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Number of scenarios of the catalog that a hunt runs first. Each of the others breaks few locks that these do not
/// break, so plans that are not in the catalog come between them.
const FIRST_SCENARIOS: u64 = 8;

/// Describes the latencies of all runs.
const LATENCIES: &str =
    "the latencies of real servers on this machine, which differ from run to run";

/// Returns how many of all runs a shard makes.
fn part_of(runs: u64, (shard, of): (u64, u64)) -> u64 {
    runs / of + u64::from(runs % of >= shard)
}

/// Runs plans until the requested number is reached or the time is over, and prints the results.
///
/// # Errors
/// Returns an error if there are no servers, or if a run or a directory fails.
pub async fn hunt(
    args: &HuntArgs,
    lock_under_test: &LockUnderTest,
    base: &Scenario,
    time: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<u8, Failure> {
    let choosing = backend_choice::choose(BackendRequest {
        backend: args.backend.servers(),
        servers: &lock_under_test.servers,
        can_simulate: false,
        scenario: Some(base),
    });
    let chosen = interrupt.unless_wanted(choosing).await?;
    let nodes = base.topology.nodes.unwrap_or(lock_under_test.spec.nodes);
    let mut about = about(args, nodes, chosen.name(), LATENCIES);
    let earlier = Earlier::find(&args.search, &about)?;
    let draw = Draw {
        lock: &lock_under_test.spec,
        base,
        groups: &lock_under_test.groups,
        seed: args.search.seed,
        uniform: args.uniform,
        shard: lock_under_test.shard,
    };
    let clock = Clock::start();
    let mut hunting = Hunting {
        attempts: Rc::new(attempts(lock_under_test, args, &chosen, interrupt, &clock)),
        draw,
        catalog: if args.uniform {
            Vec::new()
        } else {
            catalog_plans(args.search.seed, lock_under_test.shard)
        },
        clock: clock.clone(),
        time,
        max: args.runs.map(|runs| part_of(runs, lock_under_test.shard)),
        next: earlier.as_ref().map_or(0, Earlier::next),
        running: JoinSet::new(),
        progress: SearchProgress::new(args.search.quiet, time),
        outcome: SearchResult::default(),
        memory: Memory::default(),
        counterexamples: Vec::new(),
        unrepeated: 0,
    };
    hunting
        .run(Jobs::new(args, lock_under_test.threads, chosen.name()))
        .await?;
    about.coverage.patterns = hunting.memory.patterns();
    about.coverage.unrepeated = hunting.unrepeated;
    about.next = hunting.next;
    let came_out = (
        hunting.outcome,
        hunting.counterexamples,
        hunting.clock.elapsed().as_secs_f64(),
    );
    report::finish(
        &args.search,
        lock_under_test,
        about,
        came_out,
        (interrupt, earlier),
    )
}

/// Returns the state that all attempts share.
fn attempts(
    lock_under_test: &LockUnderTest,
    args: &HuntArgs,
    chosen: &ChosenBackend,
    interrupt: &Interrupt,
    clock: &Clock,
) -> Attempts {
    Attempts {
        lock: lock_under_test.spec.clone(),
        servers: lock_under_test.servers.clone(),
        backend: chosen.name(),
        wanted: ViolationFilter {
            own_only: !args.unavoidable,
            ..lock_under_test.wanted.clone()
        },
        interrupt: interrupt.clone(),
        out: lock_under_test.out.clone(),
        clock: clock.clone(),
        known: RefCell::new(BTreeMap::new()),
        named: Cell::new(0),
    }
}

/// Returns the scenarios of the catalog as plans, the most revealing first.
fn catalog_plans(seed: u64, (shard, of): (u64, u64)) -> Vec<Plan> {
    let scenarios = MOST_REVEALING
        .iter()
        .filter_map(|name| catalog::named(name).ok());
    let plans = scenarios.map(|scenario| Plan { scenario, seed });
    let own = (0..)
        .zip(plans)
        .filter(|(number, _)| number % of == shard - 1);
    own.map(|(_, plan)| plan).collect()
}

/// The kinds of plans, each with the number of the plan among those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// A scenario of the catalog.
    Scenario(u64),
    /// A scenario of the catalog with another workload.
    OtherWorkload(u64),
    /// A random plan, or a mutation of a plan that showed a new pattern.
    Drawn(u64),
}

impl Turn {
    /// Returns the kind of the plan with this number, counted from 0, if the catalog has `scenarios`.
    fn of(number: u64, scenarios: u64) -> Turn {
        let Some(after) = number.checked_sub(FIRST_SCENARIOS.min(scenarios)) else {
            return Turn::Scenario(number);
        };
        let round = after / 3;
        match after % 3 {
            0 if FIRST_SCENARIOS + round < scenarios => Turn::Scenario(FIRST_SCENARIOS + round),
            1 if scenarios > 0 => Turn::OtherWorkload(round),
            _ => Turn::Drawn(after),
        }
    }
}

/// Number of parallel attempts. A run on server processes mostly waits, so that there are more attempts than CPUs until
/// the machine turns out to be too slow for them.
#[derive(Debug, Clone, Copy)]
struct Jobs {
    min: usize,
    now: usize,
}

impl Jobs {
    fn new(args: &HuntArgs, threads: usize, backend: BackendName) -> Jobs {
        let now = match (args.search.jobs, backend) {
            (None, BackendName::Process) => 2 * threads,
            _ => threads,
        };
        Jobs { min: threads, now }
    }
}

/// A plan with its number, counted from 1, and the result of its attempt.
type Finished = (u64, Plan, Result<Option<Attempted>, Failure>);

struct Hunting<'a> {
    attempts: Rc<Attempts>,
    draw: Draw<'a>,
    catalog: Vec<Plan>,
    clock: Clock,
    time: Option<Duration>,
    max: Option<u64>,
    /// Number of the next plan, counted from 0.
    next: u64,
    running: JoinSet<Finished>,
    progress: SearchProgress,
    outcome: SearchResult,
    memory: Memory,
    counterexamples: Vec<Counterexample>,
    unrepeated: u64,
}

impl Hunting<'_> {
    /// Makes parallel attempts until the requested number is reached or the time is over.
    async fn run(&mut self, mut jobs: Jobs) -> Result<(), Failure> {
        loop {
            while self.running.len() < jobs.now && !self.is_over() {
                self.start();
            }
            let Some(finished) = self.running.join_next().await else {
                break;
            };
            let finished = finished
                .map_err(|error| Failure::Environment(inert!("the search failed: {}", error)))?;
            let (.., attempted) = &finished;
            if matches!(attempted, Ok(Some(attempted)) if attempted.was_too_slow) {
                jobs.now = (jobs.now - 1).max(jobs.min);
            }
            self.add(finished)?;
        }
        self.attempts.clean_up();
        self.outcome.complete = self.max.is_some_and(|max| self.next >= max);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.attempts.interrupt.is_wanted()
            || self.time.is_some_and(|time| self.clock.elapsed() >= time)
            || self.max.is_some_and(|max| self.next >= max)
    }

    /// Returns the plan with this number, counted from 0.
    fn plan(&self, number: u64) -> Plan {
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        match Turn::of(number, self.catalog.len() as u64) {
            Turn::Scenario(number) => self.catalog[place(number)].clone(),
            Turn::OtherWorkload(number) => {
                let plan = &self.catalog[place(number) % self.catalog.len()];
                self.renamed(self.draw.with_other_workload(plan, number))
            }
            Turn::Drawn(number) => self.renamed(self.draw.plan(number, &self.memory)),
        }
    }

    /// A mutation of a scenario of the catalog no longer has the name of that scenario.
    fn renamed(&self, Plan { scenario, seed }: Plan) -> Plan {
        let base = self.draw.base;
        let scenario = Scenario {
            name: base.name.clone(),
            summary: base.summary.clone(),
            source: base.source.clone(),
            expect: base.expect.clone(),
            ..scenario
        };
        Plan { scenario, seed }
    }

    /// Starts the attempt of the next plan, unless the plan does not fit.
    fn start(&mut self) {
        let plan = self.plan(self.next);
        self.next += 1;
        if !self.attempts.fit(&plan) {
            return;
        }
        let (attempts, number) = (Rc::clone(&self.attempts), self.next);
        self.running.spawn_local(async move {
            let attempted = attempts.attempt(&plan, number).await;
            (number, plan, attempted)
        });
    }

    /// Records a finished attempt.
    fn add(&mut self, (number, plan, attempted): Finished) -> Result<(), Failure> {
        let place = (plan.scenario.faults.len(), vec![number - 1]);
        let Some(attempted) = attempted? else {
            if self.attempts.interrupt.is_wanted() {
                // A hunt that continues this one runs the plan again.
                self.next = self.next.min(number - 1);
            } else {
                self.outcome.add(&plan, &place, None);
            }
            return Ok(());
        };
        let Attempted {
            result,
            history,
            counterexamples,
            is_unrepeated,
            was_too_slow: _,
        } = attempted;
        self.outcome.add(&plan, &place, Some(&result));
        for known in &mut self.counterexamples {
            let is_shown = result
                .violations
                .iter()
                .any(|it| (it.property, it.cause) == (known.property, known.cause));
            known.schedules += u64::from(is_shown);
        }
        self.counterexamples.extend(counterexamples);
        self.unrepeated += u64::from(is_unrepeated);
        self.memory.remember(plan, &history);
        self.progress.show(&Progress {
            schedules: self.outcome.schedules,
            done: self.max.map(|max| self.next as f64 / max as f64),
            counterexamples: &self.outcome.counterexamples,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_plans_come_between_the_later_scenarios() {
        let turns: Vec<Turn> = (7..13).map(|number| Turn::of(number, 100)).collect();
        let wanted = [
            Turn::Scenario(7),
            Turn::Scenario(8),
            Turn::OtherWorkload(0),
            Turn::Drawn(2),
            Turn::Scenario(9),
            Turn::OtherWorkload(1),
        ];
        assert_eq!(turns, wanted);
        // Each scenario has its turn once, also in a small shard of the catalog.
        for scenarios in [0, 3, 8, 9, 100] {
            let turns = (0..1_000).map(|number| Turn::of(number, scenarios));
            let shown: Vec<u64> = turns
                .filter_map(|turn| match turn {
                    Turn::Scenario(number) => Some(number),
                    _ => None,
                })
                .collect();
            assert_eq!(shown, Vec::from_iter(0..scenarios));
        }
    }

    #[test]
    fn catalog_is_shared_among_shards() {
        let all = catalog_plans(1, (1, 1));
        let parts: usize = (1..=3)
            .map(|shard| catalog_plans(1, (shard, 3)).len())
            .sum();
        assert_eq!(
            (all.len(), parts),
            (MOST_REVEALING.len(), MOST_REVEALING.len())
        );
        assert_eq!(catalog_plans(1, (2, 3))[0].scenario.name, MOST_REVEALING[1]);
    }
}
