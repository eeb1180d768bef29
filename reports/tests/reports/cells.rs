//! Handwritten matrices, made of the sample runs.

use std::collections::BTreeMap;

use picklock_reports::combine::{from_run, merge};
use picklock_reports::report_input::ReportInput;
use picklock_verdicts::check::Property;
use picklock_verdicts::expectation::{Expectation, fits};
use picklock_verdicts::history::History;
use picklock_verdicts::record::{Mismatch, RunRecord};

use crate::samples;

/// Text with every character sequence that might break a report.
pub const HOSTILE: &str = "a|b`c`</pre></details><script>alert(1)</script>@team #1 https://x.y\n\
                           ]]>\u{1b}[31m\u{0}\u{fffe}\u{202e}\"'&amp; 🔒";

/// Returns one cell with expectations.
pub fn expecting(
    (record, history): (RunRecord, History),
    expected: &[(Property, &str)],
) -> ReportInput {
    let mut material = from_run(record, Some(history));
    let cell = &mut material.matrix.cells[0];
    cell.scenario_hash = "5eed".into();
    for (property, expected) in expected {
        cell.expected.insert(*property, expected.parse().unwrap());
        let verdict = &cell.verdicts[property];
        let expected: Expectation = expected.parse().unwrap();
        if !fits(&expected, verdict) {
            cell.mismatches.push(Mismatch {
                property: *property,
                expected,
                got: verdict.into(),
                runs: 1,
            });
        }
    }
    material
}

/// Returns five cells: one that held, one with an expected violation, one with an unexpected violation, one
/// that is unexpectedly inconclusive, and one that was not run.
pub fn matrix() -> ReportInput {
    let held = [(Property::Exclusion, "held"), (Property::Lease, "held")];
    let outlived = "violated: outlived-lease";
    let broken = [
        (Property::Exclusion, outlived),
        (Property::Resource, outlived),
    ];
    let mut parts = vec![
        expecting(samples::calm(), &held),
        expecting(samples::gc_pause(), &broken),
        expecting(
            samples::stale_delete(),
            &[(Property::Exclusion, "held"), (Property::Ownership, "held")],
        ),
    ];
    let mut inconclusive = samples::calm();
    inconclusive.0.lock.name = "redlock".into();
    inconclusive.0.scenario = "holder-crash".into();
    let verdict = inconclusive
        .0
        .verdicts
        .get_mut(&Property::Progress)
        .unwrap();
    *verdict = crate::inconclusive("too few grants: 1 of 3");
    parts.push(expecting(inconclusive, &[(Property::Progress, "held")]));
    let mut not_run = samples::calm();
    not_run.0.lock.name = "redlock".into();
    let mut not_run = expecting(not_run, &held);
    not_run.matrix.cells[0].error = Some("no redis-server on the PATH".into());
    not_run.matrix.cells[0].verdicts = BTreeMap::new();
    parts.push(not_run);
    let names = ["runs/1", "runs/2", "runs/3", "runs/4", "runs/5"];
    let mut material = merge(names.map(String::from).into_iter().zip(parts).collect());
    material.matrix.reproduce = "picklock matrix --backend process --seed 7".into();
    material
}

/// Returns the matrix with every untrusted text set to [`HOSTILE`].
pub fn hostile() -> ReportInput {
    let mut material = matrix();
    material.skipped = vec![HOSTILE.to_owned()];
    material.matrix.reproduce = HOSTILE.to_owned();
    for cell in &mut material.matrix.cells {
        cell.lock.name = HOSTILE.repeat(3);
        cell.scenario = HOSTILE.to_owned();
        cell.summary = HOSTILE.to_owned();
        cell.reproduce = HOSTILE.to_owned();
        cell.error = cell.error.as_ref().map(|_| HOSTILE.to_owned());
        for verdict in cell.verdicts.values_mut() {
            verdict.story = vec![HOSTILE.to_owned(), "```\n\n</pre>".to_owned()];
        }
        for mismatch in &mut cell.mismatches {
            mismatch.expected = Expectation::Any {
                reason: Some(HOSTILE.to_owned()),
            };
        }
    }
    for evidence in &mut material.evidence {
        evidence.record.lock.name = HOSTILE.to_owned();
        evidence.record.reproduce = HOSTILE.to_owned();
    }
    material
}

/// Returns the file of this name as text.
pub fn file(material: &ReportInput, format: &str, name: &str) -> String {
    let format = picklock_reports::formats::find(format).unwrap();
    let files = (format.write)(material).unwrap();
    let found = files.into_iter().find(|file| file.name == name);
    let found = found.unwrap_or_else(|| panic!("{name} was not written"));
    String::from_utf8(found.bytes().to_owned()).unwrap()
}
