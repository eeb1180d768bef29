//! An attempt of a hunt on servers: a run of a plan, repeated if it breaks the lock in a new way.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use picklock_harness::backend::Capabilities;
use picklock_harness::check::machine_was_too_slow;
use picklock_harness::clock::Clock;
use picklock_harness::history::History;
use picklock_harness::record::{Counterexample, Recurred, RunRecord};
use picklock_harness::search::{Plan, PlanResult, Violation, ViolationFilter};
use picklock_harness::spec::{LockSpec, RunSpec, ServerChoice};
use picklock_reports::inert;
use picklock_scenarios::{BackendName, catalog};

use super::plan_run::{self, PlanRun};
use super::saved_counterexamples;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output_directory::OutputDirectory;
use crate::print;
use crate::reproduce_command::ReproduceCommand;
use crate::run_directory::RunDirectory;
use crate::specification::{MANY_WORKERS, unsuited};

/// Number of runs of a plan with a new violation. A violation that occurs in more than half of them is a
/// counterexample.
const RUNS: u64 = 5;

/// Maximum number of further attempts at a plan for which the machine was too slow.
const RETRIES: u64 = 2;

/// Maximum number of plans that are repeated per violation. Further plans are only counted.
const PLANS: usize = 2;

/// Directory of the runs whose violation did not recur.
const ASIDE: &str = "unrepeated";

/// Directory of the runs in progress.
const WORK: &str = ".runs";

/// The state that all attempts of a hunt share.
pub struct Attempts {
    pub lock: LockSpec,
    pub servers: ServerChoice,
    pub backend: BackendName,
    pub wanted: ViolationFilter,
    pub interrupt: Interrupt,
    pub out: OutputDirectory,
    /// The clock of the hunt.
    pub clock: Clock,
    /// The signatures that were repeated for each violation.
    pub known: RefCell<BTreeMap<Violation, BTreeSet<Vec<String>>>>,
    /// Number of counterexamples and of violations that did not recur, for the names of their directories.
    pub named: Cell<usize>,
}

/// The result of an attempt.
pub struct Attempted {
    pub result: PlanResult,
    pub history: History,
    /// The new counterexamples.
    pub counterexamples: Vec<Counterexample>,
    /// Whether a violation did not recur.
    pub is_unrepeated: bool,
    /// Whether the machine was too slow for the first run.
    pub was_too_slow: bool,
}

/// A plan, its first run, and how often each violation occurred in its runs.
type Repeated = (Plan, PlanRun, Vec<Recurred>);

/// Returns `true` if the plan is a scenario of the catalog. All other plans have the name of the hunt.
fn is_of_catalog(plan: &Plan) -> bool {
    catalog::names().any(|name| name == plan.scenario.name)
}

impl Attempts {
    /// Returns `true` if the servers support the plan's faults, and the lock can run its scenario.
    pub fn fit(&self, plan: &Plan) -> bool {
        let offered = Capabilities::for_backend(self.backend);
        let (scenario, nodes) = (&plan.scenario, self.lock.nodes);
        offered.offer_all(scenario).is_ok()
            && scenario.runs_in(self.backend)
            && scenario
                .topology
                .lacks_nodes(scenario.topology.nodes.unwrap_or(nodes))
                .is_none()
            && scenario.workload.process_count() <= MANY_WORKERS
            && unsuited(scenario, &self.lock).is_none()
            && self.spec(plan).resolved().is_ok()
    }

    fn spec(&self, plan: &Plan) -> RunSpec {
        RunSpec {
            servers: self.servers.clone(),
            backend: self.backend,
            ..RunSpec::simulated(self.lock.clone(), plan.scenario.clone(), plan.seed)
        }
    }

    /// Runs the plan, and repeats it if it violates something in a new way. Returns `None` if it could not be run to
    /// its end. `number` is the plan's number, from 1.
    pub async fn attempt(&self, plan: &Plan, number: u64) -> Result<Option<Attempted>, Failure> {
        let work = Path::new(WORK).join(number.to_string());
        let attempted = self.attempt_in(&work, plan, number).await;
        self.out.remove(&work, |_| true).ok();
        attempted
    }

