//! The baseline: accepted results to compare with. It is committed next to the configuration.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::record::{Cell, Redis};
use serde::{Deserialize, Serialize};

use super::cell_key::CellKey;
use super::limit::Reference;
use super::paired::{GateRuns, ratios};
use super::rules::Rules;
use crate::escape::visible_json;

/// Format and version of a baseline.
pub const BASELINE_FORMAT: &str = "picklock-baseline/1";

/// Accepted results to compare with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Always [`BASELINE_FORMAT`].
    pub format: String,
    /// Sorted by backend and scenario, then by key.
    pub cells: Vec<BaselineCell>,
}

/// One cell of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineCell {
    /// Identifies the cell.
    #[serde(flatten)]
    pub key: CellKey,
    /// Hash of the scenario at that time.
    pub scenario_hash: String,
    /// The servers at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// Metrics that repeat exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    /// Metrics measured in a server backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<Relative>,
}

/// Metrics that repeat exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    /// The number of runs from which the metrics were computed.
    pub runs: u64,
    /// By metric; times in microseconds.
    pub metrics: BTreeMap<String, f64>,
}

/// Times in a server backend, as multiples of the times of the control in the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relative {
    /// Name of the control.
    pub control: String,
    /// By metric.
    pub ratios: BTreeMap<String, f64>,
}

/// An error for a text that is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not JSON, or invalid content.
    #[error("not a valid {BASELINE_FORMAT} document: {0}")]
    Invalid(#[from] serde_json::Error),
    /// Another format or version.
    #[error("the format is {0:?}, but this version of picklock reads \"{BASELINE_FORMAT}\"")]
    OtherFormat(String),
    /// The baseline contains a cell twice.
    #[error("{0} occurs twice")]
    Twice(CellKey),
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// Returns an error if the text is not a baseline or has another version.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let document: serde_json::Value = serde_json::from_str(text)?;
        let format = document.get("format").and_then(|format| format.as_str());
        if format != Some(BASELINE_FORMAT) {
            let named: String = format.unwrap_or("").chars().take(60).collect();
            return Err(BaselineError::OtherFormat(named));
        }
        let baseline: Baseline = serde_json::from_str(text)?;
        let mut seen = BTreeSet::new();
        let mut keys = baseline.cells.iter().map(|cell| &cell.key);
        match keys.find(|key| !seen.insert(*key)) {
            Some(key) => Err(BaselineError::Twice(key.clone())),
            None => Ok(baseline),
        }
    }

    /// Creates the next baseline from a complete run. It contains only the metrics that limits use, so that a
    /// diff shows only relevant changes.
    pub fn new(rules: &Rules, runs: &GateRuns) -> Baseline {
        let cells = runs.matrix.cells.iter();
        let mut cells: Vec<BaselineCell> =
            cells.map(|cell| baseline_cell(rules, runs, cell)).collect();
        cells.sort_by_cached_key(|BaselineCell { key, .. }| {
            (key.backend, key.scenario.clone(), key.clone())
        });
        Baseline {
            format: BASELINE_FORMAT.to_owned(),
            cells,
        }
    }

    /// Returns the cell with this key.
    pub fn find(&self, key: &CellKey) -> Option<&BaselineCell> {
        self.cells.iter().find(|cell| cell.key == *key)
    }

    /// Formats the content of the file with one line per cell, so that a diff shows what changed.
    pub fn to_text(&self) -> String {
        let line = |cell: &BaselineCell| {
            let line = serde_json::to_string(cell)
                .expect("a baseline holds only text, numbers, and maps keyed by words");
            format!("    {line}")
        };
        let lines: Vec<String> = self.cells.iter().map(line).collect();
        let cells = if lines.is_empty() {
            "[]".to_owned()
        } else {
            format!("[\n{}\n  ]", lines.join(",\n"))
        };
        visible_json(format!(
            "{{\n  \"format\": \"{BASELINE_FORMAT}\",\n  \"cells\": {cells}\n}}\n"
        ))
    }
}

