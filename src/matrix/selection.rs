//! The cells of a matrix: subjects × scenarios × worlds, without impossible ones.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::record::{SkippedCell, scenario_hash};
use picklock_harness::spec::{Overrides, RunSpec, ScenarioSource, SubjectSpec, resolve_scenario};
use picklock_impls::STRATEGIES;
use picklock_scenarios::{Scenario, WorldName, catalog};

use super::request::MatrixRequest;
use crate::exit::Failure;
use crate::named_subject::NamedSubject;
use crate::run_request::{RunRequest, flag_of, load};
use crate::subject;
use crate::world_choice::ChosenWorld;

/// One cell: its runs, and what is expected of them.
#[derive(Debug, Clone)]
pub struct Task {
    /// The first run; the others differ in their seed.
    pub spec: RunSpec,
    /// Hash of the scenario as it is run.
    pub scenario_hash: String,
    /// What the scenario expects of the subject.
    pub expected: Expected,
}

impl Task {
    /// `redlock × gc-pause × sim`.
    pub fn title(&self) -> String {
        let spec = &self.spec;
        format!(
            "{} × {} × {}",
            spec.subject.name, spec.scenario.name, spec.world
        )
    }
}

/// The subjects and scenarios of a matrix, checked before any world is chosen.
pub struct Selection {
    subjects: Vec<SubjectSpec>,
    /// Each scenario with the name or path that the user typed.
    scenarios: Vec<(String, Scenario)>,
}

/// More runs at a time than this need more threads or processes than a machine has.
const MOST_JOBS: usize = 1024;

/// Everything that the request names; all locks, or the whole catalog, where it names none.
///
/// # Errors
/// An unknown name, with the nearest one; an option that the lock does not have; two scenarios with
/// the same name; invalid numbers.
pub fn select(request: &MatrixRequest) -> Result<Selection, Failure> {
    let wrong = |text: &str| Err(Failure::Usage(text.to_owned()));
    if request.seeds == 0 {
        return wrong("--seeds 0: each cell must run at least once");
    }
    if request.seed.checked_add(request.seeds - 1).is_none() {
        return wrong("--seed and --seeds together exceed the largest seed");
    }
    if let Some(jobs) = request.jobs.filter(|jobs| !(1..=MOST_JOBS).contains(jobs)) {
        return wrong(&format!(
            "--jobs {jobs}: expected 1 to {MOST_JOBS} runs at a time"
        ));
    }
    if !request.options.is_empty() && request.subjects.len() != 1 {
        return wrong(
            "--impl-option requires exactly one --impl or --name, because locks differ in their options",
        );
    }
    let all = STRATEGIES
        .iter()
        .map(|strategy| NamedSubject::plain(strategy.name));
    let subjects = or_all(&request.subjects, all);
    tell_apart(&subjects)?;
    let subjects = subjects
        .iter()
        .map(|name| subject::named(name, &request.options))
        .collect::<Result<Vec<_>, _>>()?;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for typed in or_all(&request.scenarios, catalog::names().map(str::to_owned)) {
        let scenario = load(&typed)?;
        if let Some((other, _)) = scenarios.iter().find(|(_, s)| s.name == scenario.name) {
            return Err(Failure::Usage(format!(
                "--scenario {typed}: its name is `{}`, like that of {other}; the table could not tell them apart",
                scenario.name
            )));
        }
        scenarios.push((typed, scenario));
    }
    Ok(Selection {
        subjects,
        scenarios,
    })
}

/// Two programs with the same label would share their cells and directories.
fn tell_apart(subjects: &[NamedSubject]) -> Result<(), Failure> {
    for (index, one) in subjects.iter().enumerate() {
        if subjects[..index]
            .iter()
            .any(|other| other.shown() == one.shown())
        {
            let (flag, value) = one.flag();
            return Err(Failure::Usage(format!(
                "--{flag} {value}: another program has the label `{}`; the table could not tell them apart",
                one.shown()
            )));
        }
    }
    Ok(())
}

/// The typed names without duplicates; all names if none was typed.
fn or_all<T: Clone + PartialEq>(typed: &[T], all: impl Iterator<Item = T>) -> Vec<T> {
    if typed.is_empty() {
        return all.collect();
    }
    let mut once: Vec<T> = Vec::new();
    for name in typed {
        if !once.contains(name) {
            once.push(name.clone());
        }
    }
    once
}

