//! A hunt on servers: the same plans as in the simulation, one run after the other. A violation that occurs in three
//! runs of three is a counterexample. A violation that does not recur is reported and saved separately.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::backend::Capabilities;
use picklock_harness::clock::Clock;
use picklock_harness::record::{Counterexample, RunRecord};
use picklock_harness::run::{self, RunResult};
use picklock_harness::search::{Draw, Memory, Plan, Progress, Shown, Tried, Violation};
use picklock_harness::spec::RunSpec;
use picklock_scenarios::Scenario;

use super::about_hunt::about;
use super::cli::HuntArgs;
use super::lock_under_test::LockUnderTest;
use super::report;
use super::saved_counterexamples;
use super::searching::SearchProgress;
use crate::backend_choice::{self, BackendRequest, ChosenBackend};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use crate::run::record;

/// Number of runs in which a violation must occur to be a counterexample.
const TIMES: usize = 3;

/// Directory of the runs whose violation did not recur.
const ASIDE: &str = "unrepeated";

/// Runs plans until there were enough or the time is over, and prints what was found.
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
    let (clock, mut progress) = (Clock::start(), SearchProgress::new(args.search.quiet, time));
    let draw = Draw {
        lock: &lock_under_test.spec,
        base,
        groups: &lock_under_test.groups,
        seed: args.search.seed,
        uniform: args.uniform,
        shard: lock_under_test.shard,
    };
    let mut hunting = Hunting {
        lock_under_test,
        chosen: &chosen,
        interrupt,
        out: report::out_of(&args.search, lock_under_test.shard),
        end: time,
        clock: clock.clone(),
        counterexamples: Vec::new(),
        unrepeated: 0,
    };
    let (mut tried, mut memory) = (Tried::default(), Memory::default());
    let (shard, of) = lock_under_test.shard;
    let most = args
        .runs
        .map(|runs| runs / of + u64::from(runs % of >= shard));
    let mut next = 0;
    while most.is_none_or(|most| next < most) && !hunting.is_over() {
        let plan = draw.plan(next, &memory);
        let place = (plan.scenario.faults.len(), vec![next]);
        next += 1;
        if !hunting.fits(&plan) {
            continue;
        }
        let Some((shown, result)) = hunting.attempt(&plan, next, clock.elapsed()).await? else {
            tried.add(&plan, &place, None);
            continue;
        };
        tried.add(&plan, &place, Some(&shown));
        memory.remember(plan, &result.history);
        progress.tell(&Progress {
            schedules: tried.schedules,
            done: most.map(|most| next as f64 / most as f64),
            counterexamples: &tried.counterexamples,
        });
    }
    tried.complete = most.is_some_and(|most| next >= most);
    let nodes = base.topology.nodes.unwrap_or(lock_under_test.spec.nodes);
    let latencies = "the latencies of real servers on this machine, which differ from run to run";
    let mut about = about(args, nodes, chosen.name(), latencies);
    about.coverage.patterns = memory.patterns();
    about.coverage.unrepeated = hunting.unrepeated;
    let came_out = (
        tried,
        hunting.counterexamples,
        clock.elapsed().as_secs_f64(),
    );
    report::finish(&args.search, lock_under_test, about, came_out, interrupt)
}

/// The run of a plan.
type Ran = (RunSpec, RunResult, RunRecord);

struct Hunting<'a> {
    lock_under_test: &'a LockUnderTest,
    chosen: &'a ChosenBackend,
    interrupt: &'a Interrupt,
    out: PathBuf,
    /// The time limit, on the hunt's clock.
    end: Option<Duration>,
    clock: Clock,
    counterexamples: Vec<Counterexample>,
    unrepeated: u64,
}

