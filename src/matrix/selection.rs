//! The cells of a matrix: locks × scenarios × backends, without impossible ones.

use std::sync::Arc;

use picklock_harness::expectation::Expected;
use picklock_harness::record::{CellSetting, SkippedCell, scenario_hash};
use picklock_harness::spec::{LockSpec, RunSpec, ScenarioSource, resolve_scenario};
use picklock_impls::{CRON_LOCKS, LEADERS, LOCKS, RWLOCKS, SEMAPHORES};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::{LockKind, Scenario};

use super::candidate::Candidate;
use super::request::MatrixRequest;
use crate::backend_choice::ChosenBackend;
use crate::cli::MAX_JOBS;
use crate::exit::Failure;
use crate::named_lock::NamedLock;
use crate::specification::{
    Unsuited, checked, flag_of, load, no_mistyped_lock, unsuited, with_nodes,
};

/// A cell: its runs, and the expected results.
#[derive(Debug, Clone)]
pub struct Task {
    /// The first run; the others differ only in their seed.
    pub spec: RunSpec,
    /// Hash of the scenario as it is run.
    pub scenario_hash: String,
    /// The scenario's expectations of the lock.
    pub expected: Expected,
}

impl Task {
    /// Returns the title, such as `redlock × gc-pause × sim`.
    pub fn title(&self) -> String {
        let (lock, scenario) = (&self.spec.lock.name, &self.spec.scenario.name);
        format!("{lock} × {scenario} × {}", self.spec.backend)
    }

    /// Returns the data that a comparison of locks needs.
    pub fn setting(&self) -> CellSetting {
        let spec = &self.spec;
        CellSetting {
            family: spec.scenario.family(),
            lock_kind: spec.scenario.workload.kind.lock_kind(),
            measures: spec.scenario.measures,
            nodes: spec.nodes(),
            replicas: spec.lock.replicas,
            ttl_ms: Some(spec.ttl_ms()),
            workers: Some(spec.scenario.workload.workers),
        }
    }
}

/// The locks and scenarios of a matrix, checked before any backend is chosen.
pub struct Selection {
    pub(super) locks: Vec<Candidate>,
    /// Each scenario with the name or path that the user typed.
    pub(super) scenarios: Vec<(String, Scenario)>,
}

/// Selects everything that the request names; all locks or the whole catalog if it names none.
///
/// # Errors
/// Returns an error if a name is unknown (with the nearest one), a lock does not have an option, two scenarios have the
/// same name, or a number is invalid.
pub fn select(request: &MatrixRequest) -> Result<Selection, Failure> {
    check_numbers(request)?;
    let mut loaded = Vec::new();
    for typed in request.all_scenarios() {
        let scenario = load(&typed)?;
        loaded.push((typed, scenario));
    }
    let locks = or_all(&request.locks, default_locks(&loaded));
    describe_apart(&locks)?;
    let locks = locks.iter().map(|name| Candidate::new(request, name));
    let locks: Vec<Candidate> = locks.collect::<Result<_, _>>()?;
    applies_to_one(request, &locks)?;
    let mut scenarios: Vec<(String, Scenario)> = Vec::new();
    for (typed, scenario) in loaded {
        if let Some((other, _)) = scenarios.iter().find(|(_, s)| s.name == scenario.name) {
            return Err(Failure::Usage(inert!(
                "--scenario {}: its name is `{}`, like that of {}; the table could not distinguish them",
                typed,
                scenario.name,
                other
            )));
        }
        let is_ours = |name: &str| locks.iter().any(|one| one.spec.name == name);
        no_mistyped_lock(&typed, &scenario, &request.impls, is_ours)?;
        scenarios.push((typed, scenario));
    }
    Ok(Selection { locks, scenarios })
}

/// Checks the numbers of a request, and that its options belong to one lock.
fn check_numbers(request: &MatrixRequest) -> Result<(), Failure> {
    let wrong = |text: Inert| Err(Failure::Usage(text));
    if request.seeds == 0 {
        return wrong(Inert::literal(
            "--seeds 0: each cell must run at least once",
        ));
    }
    if request.seed.checked_add(request.seeds - 1).is_none() {
        return wrong(Inert::literal(
            "--seed and --seeds together exceed the largest seed",
        ));
    }
    if let Some(jobs) = request.jobs.filter(|jobs| !(1..=MAX_JOBS).contains(jobs)) {
        return wrong(inert!(
            "--jobs {}: expected 1 to {} runs at a time",
            jobs,
            MAX_JOBS
        ));
    }
    if !request.options.is_empty() && request.locks.len() != 1 {
        return wrong(Inert::literal(
            "--impl-option requires exactly one --impl or --name, because locks differ in their options",
        ));
    }
    Ok(())
}