fn baseline_cell(rules: &Rules, runs: &GateRuns, cell: &Cell) -> BaselineCell {
    let key = CellKey::new(cell);
    let limits = rules.for_cell(&key).limits.iter();
    let wanted = limits.filter(|limit| limit.reference == Reference::Baseline);
    let (mut metrics, mut relative) = (BTreeMap::new(), BTreeMap::new());
    let paired = runs.paired.iter().find(|paired| paired.key == key);
    for limit in wanted {
        let metric = &limit.metric;
        let word = metric.as_str().to_owned();
        if metric.is_time() && !key.is_simulated() {
            let ratio = paired.and_then(|paired| ratios(paired, metric));
            relative.extend(ratio.map(|ratio| (word, rounded(ratio.estimate))));
        } else {
            metrics.extend(metric.value_in(cell).map(|value| (word, value)));
        }
    }
    let exact = Exact {
        runs: cell.runs,
        metrics,
    };
    let relative = paired.map(|paired| Relative {
        control: paired.control.clone(),
        ratios: relative,
    });
    BaselineCell {
        key,
        scenario_hash: cell.scenario_hash.clone(),
        redis: cell.redis.clone(),
        exact: Some(exact).filter(|exact| !exact.metrics.is_empty()),
        relative: relative.filter(|relative| !relative.ratios.is_empty()),
    }
}

/// Rounds a ratio to four decimals. Further digits are noise.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

/// Lists the changes in the new baseline, one line each.
pub fn changes(old: Option<&Baseline>, new: &Baseline) -> Vec<String> {
    let nothing = Baseline::default();
    let old = old.unwrap_or(&nothing);
    let mut lines = Vec::new();
    for cell in &new.cells {
        match old.find(&cell.key) {
            None => lines.push(format!("+ {}", cell.key)),
            Some(before) => lines.extend(changed(before, cell)),
        }
    }
    let keys = old.cells.iter().map(|cell| &cell.key);
    let gone = keys.filter(|key| new.find(key).is_none());
    lines.extend(gone.map(|key| format!("- {key}")));
    lines
}

fn changed(before: &BaselineCell, now: &BaselineCell) -> Option<String> {
    let mut changes = Vec::new();
    if before.scenario_hash != now.scenario_hash {
        changes.push("the scenario changed".to_owned());
    }
    if before.redis != now.redis
        && let Some(redis) = &now.redis
    {
        changes.push(format!("on {redis}"));
    }
    let (were, are) = (numbers(before), numbers(now));
    for (metric, value) in &are {
        match were.get(metric) {
            None => changes.push(format!("{metric} {value}")),
            Some(was) if was != value => changes.push(format!("{metric} {was} → {value}")),
            Some(_) => {}
        }
    }
    let gone = were.keys().filter(|metric| !are.contains_key(*metric));
    changes.extend(gone.map(|metric| format!("{metric} no longer")));
    if changes.is_empty() && before != now {
        changes.push("the way it was measured".to_owned());
    }
    (!changes.is_empty()).then(|| format!("~ {}: {}", now.key, changes.join(", ")))
}

fn numbers(cell: &BaselineCell) -> BTreeMap<&str, f64> {
    let exact = cell.exact.iter().flat_map(|exact| &exact.metrics);
    let relative = cell.relative.iter().flat_map(|relative| &relative.ratios);
    let all = exact.chain(relative);
    all.map(|(metric, value)| (metric.as_str(), *value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_a_baseline_is_rejected() {
        let texts = [
            "",
            "{}",
            r#"{"format":"picklock-matrix/1","cells":[]}"#,
            r#"{"format":"picklock-baseline/2","cells":[]}"#,
            r#"{"format":"picklock-baseline/1"}"#,
            r#"{"format":"picklock-baseline/1","cells":[{"impl":"a","scenario":"b","backend":"sim","scenario_hash":""},{"impl":"a","scenario":"b","backend":"sim","scenario_hash":""}]}"#,
        ];
        let shown: Vec<String> = texts
            .iter()
            .map(|text| Baseline::parse(text).unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        not a valid picklock-baseline/1 document: EOF while parsing a value at line 1 column 0
        the format is "", but this version of picklock reads "picklock-baseline/1"
        the format is "picklock-matrix/1", but this version of picklock reads "picklock-baseline/1"
        the format is "picklock-baseline/2", but this version of picklock reads "picklock-baseline/1"
        not a valid picklock-baseline/1 document: missing field `cells` at line 1 column 32
        a × b × sim occurs twice
        "#);
    }
}