impl Selection {
    /// True if at least one of the locks can be simulated.
    pub fn can_simulate(&self) -> bool {
        self.subjects.iter().any(|subject| subject.is_in_process())
    }

    /// The cells by world, scenario and subject, and the skipped ones.
    ///
    /// # Errors
    /// A scenario does not fit, or no cell is left to run.
    pub fn cells(
        &self,
        request: &MatrixRequest,
        worlds: &[ChosenWorld],
    ) -> Result<(Vec<Task>, Vec<SkippedCell>), Failure> {
        let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
        for world in worlds {
            for (typed, scenario) in &self.scenarios {
                for subject in &self.subjects {
                    let reason = left_out(scenario, subject, request.overrides, world);
                    if let Some(reason) = reason {
                        skipped.push(SkippedCell {
                            subject: subject.name.clone(),
                            scenario: scenario.name.clone(),
                            backend: world.name(),
                            reason,
                        });
                        continue;
                    }
                    tasks.push(task(request, typed, scenario, subject, world)?);
                }
            }
        }
        if tasks.is_empty() {
            return Err(Failure::Usage(nothing_left(&skipped)));
        }
        Ok((tasks, skipped))
    }
}

/// Why a cell cannot run; `None` if it can.
fn left_out(
    scenario: &Scenario,
    subject: &SubjectSpec,
    overrides: Overrides,
    world: &ChosenWorld,
) -> Option<String> {
    if world.servers.is_none() && !subject.is_in_process() {
        return Some("a program of your own runs in real time and cannot be simulated".into());
    }
    if let Err(refused) = resolve_scenario(scenario.clone(), subject, overrides) {
        let problem = refused.error.problem;
        return Some(match refused.culprit {
            Some(culprit) => format!("{}: {problem}", flag_of(culprit)),
            None => problem,
        });
    }
    not_in_this_world(scenario, world.name())
}

/// Why the scenario cannot run in this world.
fn not_in_this_world(scenario: &Scenario, world: WorldName) -> Option<String> {
    (!scenario.runs_in(world)).then(|| {
        let worlds = &scenario.worlds;
        let words: Vec<&str> = worlds.iter().map(|world| world.word()).collect();
        format!(
            "it needs features that only these worlds have: {}",
            words.join(", ")
        )
    })
}

fn nothing_left(skipped: &[SkippedCell]) -> String {
    let mut text = "nothing to run: every cell was skipped".to_owned();
    for one in skipped.iter().take(5) {
        text.push_str(&format!(
            "\n  {} × {} × {}: {}",
            one.subject, one.scenario, one.backend, one.reason
        ));
    }
    text
}

fn task(
    request: &MatrixRequest,
    named: &str,
    scenario: &Scenario,
    subject: &SubjectSpec,
    world: &ChosenWorld,
) -> Result<Task, Failure> {
    let world = world.name();
    let spec = RunRequest::new(
        subject.clone(),
        scenario.clone(),
        ScenarioSource::Named(named.to_owned()),
        request.overrides,
        request.servers.for_world(world),
        request.seed,
    )?
    .in_world(world);
    Ok(Task {
        scenario_hash: scenario_hash(&spec.scenario),
        expected: expected(scenario, subject, request.overrides),
        spec,
    })
}

/// What the scenario expects of the subject. Its author knew how many nodes a built-in lock uses:
/// nothing is expected of one on another number. How many a program uses, only the user knows.
fn expected(scenario: &Scenario, subject: &SubjectSpec, overrides: Overrides) -> Expected {
    let usual = scenario.topology.nodes.unwrap_or(subject.nodes);
    if subject.is_in_process() && overrides.nodes.is_some_and(|nodes| nodes != usual) {
        return Expected::default();
    }
    let is_known = subject.options.is_empty() && STRATEGIES.iter().any(|s| s.name == subject.name);
    let tables = match is_known {
        true => Tables::NamedOrAll,
        false => Tables::NamedOnly,
    };
    Expected::of(scenario, &subject.name, tables)
}
