//! Your own lock through a scenario, from a test of your own.
//!
//! A trial simulates one scenario with many seeds. It needs no Redis and no runtime; inside one
//! (`#[tokio::test]`) it works as well, because each simulation has a thread and a runtime of its
//! own. The calling thread waits meanwhile.
//!
//! ```
//! use std::time::Duration;
//! use picklock_harness::Trial;
//! use picklock_harness::check::Property;
//! use picklock_impls::{Context, Grant, Lock, LockError, Node};
//!
//! struct MyLock(Node, u64);
//!
//! impl Lock for MyLock {
//!     async fn acquire(
//!         &mut self,
//!         key: &str,
//!         ttl: Duration,
//!         _wait: Duration,
//!     ) -> Result<Option<Grant>, LockError> {
//!         self.1 += 1;
//!         let token = format!("{}", self.1);
//!         let taken: bool = redis::cmd("SET")
//!             .arg(key).arg(&token).arg("NX").arg("PX").arg(ttl.as_millis() as u64)
//!             .query_async(&mut self.0)
//!             .await?;
//!         Ok(taken.then_some(Grant { token, fence: None, valid_for: None }))
//!     }
//!
//!     async fn extend(&mut self, _: &str, _: &Grant, _: Duration) -> Result<Option<Grant>, LockError> {
//!         Ok(None)
//!     }
//!
//!     async fn release(&mut self, key: &str, _: &Grant) -> Result<bool, LockError> {
//!         // Whoever's lock it is by now.
//!         Ok(redis::cmd("DEL").arg(key).query_async(&mut self.0).await?)
//!     }
//! }
//!
//! let build = |nodes: Vec<Node>, _: Context| MyLock(nodes.into_iter().next().unwrap(), 0);
//!
//! // While nothing goes wrong it works.
//! let calm = Trial::of("calm")?.seeds(0..5).run("my-lock", 1, build)?;
//! calm.assert_held(Property::Lease);
//!
//! // A holder that oversleeps its lease takes another's lock away.
//! let paused = Trial::of("gc-pause")?.seeds(0..5).run("my-lock", 1, build)?;
//! let theft = paused.violation(Property::Ownership).expect("it releases without a look");
//! println!("seed {}: {}", theft.seed, theft.verdicts[&Property::Ownership].story.join("\n"));
//! # Ok::<(), picklock_harness::TrialError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use picklock_impls::{Context, Lock, Node, OptionError};
use picklock_scenarios::{Scenario, ScenarioError, catalog, nearest};

use crate::check::{Cause, Property, Status, Verdict, Verdicts, judge};
use crate::context::Plan;
use crate::expectation::{Expected, Tables, fits};
use crate::history::History;
use crate::sim::{SimError, Simulation, Subject, run};

/// So many seeds are tried unless others are named.
const SEEDS: u64 = 20;

/// A scenario and the seeds with which it is simulated.
#[derive(Debug, Clone)]
pub struct Trial {
    scenario: Scenario,
    /// How the scenario was named, as code: for whoever wants to see a run again.
    named: String,
    seeds: Vec<u64>,
    options: BTreeMap<String, String>,
}

/// Why a trial could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no such scenario, or its text is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Without a seed there is nothing to run.
    #[error("the trial has no seeds: `seeds(0..20)` gives it twenty")]
    NoSeeds,
    /// The lock has no such option, or its value makes no sense.
    #[error("option {}: {source}{hint}", source.name())]
    Option {
        /// What is wrong.
        source: OptionError,
        /// What was probably meant, as a sentence, or nothing.
        hint: String,
    },
    /// The simulation gave no history.
    #[error("seed {seed}: {source}")]
    Simulation {
        /// Which run.
        seed: u64,
        /// Why.
        source: SimError,
    },
}

impl TrialError {
    fn of_option(source: OptionError) -> Self {
        let meant = match &source {
            OptionError::Unknown { name, declared } => nearest(name, declared.iter().copied()),
            OptionError::Bad { .. } => None,
        };
        let hint = meant.map(|meant| format!("; did you mean `{meant}`?"));
        TrialError::Option {
            hint: hint.unwrap_or_default(),
            source,
        }
    }
}

impl Trial {
    /// A scenario of the catalog.
    ///
    /// # Errors
    /// There is none of that name; the nearest is named.
    pub fn of(name: &str) -> Result<Self, TrialError> {
        Ok(Trial {
            named: format!("Trial::of({name:?})?"),
            ..Trial::of_scenario(catalog::named(name)?)
        })
    }