    async fn attempt_in(
        &self,
        work: &Path,
        plan: &Plan,
        number: u64,
    ) -> Result<Option<Attempted>, Failure> {
        let Some(mut first) = self.run(plan, &work.join("1")).await? else {
            return Ok(None);
        };
        for retry in 1..=RETRIES {
            let shows_nothing = self.result_of(&first).violations.is_empty();
            if !shows_nothing || !machine_was_too_slow(&first.record.verdicts) {
                break;
            }
            let directory = work.join(format!("retry-{retry}"));
            first = self.run(plan, &directory).await?.unwrap_or(first);
        }
        let was_too_slow = machine_was_too_slow(&first.record.verdicts);
        let after_s = saved_counterexamples::in_millis(self.clock.elapsed().as_secs_f64());
        let mut result = self.result_of(&first);
        let signature = plan.signature();
        let new: Vec<Violation> = {
            let mut known = self.known.borrow_mut();
            let violations = result.violations.iter().copied();
            let is_new = |violation: &Violation| {
                let signatures = known.entry(*violation).or_default();
                signatures.len() < PLANS && signatures.insert(signature.clone())
            };
            violations.filter(is_new).collect()
        };
        let mut counterexamples = Vec::new();
        let mut is_unrepeated = false;
        if !new.is_empty() {
            let smaller = self.fewer_faults(plan, work, &new).await?;
            let smaller = smaller.as_ref().map(|(plan, run)| (plan, run));
            let (plan, first) = smaller.unwrap_or((plan, &first));
            let times = self.repeat(plan, work, &new).await?;
            let late = self.with_late_messages(plan, work, &new, &times).await?;
            let (plan, first, times) = match &late {
                Some((plan, first, times)) => (plan, first, times),
                None => (plan, first, &times),
            };
            for (violation, &recurred) in new.iter().zip(times) {
                if recurred.times * 2 <= recurred.runs {
                    result.violations.retain(|it| it != violation);
                    self.known
                        .borrow_mut()
                        .entry(*violation)
                        .or_default()
                        .remove(&signature);
                    is_unrepeated = true;
                    self.set_aside(plan, first, *violation, recurred)?;
                    continue;
                }
                let found = self.keep(plan, first, *violation)?;
                counterexamples.push(Counterexample {
                    first: number,
                    recurred: Some(recurred),
                    after_s: Some(after_s),
                    ..found
                });
            }
        }
        Ok(Some(Attempted {
            result,
            history: first.history,
            counterexamples,
            is_unrepeated,
            was_too_slow,
        }))
    }

    /// If a violation did not occur in all runs, repeats the plan with late messages. Returns the changed plan if the
    /// violations occur more often.
    async fn with_late_messages(
        &self,
        plan: &Plan,
        work: &Path,
        violations: &[Violation],
        times: &[Recurred],
    ) -> Result<Option<Repeated>, Failure> {
        let plan = plan.with_late_messages();
        if times.iter().all(|it| it.times == it.runs) || !self.fit(&plan) {
            return Ok(None);
        }
        let work = work.join("late-messages");
        let Some(first) = self.run(&plan, &work.join("1")).await? else {
            return Ok(None);
        };
        let shown = self.result_of(&first).violations;
        if !violations.iter().all(|it| shown.contains(it)) {
            return Ok(None);
        }
        let late = self.repeat(&plan, &work, violations).await?;
        let rate = |times: &[Recurred]| -> f64 {
            let rates = times.iter().map(|it| it.times as f64 / it.runs as f64);
            rates.sum()
        };
        Ok((rate(&late) > rate(times)).then_some((plan, first, late)))
    }

    /// Removes the faults that the violations do not need, and returns the plan with its run. Returns `None` if the
    /// violations need all faults, or if the plan is a scenario of the catalog, which is not shrunk.
    async fn fewer_faults(
        &self,
        plan: &Plan,
        work: &Path,
        violations: &[Violation],
    ) -> Result<Option<(Plan, PlanRun)>, Failure> {
        let mut smaller: Option<(Plan, PlanRun)> = None;
        if is_of_catalog(plan) {
            return Ok(None);
        }
        for fault in (0..plan.scenario.faults.len()).rev() {
            let smallest = smaller.as_ref().map_or(plan, |(plan, _)| plan);
            let candidate = smallest.without(fault);
            let mut last = None;
            for time in 1..=2 {
                let directory = work.join(format!("without-{fault}-{time}"));
                let ran = self.run(&candidate, &directory).await?;
                last = ran.filter(|run| {
                    let result = self.result_of(run).violations;
                    violations.iter().all(|it| result.contains(it))
                });
                if last.is_none() {
                    break;
                }
            }
            smaller = last.map(|run| (candidate, run)).or(smaller);
        }
        Ok(smaller)
    }