impl Hunting<'_> {
    fn is_over(&self) -> bool {
        let end = self.end;
        self.interrupt.is_wanted() || end.is_some_and(|end| self.clock.elapsed() >= end)
    }

    /// Returns whether the servers support the plan's faults.
    fn fits(&self, plan: &Plan) -> bool {
        let offered = Capabilities::for_backend(self.chosen.name());
        offered.offer_all(&plan.scenario).is_ok() && self.spec(plan).is_some()
    }

    fn spec(&self, plan: &Plan) -> Option<RunSpec> {
        let (lock, servers) = (
            self.lock_under_test.spec.clone(),
            self.lock_under_test.servers.clone(),
        );
        let spec = RunSpec {
            servers,
            backend: self.chosen.name(),
            ..RunSpec::simulated(lock, plan.scenario.clone(), plan.seed)
        };
        spec.resolved().ok()
    }

    /// Runs the plan, and reruns it if it violates something. Returns the violations that occurred each time, or `None`
    /// if the plan could not be run to its end.
    async fn attempt(
        &mut self,
        plan: &Plan,
        number: u64,
        elapsed: Duration,
    ) -> Result<Option<(Shown, RunResult)>, Failure> {
        let Some(ran) = self.run(plan).await? else {
            return Ok(None);
        };
        let mut shown = self.shown(&ran);
        let violations = std::mem::take(&mut shown.violations);
        for violation in &violations {
            if self.repeats(plan, *violation).await? {
                shown.violations.push(*violation)
            } else {
                self.set_aside(&ran, *violation)?
            }
        }
        self.unrepeated += u64::from(shown.violations.len() < violations.len());
        for violation in shown.violations.clone() {
            self.keep(plan, &ran, violation, (number, elapsed)).await?;
        }
        Ok(Some((shown, ran.1)))
    }

    async fn run(&self, plan: &Plan) -> Result<Option<Ran>, Failure> {
        let Some(spec) = self.spec(plan) else {
            return Ok(None);
        };
        let backend = self.chosen.backend(&spec, true)?;
        let ran = run::run(&spec, backend, Rc::new(()), self.interrupt.clone().wanted()).await;
        // A failed run is no evidence about the lock, and the next run may succeed.
        let Ok(result) = ran else {
            return Ok(None);
        };
        let record = record(&spec, self.chosen, &result);
        let is_whole = !record.interrupted;
        Ok(is_whole.then_some((spec, result, record)))
    }

    fn shown(&self, (_, result, record): &Ran) -> Shown {
        Shown::new(
            &result.history,
            &record.verdicts,
            &self.lock_under_test.wanted,
        )
    }

    /// Returns whether the violation occurs in all remaining runs.
    async fn repeats(&self, plan: &Plan, violation: Violation) -> Result<bool, Failure> {
        for _ in 1..TIMES {
            let ran = self.run(plan).await?;
            let shown = ran.map(|ran| self.shown(&ran)).unwrap_or_default();
            if !shown.violations.contains(&violation) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_aside(&self, ran: &Ran, violation: Violation) -> Result<(), Failure> {
        let name = saved_counterexamples::name(violation, self.unrepeated as usize + 1);
        let directory = self.out.join(ASIDE).join(&name);
        let (spec, result, _) = ran;
        let spec = saved_counterexamples::kept_in(spec.clone(), &directory);
        let record = record(&spec, self.chosen, result);
        saved_counterexamples::keep_run(&spec, result, &record, &directory)?;
        print::err(&format!(
            "{name}: did not come again when the plan was repeated, so it is no find; kept in {}\n",
            directory.display()
        ));
        Ok(())
    }

    /// Saves a counterexample with as few faults as still reproduce it, or counts it if it is known.
    async fn keep(
        &mut self,
        plan: &Plan,
        ran: &Ran,
        violation: Violation,
        (number, elapsed): (u64, Duration),
    ) -> Result<(), Failure> {
        let smaller = self.fewer_faults(plan, violation).await?;
        let smaller = smaller.as_ref().map(|(plan, ran)| (plan, ran));
        let (plan, ran) = smaller.unwrap_or((plan, ran));
        let signature = plan.signature();
        let Violation { property, cause } = violation;
        let is_like = |find: &&mut Counterexample| (find.property, find.cause) == (property, cause);
        let mut like = self.counterexamples.iter_mut().filter(is_like);
        if let Some(known) = like.find(|it| it.signature == signature) {
            known.schedules += 1;
            return Ok(());
        }
        let like = self.counterexamples.iter_mut().filter(is_like).count();
        let directory = self
            .out
            .join(saved_counterexamples::name(violation, like + 1));
        let (spec, result, _) = ran;
        let spec = saved_counterexamples::kept_in(spec.clone(), &directory);
        let record = record(&spec, self.chosen, result);
        saved_counterexamples::keep_run(&spec, result, &record, &directory)?;
        let find = saved_counterexamples::find(&spec, &record, violation, signature, &directory);
        self.counterexamples.push(Counterexample {
            first: number,
            after_s: Some(saved_counterexamples::in_millis(elapsed.as_secs_f64())),
            ..find
        });
        Ok(())
    }

    /// Removes the faults that the violation does not need, and returns the plan with its run. Returns `None` if it
    /// needs all of them.
    async fn fewer_faults(
        &self,
        plan: &Plan,
        violation: Violation,
    ) -> Result<Option<(Plan, Ran)>, Failure> {
        let mut smaller: Option<(Plan, Ran)> = None;
        for fault in (0..plan.scenario.faults.len()).rev() {
            let smallest = smaller.as_ref().map_or(plan, |(plan, _)| plan);
            let candidate = smallest.without(fault);
            let Some(ran) = self.run(&candidate).await? else {
                continue;
            };
            let has_it = self.shown(&ran).violations.contains(&violation);
            if has_it && self.repeats(&candidate, violation).await? {
                smaller = Some((candidate, ran));
            }
        }
        Ok(smaller)
    }
}
