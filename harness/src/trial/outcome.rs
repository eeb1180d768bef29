//! The results of a trial's runs, with assertions.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use picklock_scenarios::{BackendName, Scenario};

use super::error::TrialError;
use super::saved_run::save;
use crate::assemble::About;
use crate::check::{Cause, Property, Status, Verdict, Verdicts, judge};
use crate::expectation::{Expected, Tables, fits};
use crate::history::History;
use crate::lock_factory::LockFactory;
use crate::proxy::CommandLog;
use crate::run::{RunFailure, RunResult};
use crate::sim::{Simulation, run as simulate};
use crate::spec::RunSpec;

/// One run of a trial.
#[derive(Debug, Clone)]
pub struct TrialRun {
    /// Seed of the run.
    pub seed: u64,
    /// The history of the run.
    pub history: History,
    /// The verdicts on the run.
    pub verdicts: Verdicts,
    /// Data that only the backend has.
    about: About,
    command_log: Option<CommandLog>,
}

impl TrialRun {
    pub(super) fn new(
        seed: u64,
        result: Result<RunResult, RunFailure>,
    ) -> Result<TrialRun, TrialError> {
        let result = result.map_err(|source| TrialError::Run { seed, source })?;
        let about = About {
            picklock: env!("CARGO_PKG_VERSION").to_owned(),
            lock_version: result.lock_version.unwrap_or_default(),
            redis: result.redis,
            phases: result.phases,
            ..About::default()
        };
        Ok(TrialRun {
            seed,
            verdicts: judge(&result.history),
            history: result.history,
            about,
            command_log: result.command_log,
        })
    }
}

/// The runs of a trial.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(super) scenario: Scenario,
    /// The code that creates the trial, for repeating it.
    pub(super) code: String,
    pub(super) lock: LockFactory,
    /// The specification of the runs, which only differ in their seeds.
    pub(super) spec: RunSpec,
    pub(super) runs: Vec<TrialRun>,
}

/// Returns the verdict of a run on a property. A property that its workload does not judge does not apply.
fn verdict(run: &TrialRun, property: Property) -> Verdict {
    let verdict = run.verdicts.get(&property).cloned();
    verdict.unwrap_or_else(Verdict::not_applicable)
}

impl Outcome {
    /// Returns all runs in the order of the seeds.
    pub fn runs(&self) -> &[TrialRun] {
        &self.runs
    }

    /// Returns the first run that violated the property.
    pub fn violation(&self, property: Property) -> Option<&TrialRun> {
        let mut runs = self.runs.iter();
        runs.find(|run| verdict(run, property).status == Status::Violated)
    }

    /// Asserts that the property held in every run.
    ///
    /// # Panics
    /// Panics if a run was judged otherwise. The message contains the story, and how to repeat the run. An inconclusive
    /// property does not count as held.
    #[track_caller]
    pub fn assert_held(&self, property: Property) {
        self.assert_each(property, "held", |verdict| verdict.status == Status::Held);
    }

    /// Asserts that no run violated the property, even if it was inconclusive. This is for faults
    /// that may leave too little evidence.
    ///
    /// # Panics
    /// Panics if a run violated the property.
    #[track_caller]
    pub fn assert_never_violated(&self, property: Property) {
        self.assert_each(property, "not violated", |verdict| {
            verdict.status != Status::Violated
        });
    }

    /// Asserts that the property was violated with this cause in every run, as the positive control of a test.
    ///
    /// # Panics
    /// Panics if a run was judged otherwise.
    #[track_caller]
    pub fn assert_violated(&self, property: Property, cause: Cause) {
        self.assert_each(property, &format!("violated: {cause}"), |verdict| {
            verdict.status == Status::Violated && verdict.cause == Some(cause)
        });
    }

    /// Asserts that every verdict matches the scenario's expectations of this lock, or of any lock (`"*"`).
    ///
    /// # Panics
    /// Panics if a run was judged otherwise, or if the scenario has no expectations.
    #[track_caller]
    pub fn assert_as_expected(&self) {
        let scenario = &self.scenario;
        // The caller applies the general expectations to this lock.
        let expected = Expected::for_lock(scenario, &self.lock.spec().name, Tables::NamedOrAll);
        if expected == Expected::default() {
            panic!("the scenario `{}` has no expectations", scenario.name);
        }
        for property in Property::ALL {
            if let Some(expectation) = expected.get(property) {
                let wanted = String::from(expectation.clone());
                self.assert_each(property, &wanted, |verdict| fits(expectation, verdict));
            }
        }
    }

    #[track_caller]
    fn assert_each(&self, property: Property, wanted: &str, fits: impl Fn(&Verdict) -> bool) {
        let misfit = |run: &&TrialRun| !fits(&verdict(run, property));
        let misfits: Vec<&TrialRun> = self.runs.iter().filter(misfit).collect();
        if let Some(first) = misfits.first() {
            panic!(
                "{}",
                self.failure_message(property, wanted, first, misfits.len())
            );
        }
    }

    fn failure_message(
        &self,
        property: Property,
        wanted: &str,
        run: &TrialRun,
        count: usize,
    ) -> String {
        let verdict = verdict(run, property);
        let mut text = format!(
            "`{}` in `{}`: {property} should be {wanted}, which fails in {count} of {} runs\n\nseed {}: {property} {}",
            self.lock.spec().name,
            self.scenario.name,
            self.runs.len(),
            run.seed,
            verdict.status
        );
        if let Some(cause) = verdict.cause {
            // Writing to a string cannot fail.
            write!(text, " ({cause})").unwrap_or_default();
        }
        for line in &verdict.story {
            write!(text, "\n  {line}").unwrap_or_default();
        }
        let code = format!("{} with .seeds([{}])", self.code, run.seed);
        let saved = match self.save(run, &code) {
            Ok(directory) => {
                let directory = directory.display();
                format!("The run is saved in {directory}\n  picklock report {directory}")
            }
            Err(error) => format!("The run could not be saved: {error}"),
        };
        write!(text, "\n\nTo repeat it: {code}\n{saved}\n").unwrap_or_default();
        text
    }

    /// Saves a run with its commands. Simulations do not log their commands by default, because that takes time, so the
    /// run is repeated.
    fn save(&self, run: &TrialRun, code: &str) -> io::Result<PathBuf> {
        let is_simulated = run.history.header.backend == BackendName::Sim;
        let rerun = is_simulated.then(|| {
            simulate(Simulation {
                spec: self.spec.with_seed(run.seed),
                lock: self.lock.clone(),
                logs_commands: true,
            })
        });
        // If the lock is not deterministic, the rerun differs, and its commands do not belong to `run`.
        let rerun = rerun
            .and_then(Result::ok)
            .filter(|rerun| rerun.history == run.history);
        let logged = rerun.and_then(|rerun| rerun.command_log);
        let about = About {
            summary: self.scenario.summary.clone(),
            backend_reason: "chosen by the trial".to_owned(),
            reproduce: code.to_owned(),
            ..run.about.clone()
        };
        let command_log = run.command_log.as_ref().or(logged.as_ref());
        save(&run.history, run.verdicts.clone(), command_log, about)
    }
}