    async fn run(&self, plan: &Plan, directory: &Path) -> Result<Option<PlanRun>, Failure> {
        let place = (&self.out, directory);
        plan_run::run(self.spec(plan), plan, place, &self.interrupt).await
    }

    fn result_of(&self, run: &PlanRun) -> PlanResult {
        PlanResult::new(&run.history, &run.record.verdicts, &self.wanted)
    }

    /// Repeats a plan, and returns how often each violation occurred, the first run included.
    async fn repeat(
        &self,
        plan: &Plan,
        work: &Path,
        violations: &[Violation],
    ) -> Result<Vec<Recurred>, Failure> {
        let mut recurred = vec![Recurred { times: 1, runs: 1 }; violations.len()];
        for run in 2..=RUNS {
            let Some(ran) = self.run(plan, &work.join(run.to_string())).await? else {
                continue;
            };
            let again = self.result_of(&ran).violations;
            let was_slow = machine_was_too_slow(&ran.record.verdicts);
            for (violation, recurred) in violations.iter().zip(&mut recurred) {
                let is_shown = again.contains(violation);
                // A run that the machine spoiled says nothing about a recurrence.
                if is_shown || !was_slow {
                    recurred.runs += 1;
                    recurred.times += u64::from(is_shown);
                }
            }
        }
        // With a single run, because the others failed, were interrupted or were spoiled, the recurrence is unknown.
        let unknown = recurred.iter_mut().filter(|it| it.runs == 1);
        unknown.for_each(|it| it.runs = 2);
        Ok(recurred)
    }

    fn set_aside(
        &self,
        plan: &Plan,
        run: &PlanRun,
        violation: Violation,
        recurred: Recurred,
    ) -> Result<(), Failure> {
        let name = self.next_name(violation);
        let directory = Path::new(ASIDE).join(&name);
        self.copy_run(plan, run, &directory)?;
        let directory = self.out.root().join(directory);
        let Recurred { times, runs } = recurred;
        print::err(&inert!(
            "{}: occurred in {} of {} runs of its plan, so it is not counted; saved in {}\n",
            name,
            times,
            runs,
            directory.display()
        ));
        Ok(())
    }

    /// Saves the run of a counterexample.
    fn keep(
        &self,
        plan: &Plan,
        run: &PlanRun,
        violation: Violation,
    ) -> Result<Counterexample, Failure> {
        let name = self.next_name(violation);
        let (spec, record) = self.copy_run(plan, run, Path::new(&name))?;
        let directory = self.out.root().join(name);
        let signature = plan.signature();
        let mut found =
            saved_counterexamples::find(&spec, &record, violation, signature, &directory);
        if is_of_catalog(plan) {
            let name = &plan.scenario.name;
            found
                .faults
                .insert(0, format!("runs the scenario `{name}` of the catalog"));
        }
        Ok(found)
    }

    /// Copies the files of a run to a new directory, which its command then names.
    fn copy_run(
        &self,
        plan: &Plan,
        run: &PlanRun,
        to: &Path,
    ) -> Result<(RunSpec, RunRecord), Failure> {
        let saved = RunDirectory::below(&self.out, to);
        saved.copy(&RunDirectory::below(&self.out, &run.directory))?;
        let spec = saved_counterexamples::saved_in(self.spec(plan), &self.out.root().join(to));
        let record = RunRecord {
            reproduce: ReproduceCommand::for_run(&spec).to_string(),
            ..run.record.clone()
        };
        saved.describe(&spec, &record)?;
        Ok((spec, record))
    }

    /// Removes the directories that are still empty.
    pub fn clean_up(&self) {
        // A directory that contains files stays.
        self.out.remove_empty(Path::new(WORK)).ok();
        self.out.remove_empty_default();
    }

    /// Returns the name of the next directory, which no earlier hunt has used.
    fn next_name(&self, violation: Violation) -> String {
        loop {
            self.named.set(self.named.get() + 1);
            let name = saved_counterexamples::name(violation, self.named.get());
            let out = self.out.root();
            let is_used = [out.join(&name), out.join(ASIDE).join(&name)];
            if !is_used.iter().any(|path| path.exists()) {
                return name;
            }
        }
    }
}
