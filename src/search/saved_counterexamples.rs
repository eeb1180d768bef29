//! Turns counterexamples into records: repeats each run with its command log, judges it, and saves it.

use std::path::Path;
use std::rc::Rc;

use picklock_harness::record::{Counterexample, RunRecord};
use picklock_harness::run;
use picklock_harness::search::{CounterexampleGroup, Target, Violation};
use picklock_harness::spec::{RunSpec, ScenarioSource};
use picklock_reports::inert;
use picklock_reports::repro::FILE;

use super::searching::SeenAfter;
use crate::backend_choice::ChosenBackend;
use crate::exit::Failure;
use crate::output_directory::OutputDirectory;
use crate::print;
use crate::reproduce_command::ReproduceCommand;
use crate::run::record;
use crate::run_directory::RunDirectory;

/// Returns the records of the counterexamples, each saved in a separate directory below `out`. If a rerun does not
/// reproduce the violation, the simulation has a bug: a warning is printed, and the counterexample is dropped. The
/// directories of `earlier` counterexamples stay.
pub async fn save(
    target: &Target,
    groups: Vec<CounterexampleGroup>,
    seen: &SeenAfter,
    out: &OutputDirectory,
    earlier: &[Counterexample],
) -> Result<Vec<Counterexample>, Failure> {
    let mut counterexamples: Vec<Counterexample> = Vec::new();
    for group in groups {
        let Violation { property, cause } = group.violation;
        let like = earlier
            .iter()
            .chain(&counterexamples)
            .filter(|it| (it.property, it.cause) == (property, cause));
        let name = name(group.violation, like.count() + 1);
        match save_one(target, &group, out, &name).await? {
            Some(find) => counterexamples.push(Counterexample {
                after_s: seen.get(&group.violation).map(|it| in_millis(*it)),
                ..find
            }),
            None => print::err(&inert!(
                "{}: replaying the counterexample did not reproduce the violation, so it was dropped; please report this\n",
                name
            )),
        }
    }
    Ok(counterexamples)
}

async fn save_one(
    target: &Target,
    group: &CounterexampleGroup,
    out: &OutputDirectory,
    name: &str,
) -> Result<Option<Counterexample>, Failure> {
    let Some(spec) = target.run_spec(&group.plan) else {
        return Ok(None);
    };
    let directory = out.root().join(name);
    let spec = saved_in(spec, &directory);
    let chosen = ChosenBackend::new(None, "searched".to_owned());
    let backend = chosen.backend(&spec, true)?;
    let result = run::run(&spec, backend, Rc::new(()), std::future::pending()).await?;
    let record = record(&spec, &chosen, &result);
    let Violation { property, cause } = group.violation;
    if record.verdicts[&property].cause != Some(cause) {
        return Ok(None);
    }
    out.make().map_err(Failure::at("make", out.root()))?;
    RunDirectory::below(out, Path::new(name)).keep(&spec, &result, &record)?;
    let signature = group.signature.clone();
    Ok(Some(Counterexample {
        schedules: group.count,
        first: group.number(),
        robust: group.robust,
        unshrunk: group.unshrunk.clone(),
        not_needed: group.not_needed.clone(),
        ..find(&spec, &record, group.violation, signature, &directory)
    }))
}

/// Returns the specification of a run that is saved in `directory`. Its file repeats it, because its scenario has no
/// name.
pub fn saved_in(spec: RunSpec, directory: &Path) -> RunSpec {
    RunSpec {
        source: ScenarioSource::Repro {
            named: spec.scenario.name.clone(),
            file: directory.join(FILE),
        },
        ..spec
    }
}

/// Rounds seconds to milliseconds, the resolution of a record.
pub fn in_millis(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Returns the name of a counterexample's directory. The number distinguishes it from others with the same violation.
pub fn name(violation: Violation, number: usize) -> String {
    let Violation { property, cause } = violation;
    format!("{property}-{cause}-{number}")
}

/// Creates the counterexample of one schedule from its run.
pub fn find(
    spec: &RunSpec,
    record: &RunRecord,
    violation: Violation,
    signature: Vec<String>,
    directory: &Path,
) -> Counterexample {
    let Violation { property, cause } = violation;
    let faults = spec.scenario.faults.iter();
    Counterexample {
        property,
        cause,
        signature,
        faults: faults.map(|fault| fault.sentence()).collect(),
        not_needed: Vec::new(),
        schedules: 1,
        first: 1,
        robust: true,
        recurred: None,
        after_s: None,
        story: record.verdicts[&property].story.clone(),
        seed: spec.seed,
        reproduce: ReproduceCommand::for_run(spec).to_string(),
        repro: Some(directory.join(FILE).display().to_string()),
        scenario: spec.scenario.clone(),
        unshrunk: Vec::new(),
    }
}