/// Returns the built-in locks that these scenarios are about: those of their kind if all have the same one, otherwise
/// the locks with one holder.
fn default_locks(scenarios: &[(String, Scenario)]) -> impl Iterator<Item = NamedLock> {
    let mut kinds = scenarios.iter().map(|(_, it)| it.workload.kind.lock_kind());
    let first = kinds.next().unwrap_or_default();
    let common = if kinds.all(|kind| kind == first) {
        first
    } else {
        LockKind::Mutex
    };
    let run_jobs = scenarios
        .iter()
        .all(|(_, it)| it.workload.schedule.is_some());
    let (locks, of_jobs) = match common {
        LockKind::Semaphore => (SEMAPHORES, &[][..]),
        LockKind::Rwlock => (RWLOCKS, &[][..]),
        LockKind::Leader => (LEADERS, &[][..]),
        LockKind::Mutex if run_jobs => (LOCKS, CRON_LOCKS),
        LockKind::Mutex => (LOCKS, &[][..]),
    };
    locks
        .iter()
        .chain(of_jobs)
        .map(|lock| NamedLock::plain(lock.name))
}

/// Refuses a `--reference` without any effect, because the user would rely on a check that does not happen.
fn applies_to_one(request: &MatrixRequest, locks: &[Candidate]) -> Result<(), Failure> {
    match &request.reference {
        Some(reference) if locks.iter().all(|one| one.has_catalog_expectations) => {
            Err(Failure::Usage(inert!(
                "--reference {} has no effect: built-in locks without options already have expectations\n  = help: name a lock of your own by --impl or \
                 --name, or leave out --reference",
                reference
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses two programs with the same label, which would share their cells and directories.
fn describe_apart(locks: &[NamedLock]) -> Result<(), Failure> {
    for (index, one) in locks.iter().enumerate() {
        if locks[..index].iter().any(|it| it.shown() == one.shown()) {
            let (flag, value) = one.flag();
            return Err(Failure::Usage(inert!(
                "--{} {}: another program has the label `{}`; the table could not distinguish them",
                flag,
                value,
                one.shown()
            )));
        }
    }
    Ok(())
}

/// Returns the typed names without duplicates, or all names if none was typed.
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
    /// Returns `true` if at least one of the locks can be simulated.
    pub fn can_simulate(&self) -> bool {
        self.locks.iter().any(|one| one.spec.is_in_process())
    }

    /// Returns the cells by backend, scenario and lock, and the skipped cells.
    ///
    /// # Errors
    /// Returns an error if a scenario does not fit.
    pub fn cells(
        &self,
        request: &MatrixRequest,
        backends: &[ChosenBackend],
    ) -> Result<(Vec<Arc<Task>>, Vec<SkippedCell>), Failure> {
        let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
        for backend in backends {
            for (typed, scenario) in &self.scenarios {
                for candidate in &self.locks {
                    let lock = &candidate.spec;
                    if request.leaves_out(typed, scenario, lock) {
                        continue;
                    }
                    if let Some(reason) = omitted(scenario, lock, request, backend) {
                        skipped.push(SkippedCell {
                            lock: lock.name.clone(),
                            scenario: scenario.name.clone(),
                            backend: backend.name(),
                            reason,
                            family: Some(scenario.family()),
                        });
                        continue;
                    }
                    let task = task(request, typed, scenario, candidate, backend)?;
                    tasks.push(Arc::new(task));
                }
            }
        }
        Ok((tasks, skipped))
    }
}

/// Returns why a cell cannot run, or `None` if it can.
fn omitted(
    scenario: &Scenario,
    lock: &LockSpec,
    request: &MatrixRequest,
    backend: &ChosenBackend,
) -> Option<String> {
    if backend.servers.is_none() && !lock.is_in_process() {
        return Some("a program of your own runs in real time and cannot be simulated".into());
    }
    if let Some(reason) = lock.lacks_holders(scenario) {
        return Some(reason);
    }
    if let Some(reason) = unrequested(scenario, lock, request) {
        return Some(reason.to_string());
    }
    let overrides = with_nodes(request.overrides, &request.servers, lock);
    if overrides.nodes.is_none() {
        let nodes = scenario.topology.nodes.unwrap_or(lock.nodes);
        let lacking = scenario.topology.lacks_nodes(nodes);
        if lacking.is_some() {
            return lacking;
        }
    }
    let resolved = match resolve_scenario(scenario.clone(), lock, overrides) {
        Ok(resolved) => resolved,
        Err(refused) => {
            let problem = refused.error.problem;
            return Some(match refused.culprit {
                Some(culprit) => format!("{}: {problem}", flag_of(culprit)),
                None => problem,
            });
        }
    };
    if let Some(reason) = backend.inapplicable(&resolved, lock) {
        return Some(reason);
    }
    (!scenario.runs_in(backend.name())).then(|| {
        let backends = &scenario.backends;
        let words: Vec<&str> = backends.iter().map(|backend| backend.as_str()).collect();
        format!("needs what only these backends have: {}", words.join(", "))
    })
}

/// Returns the reason why the lock runs the scenario only if the user names the scenario, or `None` if there is no such
/// reason or the user has named it.
fn unrequested(scenario: &Scenario, lock: &LockSpec, request: &MatrixRequest) -> Option<Unsuited> {
    unsuited(scenario, lock).filter(|_| !request.names_scenarios())
}

/// Creates the error for a matrix with no cells left to run, with the reasons.
pub fn nothing_left(skipped: &[SkippedCell]) -> Failure {
    let mut text = Inert::literal("nothing to run: no cell is applicable");
    for one in skipped.iter().take(5) {
        text.push(&inert!(
            "\n  {} × {} × {}: {}",
            one.lock,
            one.scenario,
            one.backend,
            one.reason
        ));
    }
    Failure::Usage(text)
}

fn task(
    request: &MatrixRequest,
    named: &str,
    scenario: &Scenario,
    candidate: &Candidate,
    backend: &ChosenBackend,
) -> Result<Task, Failure> {
    let backend = backend.name();
    let spec = checked(RunSpec {
        lock: candidate.spec.clone(),
        scenario: scenario.clone(),
        source: ScenarioSource::Named(named.to_owned()),
        backend,
        servers: request.servers.for_backend(backend),
        seed: request.seed,
        overrides: with_nodes(request.overrides, &request.servers, &candidate.spec),
    })?;
    Ok(Task {
        scenario_hash: scenario_hash(&spec.scenario),
        expected: candidate.expected(scenario, request.overrides),
        spec,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use picklock_scenarios::{OTHERS, catalog};

    use super::*;
    use crate::cli::{Cli, Command};

    /// Returns the reasons why scenarios are left out of the whole catalog.
    fn left_out_for_many(line: &str) -> Vec<String> {
        let Command::Matrix(args) = Cli::parse_from(line.split(' ')).command else {
            panic!("another command: {line}");
        };
        let request = MatrixRequest::from_args(&args).unwrap();
        let selection = select(&request).unwrap();
        let lock = &selection.locks[0].spec;
        let scenarios = selection.scenarios.iter();
        scenarios
            .filter_map(|(_, scenario)| unrequested(scenario, lock, &request))
            .filter(|reason| matches!(reason, Unsuited::ManyProcesses(_)))
            .map(|reason| reason.to_string())
            .collect()
    }

    #[test]
    fn catalog_expects_something_only_of_built_in_locks() {
        let is_built_in = |name: &str| picklock_impls::built_in().any(|lock| lock.name == name);
        for name in catalog::names() {
            let scenario = catalog::named(name).unwrap();
            for lock in scenario.expect.keys() {
                assert!(lock == OTHERS || is_built_in(lock), "{name}: {lock}");
            }
        }
    }

    #[test]
    fn many_programs_start_only_where_the_scenario_is_named() {
        let left_out = left_out_for_many("picklock matrix --impl exec:java");
        let expected = "it would start 500 processes of your program; run it with `--scenario`";
        assert_eq!(left_out, [expected]);
        for line in [
            "picklock matrix --impl exec:java --scenario flash-sale",
            "picklock matrix --impl set-nx-px",
            "picklock matrix --impl exec:java --profile quick",
        ] {
            assert!(left_out_for_many(line).is_empty(), "{line}");
        }
    }
}
