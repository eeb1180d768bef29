//! Runs, and the two answers side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use picklock_harness::check;
use picklock_harness::history::write_history;
use picklock_impls::BuiltInLock;
use picklock_lab::simulated::{self, SimulatedRun};
use picklock_scenarios::Scenario;
use serde_json::Value;

use super::answer::{Answer, Finding};
use super::verdicts::{PROPERTIES, judge};

/// A run, as text: its history, and what Picklock says of it.
pub struct Ran {
    pub lock: String,
    pub scenario: Scenario,
    pub seed: u64,
    pub history: String,
    pub verdicts: Value,
}

/// Runs it in the simulation; `None` if the scenario does not fit the lock.
pub fn simulate(lock: &'static BuiltInLock, scenario: Scenario, seed: u64) -> Option<Ran> {
    let SimulatedRun { scenario, history } = simulated::simulate(lock, scenario, seed)?;
    let mut text = Vec::new();
    write_history(&history, &mut text).expect("a history can be written");
    Some(Ran {
        lock: lock.name.to_owned(),
        scenario,
        seed,
        history: String::from_utf8(text).expect("JSON is UTF-8"),
        verdicts: serde_json::to_value(check::judge(&history)).expect("verdicts are JSON"),
    })
}

/// What Picklock says of a property: `held`, `violated: cause`.
fn said(verdicts: &Value, property: &str) -> String {
    let verdict = &verdicts[property];
    let status = verdict["status"].as_str().unwrap_or("?");
    match verdict["cause"].as_str() {
        Some(cause) => format!("{status}: {cause}"),
        None => status.to_owned(),
    }
}

/// True if the answer allows what was said.
fn allows(answer: &Answer, said: &str) -> bool {
    match answer {
        Answer::Violated(causes) => said
            .strip_prefix("violated: ")
            .is_some_and(|cause| causes.contains(cause)),
        Answer::Undecided(_) => true,
        other => other.to_string() == said,
    }
}

/// A disagreement.
pub struct Disagreement {
    pub property: &'static str,
    pub lock: String,
    pub said: String,
    pub answer: String,
    pub text: String,
}

/// The sum of many comparisons.
#[derive(Default)]
pub struct Comparison {
    pub runs: u64,
    pub disagreements: Vec<Disagreement>,
    agreed: BTreeMap<(&'static str, String), u64>,
    undecided: BTreeMap<&'static str, u64>,
    open: BTreeMap<&'static str, u64>,
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("judge");
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    folder
}

impl Comparison {
    /// Compares the two judges on one run.
    pub fn compare(&mut self, ran: &Ran) {
        self.runs += 1;
        let mine: BTreeMap<&str, Finding> = judge(&ran.history);
        for property in PROPERTIES {
            let said = said(&ran.verdicts, property);
            let finding = &mine[property];
            match &finding.answer {
                Answer::Undecided(why) => {
                    *self.undecided.entry(property).or_default() += 1;
                    println!(
                        "undecided: {property} of {}: {why}: {}",
                        ran.lock, finding.note
                    );
                }
                Answer::Violated(causes) if causes.len() > 1 => {
                    *self.open.entry(property).or_default() += 1;
                }
                _ => {}
            }
            if allows(&finding.answer, &said) {
                *self.agreed.entry((property, said)).or_default() += 1;
            } else {
                self.disagree(ran, property, said, finding);
            }
        }
    }

    fn disagree(&mut self, ran: &Ran, property: &'static str, said: String, finding: &Finding) {
        let name = format!("{}-{}-{}", ran.scenario.name, ran.lock, ran.seed);
        let scenario = toml::to_string(&ran.scenario).expect("a scenario can be written");
        let kept = folder().join(format!("{name}.toml"));
        std::fs::write(&kept, scenario).expect("the target directory can be written");
        let history = folder().join(format!("{name}.jsonl"));
        std::fs::write(history, &ran.history).expect("the target directory can be written");
        let lines: Vec<&str> = ran.history.lines().collect();
        let deciding = finding
            .lines
            .iter()
            .filter_map(|number| lines.get(number - 1));
        let deciding: String = deciding.map(|line| format!("\n    {line}")).collect();
        let text = format!(
            "{property} of {} with seed {} under {}\n  Picklock: {said}\n  the judge: {} {}{deciding}",
            ran.lock,
            ran.seed,
            kept.display(),
            finding.answer,
            finding.note,
        );
        let one = Disagreement {
            property,
            lock: ran.lock.clone(),
            said,
            answer: finding.answer.to_string(),
            text,
        };
        self.disagreements.push(one);
    }

    /// The properties of which the judge could not decide 5 % of the runs.
    pub fn too_often_undecided(&self) -> Vec<&'static str> {
        let often = (self.undecided.iter()).filter(|(_, count)| **count * 20 >= self.runs);
        often.map(|(property, _)| *property).collect()
    }

    /// Prints it.
    pub fn report(&self) {
        for one in &self.disagreements {
            println!("{}\n", one.text);
        }
        let mut classes: BTreeMap<(&str, &str, &str), (u64, BTreeSet<&str>)> = BTreeMap::new();
        for one in &self.disagreements {
            let class = (one.property, one.said.as_str(), one.answer.as_str());
            let (count, locks) = classes.entry(class).or_default();
            *count += 1;
            locks.insert(&one.lock);
        }
        println!(
            "{} runs, {} disagreements",
            self.runs,
            self.disagreements.len()
        );
        for ((property, said), count) in &self.agreed {
            println!("  agreed      {property:10} {said:35} {count}");
        }
        for (property, count) in &self.undecided {
            println!("  undecided   {property:10} {count}");
        }
        for (property, count) in &self.open {
            println!("  open cause  {property:10} {count}");
        }
        for ((property, said, answer), (count, locks)) in classes {
            println!(
                "  DISAGREED   {property:10} Picklock {said:30} judge {answer:35} {count} {locks:?}"
            );
        }
    }
}
