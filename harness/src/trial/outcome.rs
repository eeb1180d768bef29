//! What the runs of a trial showed, and assertions about it.

use std::fmt::Write;

use picklock_scenarios::Scenario;

use super::error::TrialError;
use crate::check::{Cause, Property, Status, Verdict, Verdicts, judge};
use crate::expectation::{Expected, Tables, fits};
use crate::history::History;
use crate::lock_factory::LockFactory;
use crate::run::{RunFailure, RunResult};

/// One run of a trial.
#[derive(Debug, Clone)]
pub struct TrialRun {
    /// Its seed.
    pub seed: u64,
    /// What happened.
    pub history: History,
    /// What it means.
    pub verdicts: Verdicts,
}

impl TrialRun {
    pub(super) fn of(
        seed: u64,
        result: Result<RunResult, RunFailure>,
    ) -> Result<TrialRun, TrialError> {
        let result = result.map_err(|source| TrialError::Run { seed, source })?;
        Ok(TrialRun {
            seed,
            verdicts: judge(&result.history),
            history: result.history,
        })
    }
}

/// The runs of a trial.
#[derive(Debug, Clone)]
pub struct Outcome {
    scenario: Scenario,
    /// How the trial was made, as code, to run it again.
    code: String,
    lock: String,
    runs: Vec<TrialRun>,
}

impl Outcome {
    pub(super) fn new(
        scenario: &Scenario,
        code: &str,
        lock: &LockFactory,
        runs: Vec<TrialRun>,
    ) -> Self {
        Outcome {
            scenario: scenario.clone(),
            code: code.to_owned(),
            lock: lock.name().to_owned(),
            runs,
        }
    }

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
        let expected = Expected::of(scenario, &self.lock, Tables::NamedOrAll);
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
            self.lock,
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
        let code = &self.code;
        write!(
            text,
            "\n\nTo see it again: {code} with .seeds([{}]); its history is in runs()[0].history\n",
            run.seed
        )
        .unwrap_or_default();
        text
    }
}