    /// A scenario of your own, as its file would say it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn of_toml(text: &str) -> Result<Self, TrialError> {
        Ok(Trial::of_scenario(Scenario::parse(text, "the scenario")?))
    }

    /// A scenario that was made by a program.
    pub fn of_scenario(scenario: Scenario) -> Self {
        Trial {
            named: format!("the trial of `{}`", scenario.name),
            scenario,
            seeds: (0..SEEDS).collect(),
            options: BTreeMap::new(),
        }
    }

    /// The scenario; `expect` says what the catalog expects of whom.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// One run for each of these seeds; left out: twenty. The same seed gives the same run.
    #[must_use]
    pub fn seeds(self, seeds: impl IntoIterator<Item = u64>) -> Self {
        Trial {
            seeds: seeds.into_iter().collect(),
            ..self
        }
    }

    /// An option for the lock, as `--impl-option` gives it; `picklock list impls` tells which
    /// there are. A lock of your own has those of [`Subject::with_options`].
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.named = format!("{}.option({name:?}, {value:?})", self.named);
        self.options.insert(name.to_owned(), value.to_owned());
        self
    }

    /// So many competing clients, instead of the scenario's own number.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.scenario.workload.workers = workers;
        self
    }

    /// Simulates every run. `build` makes one client of the lock on `nodes` independent nodes; it
    /// is called for each worker, and again whenever a crashed one comes back.
    ///
    /// # Errors
    /// The scenario does not fit the number of nodes, or a run could not be simulated. A violated
    /// property is no error.
    pub fn run<L: Lock + 'static>(
        &self,
        name: &str,
        nodes: usize,
        build: impl Fn(Vec<Node>, Context) -> L + Send + Sync + 'static,
    ) -> Result<Outcome, TrialError> {
        self.run_subject(&Subject::new(name, nodes, build))
    }

    /// The same for a subject that is there already, such as a built-in strategy.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn run_subject(&self, subject: &Subject) -> Result<Outcome, TrialError> {
        self.scenario.check_for(subject.nodes())?;
        if let Err(source) = subject.read_options(&self.options) {
            return Err(TrialError::of_option(source));
        }
        if self.seeds.is_empty() {
            return Err(TrialError::NoSeeds);
        }
        let runs = self.seeds.iter().map(|seed| self.run_one(subject, *seed));
        Ok(Outcome {
            trial: self.clone(),
            subject: subject.name().to_owned(),
            runs: runs.collect::<Result<_, _>>()?,
        })
    }

    fn run_one(&self, subject: &Subject, seed: u64) -> Result<TrialRun, TrialError> {
        let plan = self.plan(subject.nodes(), seed);
        let subject = subject.clone();
        let history = run(Simulation {
            plan,
            subject,
            log: None,
        })
        .map_err(|source| TrialError::Simulation { seed, source })?;
        Ok(TrialRun {
            seed,
            verdicts: judge(&history),
            history,
        })
    }

    /// The numbers of one run.
    fn plan(&self, nodes: usize, seed: u64) -> Plan {
        let workload = &self.scenario.workload;
        // Of one width, so that no key is the beginning of another.
        let keys = (0..workload.keys).map(|key| format!("picklock:stock:{key:04}"));
        Plan {
            // The scenario was checked: its ttl is not relative to itself.
            ttl: workload.ttl.resolve(std::time::Duration::ZERO),
            nodes: self.scenario.topology.nodes.unwrap_or(nodes),
            keys: keys.collect(),
            seed,
            options: self.options.clone(),
            scenario: self.scenario.clone(),
        }
    }
}

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

/// What came out of a trial.
#[derive(Debug, Clone)]
pub struct Outcome {
    trial: Trial,
    subject: String,
    runs: Vec<TrialRun>,
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
    /// Where it was not; the message tells the story, and how to see it again. What could not be
    /// judged has not held.
    #[track_caller]
    pub fn assert_held(&self, property: Property) {
        self.assert_each(property, "held", |verdict| verdict.status == Status::Held);
    }

    /// Asserts that no run violated the property, whether it could be judged or not: where faults
    /// leave too little to judge, but must never be the lock's fault.
    ///
    /// # Panics
    /// Where one did.
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
    /// Where it was not.
    #[track_caller]
    pub fn assert_violated(&self, property: Property, cause: Cause) {
        self.assert_each(property, &format!("violated: {cause}"), |verdict| {
            verdict.status == Status::Violated && verdict.cause == Some(cause)
        });
    }

    /// Asserts what the scenario's own file expects of this subject, or of any other (`"*"`).
    ///
    /// # Panics
    /// Where something else came out, or the scenario expects nothing.
    #[track_caller]
    pub fn assert_as_expected(&self) {
        let scenario = &self.trial.scenario;
        // Whoever asks for it wants it to bind: it is no stranger's lock, but their own.
        let expected = Expected::of(scenario, &self.subject, Tables::NamedOrAll);
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
            self.subject,
            self.trial.scenario.name,
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
        let named = &self.trial.named;
        write!(
            text,
            "\n\nTo see it again: {named} with .seeds([{}]); its history is in runs()[0].history\n",
            run.seed
        )
        .unwrap_or_default();
        text
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::Span;

    use super::*;

    #[test]
    fn the_ttl_of_a_checked_scenario_is_absolute() {
        for name in catalog::names() {
            let trial = Trial::of(name).unwrap();
            assert!(matches!(trial.scenario.workload.ttl, Span::Absolute(_)));
            assert!(!trial.plan(1, 0).ttl.is_zero());
        }
    }
}
