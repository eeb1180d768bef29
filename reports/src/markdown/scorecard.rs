//! The scorecard: recommendations, and a row per lock, best lock first.

use picklock_scenarios::Family;

use super::page::Page;
use super::quoted::{code, prose};
use super::sections::table_of;
use crate::report_input::ReportInput;
use crate::scorecard::{LockScore, Percentiles, Scorecard};

/// Adds the scorecard, unless the matrix is too small for a comparison.
pub(super) fn scorecard(page: &mut Page, input: &ReportInput) {
    let Some(scorecard) = Scorecard::from_matrix(&input.matrix) else {
        return;
    };
    for advice in &scorecard.advice {
        page.add("advice", &format!("- {}\n", with_names(&advice.words)));
    }
    let families = Family::ALL.map(Family::as_str).join(" | ");
    let head = format!(
        "\n### Scorecard\n\nScenarios survived of those judged, the best lock first; latencies are \
         median / p99.\n\n| lock | all | {families} | | fencing | commands | healthy | contended | \
         failover | minority gone | needs |\n|---|{}---|---|---|---|---|---|---|---|\n",
        ":-:|".repeat(1 + Family::ALL.len())
    );
    let rows = scorecard.locks.iter().map(row);
    table_of(page, "rows of the scorecard", &head, rows.collect());
}

/// Formats a sentence with names between backticks.
fn with_names(words: &str) -> String {
    let parts = words.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => prose(part),
        _ => code(part),
    });
    parts.collect()
}

fn row(score: &LockScore) -> String {
    let families = Family::ALL.map(|family| {
        let score = score.families.get(family.as_str());
        score.map_or("–".to_owned(), |score| score.describe())
    });
    let latency = |it: Option<Percentiles>| it.map_or("–".to_owned(), Percentiles::describe);
    let costs = &score.costs;
    let cells = [
        code(&score.lock),
        score.all.describe(),
        families.join(" | "),
        prose(&score.sentence()),
        score.fencing.as_str().to_owned(),
        score.commands().unwrap_or_else(|| "–".to_owned()),
        latency(costs.healthy),
        latency(costs.contended),
        latency(costs.failover),
        score.availability().unwrap_or_else(|| "–".to_owned()),
        score.needs(),
    ];
    format!("| {} |\n", cells.join(" | "))
}
