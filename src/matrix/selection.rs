//! Which cells there are: subjects × scenarios × worlds, less those that make no sense.

use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::record::{SkippedCell, scenario_hash};
use picklock_impls::STRATEGIES;
use picklock_scenarios::{Scenario, WorldName, catalog};

use super::cli::MatrixArgs;
use crate::backend::{Chosen, Place};
use crate::cli::{BackendChoice, ScenarioArgs, ServerArgs};
use crate::exit::Failure;
use crate::order::{Order, load};
use crate::subject::Subject;

/// One cell: what is to be run, and what is expected of it.
#[derive(Debug, Clone)]
pub struct Task {
    /// The first run; the others differ in their seed.
    pub order: Order,
    /// Name of the world.
    pub backend: WorldName,
    /// Content of the scenario as it is run.
    pub scenario_hash: String,
    /// What the scenario expects of the subject.
    pub expected: Expected,
}

impl Task {
    /// `redlock × gc-pause × sim`.
    pub fn title(&self) -> String {
        let order = &self.order;
        format!(
            "{} × {} × {}",
            order.subject.name, order.scenario.name, self.backend
        )
    }
}

/// What was named, checked, before any world is looked for.
pub struct Named {
    subjects: Vec<Subject>,
    /// As typed, and what it is.
    scenarios: Vec<(String, Scenario)>,
}

/// Every name that was typed, or all that there are.
///
/// # Errors
/// A name that means nothing, with the nearest one; two scenarios of one name; numbers that make
/// no sense.
pub fn named(args: &MatrixArgs) -> Result<Named, Failure> {
    let wrong = |text: &str| Err(Failure::Usage(text.to_owned()));
    if args.seeds == 0 {
        return wrong("--seeds 0: each cell must run at least once");
    }
    if args.seed.checked_add(args.seeds - 1).is_none() {
        return wrong("--seed and --seeds together exceed the largest seed");
    }
    if args.jobs == Some(0) {
        return wrong("--jobs 0: at least one run must go on at a time");
    }
    if !args.options.is_empty() && args.subjects.len() != 1 {
        return wrong(
            "--impl-option: name the lock that has it with exactly one --impl; locks differ in their options",
        );
    }
    let program = std::env::current_exe().map_err(|error| {
        Failure::Environment(format!("cannot find this program again: {error}"))
    })?;
    let all = STRATEGIES.iter().map(|strategy| strategy.name.to_owned());
    let subjects = or_all(&args.subjects, all)
        .iter()
        .map(|name| Subject::named(name, &program))
        .collect::<Result<Vec<_>, _>>()?;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for typed in or_all(&args.scenarios, catalog::names().map(str::to_owned)) {
        let scenario = load(&typed)?;
        if let Some((other, _)) = scenarios.iter().find(|(_, s)| s.name == scenario.name) {
            return Err(Failure::Usage(format!(
                "--scenario {typed}: it calls itself `{}`, and so does {other}; the table could not tell them apart",
                scenario.name
            )));
        }
        scenarios.push((typed, scenario));
    }
    Ok(Named {
        subjects,
        scenarios,
    })
}

/// What was typed, each once; all where nothing was.
fn or_all(typed: &[String], all: impl Iterator<Item = String>) -> Vec<String> {
    if typed.is_empty() {
        return all.collect();
    }
    let mut once: Vec<String> = Vec::new();
    for name in typed {
        if !once.contains(name) {
            once.push(name.clone());
        }
    }
    once
}

impl Named {
    /// True when one of the locks at least can be simulated.
    pub fn can_simulate(&self) -> bool {
        self.subjects.iter().any(|subject| subject.is_built_in)
    }

    /// The cells, by world, scenario and subject, and what is left out of them.
    ///
    /// # Errors
    /// An option that the lock does not know; nothing is left to run.
    pub fn cells(
        &self,
        args: &MatrixArgs,
        worlds: &[Chosen],
    ) -> Result<(Vec<Task>, Vec<SkippedCell>), Failure> {
        let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
        for world in worlds {
            for (typed, scenario) in &self.scenarios {
                for subject in &self.subjects {
                    if let Some(reason) = left_out(scenario, subject, world) {
                        skipped.push(SkippedCell {
                            subject: subject.name.clone(),
                            scenario: scenario.name.clone(),
                            backend: world.name(),
                            reason,
                        });
                        continue;
                    }
                    tasks.push(task(args, typed, subject, world)?);
                }
            }
        }
        if tasks.is_empty() {
            return Err(Failure::Usage(nothing_left(&skipped)));
        }
        Ok((tasks, skipped))
    }
}

/// Why a cell makes no sense, if it makes none.
fn left_out(scenario: &Scenario, subject: &Subject, world: &Chosen) -> Option<String> {
    if matches!(world.place, Place::Sim) && !subject.is_built_in {
        return Some("a program of your own runs in real time and cannot be simulated".into());
    }
    let mut fitted = scenario.clone();
    fitted.topology.replicas = fitted.topology.replicas.max(subject.replicas);
    if let Err(error) = fitted.check_for(subject.nodes) {
        return Some(error.problem);
    }
    not_in_this_world(scenario, world.name())
}

/// Why the scenario cannot run in this world.
fn not_in_this_world(scenario: &Scenario, world: WorldName) -> Option<String> {
    (!scenario.runs_in(world)).then(|| {
        let worlds = &scenario.worlds;
        let words: Vec<&str> = worlds.iter().map(|world| world.word()).collect();
        format!("it needs what only these worlds have: {}", words.join(", "))
    })
}

fn nothing_left(skipped: &[SkippedCell]) -> String {
    let mut text = "nothing to run: every cell was left out".to_owned();
    for one in skipped.iter().take(5) {
        text.push_str(&format!(
            "\n  {} × {} × {}: {}",
            one.subject, one.scenario, one.backend, one.reason
        ));
    }
    text
}

fn task(
    args: &MatrixArgs,
    scenario: &str,
    subject: &Subject,
    world: &Chosen,
) -> Result<Task, Failure> {
    let order = Order::understand(ScenarioArgs {
        scenario: scenario.to_owned(),
        subject: subject.name.clone(),
        options: args.options.clone(),
        backend: choice(world),
        seed: Some(args.seed),
        workers: None,
        nodes: None,
        ttl: None,
        servers: servers(&args.servers, world),
        json: true,
        out: None,
        quiet: true,
    })?;
    let is_known = args.options.is_empty() && STRATEGIES.iter().any(|s| s.name == subject.name);
    let tables = match is_known {
        true => Tables::NamedOrAll,
        false => Tables::NamedOnly,
    };
    Ok(Task {
        backend: world.name(),
        scenario_hash: scenario_hash(&order.scenario),
        expected: Expected::of(&order.scenario, &subject.name, tables),
        order,
    })
}

/// What of it is of this world.
fn servers(named: &ServerArgs, world: &Chosen) -> ServerArgs {
    let image = named.image.clone();
    let redis_server = named.redis_server.clone();
    ServerArgs {
        image: image.filter(|_| world.name() == WorldName::Docker),
        redis_server: redis_server.filter(|_| world.name() == WorldName::Process),
    }
}

/// The world that was found, by its own name: `auto` must not choose anew for each cell.
fn choice(world: &Chosen) -> BackendChoice {
    match world.name() {
        WorldName::Docker => BackendChoice::Docker,
        WorldName::Process => BackendChoice::Process,
        WorldName::Sim => BackendChoice::Sim,
    }
}
