//! Simulated runs, and the comparison of both judges' answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use picklock_harness::check;
use picklock_harness::history::write_history;
use picklock_impls::BuiltInLock;
use picklock_lab::simulated::{self, SimulatedRun};
use picklock_scenarios::Scenario;
use serde_json::Value;

use super::answer::{Answer, Finding};
use super::verdicts::judge;

/// A run as text: its history, and Picklock's verdicts on it.
pub struct SimulatedJudgement {
    pub lock: String,
    pub scenario: Scenario,
    pub seed: u64,
    pub history: String,
    pub verdicts: Value,
}

/// Simulates a run, or returns `None` if the scenario does not suit the lock.
pub fn simulate(
    lock: &'static BuiltInLock,
    scenario: Scenario,
    seed: u64,
) -> Option<SimulatedJudgement> {
    let SimulatedRun { scenario, history } = simulated::simulate(lock, scenario, seed)?;
    let mut text = Vec::new();
    write_history(&history, &mut text).expect("a history can be written");
    Some(SimulatedJudgement {
        lock: lock.name.to_owned(),
        scenario,
        seed,
        history: String::from_utf8(text).expect("JSON is UTF-8"),
        verdicts: serde_json::to_value(check::judge(&history)).expect("verdicts are JSON"),
    })
}

/// Returns Picklock's verdict on a property: `held`, `violated: cause`.
fn verdict_text(verdicts: &Value, property: &str) -> String {
    let recorded = &verdicts[property];
    let status = recorded["status"].as_str().unwrap_or("?");
    match recorded["cause"].as_str() {
        Some(cause) => format!("{status}: {cause}"),
        None => status.to_owned(),
    }
}

/// Stands for every cause, in an answer about the status alone.
pub const ANY: &str = "any";

/// Returns `true` if the answer allows Picklock's verdict.
fn allows(answer: &Answer, verdict: &str) -> bool {
    match answer {
        Answer::Violated(causes) => verdict
            .strip_prefix("violated: ")
            .is_some_and(|cause| causes.contains(cause) || causes.contains(ANY)),
        Answer::Undecided(_) => true,
        other => other.to_string() == verdict,
    }
}

/// A disagreement between the judges on a property.
pub struct Disagreement {
    pub property: &'static str,
    pub lock: String,
    pub verdict: String,
    pub answer: String,
    pub text: String,
}

/// The results of many comparisons.
#[derive(Default)]
pub struct Comparison {
    pub runs: u64,
    pub disagreements: Vec<Disagreement>,
    agreed: BTreeMap<(&'static str, String), u64>,
    undecided: BTreeMap<&'static str, u64>,
    ambiguous: BTreeMap<&'static str, u64>,
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("judge");
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    folder
}

impl Comparison {
    /// Compares the two judges on one run.
    pub fn compare(&mut self, ran: &SimulatedJudgement) {
        self.compare_with(ran, &judge(&ran.history));
    }

    /// Compares these findings with Picklock's verdicts.
    pub fn compare_with(
        &mut self,
        ran: &SimulatedJudgement,
        findings: &BTreeMap<&'static str, Finding>,
    ) {
        self.runs += 1;
        for (&property, finding) in findings {
            let verdict = verdict_text(&ran.verdicts, property);
            match &finding.answer {
                Answer::Undecided(why) => {
                    *self.undecided.entry(property).or_default() += 1;
                    println!(
                        "undecided: {property} of {}: {why}: {}",
                        ran.lock, finding.note
                    );
                }
                Answer::Violated(causes) if causes.len() > 1 => {
                    *self.ambiguous.entry(property).or_default() += 1;
                }
                _ => {}
            }
            if allows(&finding.answer, &verdict) {
                *self.agreed.entry((property, verdict)).or_default() += 1;
            } else {
                self.disagree(ran, property, verdict, finding);
            }
        }
    }

    fn disagree(
        &mut self,
        ran: &SimulatedJudgement,
        property: &'static str,
        verdict: String,
        finding: &Finding,
    ) {
        let name = format!("{}-{}-{}", ran.scenario.name, ran.lock, ran.seed);
        let scenario = toml::to_string(&ran.scenario).expect("a scenario can be written");
        let scenario_path = folder().join(format!("{name}.toml"));
        std::fs::write(&scenario_path, scenario).expect("the target directory can be written");
        let history = folder().join(format!("{name}.jsonl"));
        std::fs::write(history, &ran.history).expect("the target directory can be written");
        let lines: Vec<&str> = ran.history.lines().collect();
        let deciding = finding
            .lines
            .iter()
            .filter_map(|number| lines.get(number - 1));
        let deciding: String = deciding.map(|line| format!("\n    {line}")).collect();
        let text = format!(
            "{property} of {} with seed {} under {}\n  Picklock: {verdict}\n  the judge: {} {}{deciding}",
            ran.lock,
            ran.seed,
            scenario_path.display(),
            finding.answer,
            finding.note,
        );
        let one = Disagreement {
            property,
            lock: ran.lock.clone(),
            verdict,
            answer: finding.answer.to_string(),
            text,
        };
        self.disagreements.push(one);
    }

    /// Returns the properties that the judge could not decide in at least 5 % of the runs.
    pub fn too_often_undecided(&self) -> Vec<&'static str> {
        let often = (self.undecided.iter()).filter(|(_, count)| **count * 20 >= self.runs);
        often.map(|(property, _)| *property).collect()
    }

    /// Prints the results.
    pub fn report(&self) {
        for one in &self.disagreements {
            println!("{}\n", one.text);
        }
        let mut classes: BTreeMap<(&str, &str, &str), (u64, BTreeSet<&str>)> = BTreeMap::new();
        for one in &self.disagreements {
            let class = (one.property, one.verdict.as_str(), one.answer.as_str());
            let (count, locks) = classes.entry(class).or_default();
            *count += 1;
            locks.insert(&one.lock);
        }
        println!(
            "{} runs, {} disagreements",
            self.runs,
            self.disagreements.len()
        );
        for ((property, verdict), count) in &self.agreed {
            println!("  agreed      {property:10} {verdict:35} {count}");
        }
        for (property, count) in &self.undecided {
            println!("  undecided   {property:10} {count}");
        }
        for (property, count) in &self.ambiguous {
            println!("  ambiguous   {property:10} {count}");
        }
        for ((property, verdict, answer), (count, locks)) in classes {
            println!(
                "  DISAGREED   {property:10} Picklock {verdict:30} judge {answer:35} {count} {locks:?}"
            );
        }
    }
}
