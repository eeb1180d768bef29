//! What the runs of a trial showed, and assertions about it.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use picklock_scenarios::{BackendName, Scenario};

use super::error::TrialError;
use super::saved_run::keep;
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
    /// Its seed.
    pub seed: u64,
    /// What happened.
    pub history: History,
    /// What it means.
    pub verdicts: Verdicts,
    /// What only its backend knows.
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
    /// How the trial was made, as code, to run it again.
    pub(super) code: String,
    pub(super) lock: LockFactory,
    /// What the runs were made from, each with a seed of its own.
    pub(super) spec: RunSpec,
    pub(super) runs: Vec<TrialRun>,
}

impl Outcome {
    /// Every run, in the order of the seeds.
    pub fn runs(&self) -> &[TrialRun] {
        &self.runs
    }

    /// The first run that violated the property.
    pub fn violation(&self, property: Property) -> Option<&TrialRun> {
        let mut runs = self.runs.iter();
        runs.find(|run| run.verdicts[&property].status == Status::Violated)
    }

    /// Asserts that the property was judged and held, in every run.
    ///
    /// # Panics
    /// A run was judged otherwise. The message tells the story, and how to run it again. A property
    /// that could not be judged has not held.
    #[track_caller]
    pub fn assert_held(&self, property: Property) {
        self.assert_each(property, "held", |verdict| verdict.status == Status::Held);
    }

    /// Asserts that no run violated the property, whether or not it could be judged. It is for
    /// faults that may leave too little to judge.
    ///
    /// # Panics
    /// A run violated it.
    #[track_caller]
    pub fn assert_never_violated(&self, property: Property) {
        self.assert_each(property, "not violated", |verdict| {
            verdict.status != Status::Violated
        });
    }

    /// Asserts that the property was violated for this reason, in every run: the positive control
    /// of a test.
    ///
    /// # Panics
    /// A run was judged otherwise.
    #[track_caller]
    pub fn assert_violated(&self, property: Property, cause: Cause) {
        self.assert_each(property, &format!("violated: {cause}"), |verdict| {
            verdict.status == Status::Violated && verdict.cause == Some(cause)
        });
    }

    /// Asserts what the scenario's own file expects of this lock, or of any other (`"*"`).
    ///
    /// # Panics
    /// A run was judged otherwise, or the scenario expects nothing.
    #[track_caller]
    pub fn assert_as_expected(&self) {
        let scenario = &self.scenario;
        // The caller asks for it, so the expectation binds this lock.
        let expected = Expected::for_lock(scenario, self.lock.name(), Tables::NamedOrAll);
        if expected == Expected::default() {
            panic!(
                "the scenario `{}` says nothing about what it expects",
                scenario.name
            );
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
        let misfit = |run: &&TrialRun| !fits(&run.verdicts[&property]);
        let misfits: Vec<&TrialRun> = self.runs.iter().filter(misfit).collect();
        if let Some(first) = misfits.first() {
            panic!("{}", self.complaint(property, wanted, first, misfits.len()));
        }
    }

    fn complaint(&self, property: Property, wanted: &str, run: &TrialRun, count: usize) -> String {
        let verdict = &run.verdicts[&property];
        let mut text = format!(
            "`{}` in `{}`: {property} should be {wanted}, which fails in {count} of {} runs\n\nseed {}: {property} {}",
            self.lock.name(),
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
        let kept = match self.keep(run, &code) {
            Ok(directory) => {
                let directory = directory.display();
                format!("The run is kept in {directory}\n  picklock report {directory}")
            }
            Err(error) => format!("The run could not be kept: {error}"),
        };
        write!(text, "\n\nTo see it again: {code}\n{kept}\n").unwrap_or_default();
        text
    }

    /// Keeps a run with its commands. A simulation logs none, because that takes time, so it is made once more.
    fn keep(&self, run: &TrialRun, code: &str) -> io::Result<PathBuf> {
        let is_simulated = run.history.header.backend == BackendName::Sim;
        let again = is_simulated.then(|| {
            simulate(Simulation {
                spec: self.spec.with_seed(run.seed),
                lock: self.lock.clone(),
                logs_commands: true,
            })
        });
        // A lock that does not repeat itself has another run now, whose commands are not this run's.
        let again = again.and_then(Result::ok);
        let again = again.filter(|again| again.history == run.history);
        let logged = again.and_then(|again| again.command_log);
        let about = About {
            summary: self.scenario.summary.clone(),
            backend_reason: "chosen by the trial".to_owned(),
            reproduce: code.to_owned(),
            ..run.about.clone()
        };
        let command_log = run.command_log.as_ref().or(logged.as_ref());
        keep(&run.history, run.verdicts.clone(), command_log, about)
    }
}
