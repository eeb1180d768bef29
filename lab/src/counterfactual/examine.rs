//! Checks the causes of one run.

use std::collections::BTreeMap;
use std::rc::Rc;

use picklock_scenarios::FaultKind;
use picklock_verdicts::check::{Cause, Property, Responsible};

use super::needs::needs;
use super::run::{Case, Judged};

/// Number of neighbouring seeds that are tried before a removal counts as a disagreement.
const NEIGHBOURS: u64 = 8;

/// The required effect of a removal on a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Without the faults that the cause names, the property is not violated at the time of the original violation.
    Vanishes,
    /// Without all faults that the cause does not need, the cause is the same.
    Survives,
    /// Without the faults after the violation, the verdict is the same.
    Unchanged,
}

/// The result of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The cause behaved as its rule demands.
    Confirmed,
    /// The cause behaved as its rule demands with a neighbouring seed: the removal had shifted the later events.
    ConfirmedNearby,
    /// Another fault would have had the same effect: the violation vanishes without both.
    Redundant,
    /// Without the fault, the lock's own mistake would have let the other client in at the same time.
    Preempted,
    /// The fault had only kept the holder inside: without it, the lock reported the loss that the cause names, or the
    /// client released, before another client came.
    Ended,
    /// The cause is based on missing traffic after the violation, and the later fault excuses a part of this gap.
    Excused,
    /// The removal changed when other faults fired or which clients held the lock before the violation, or another
    /// violation came first. The runs cannot be compared.
    Shifted,
    /// The cause did not behave as its rule demands.
    Disagreement,
}

/// One removal for one cause.
#[derive(Debug)]
pub struct Check {
    /// The cause.
    pub cause: Cause,
    /// The rule.
    pub rule: Rule,
    /// The result.
    pub outcome: Outcome,
    /// Description of a disagreement; empty for any other outcome.
    pub text: String,
}

/// A fault that a cause may need, removed alone.
#[derive(Debug)]
pub struct Circumstance {
    /// The cause.
    pub cause: Cause,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// Whether the cause vanished with it.
    pub was_needed: bool,
}

/// The checks of one run.
#[derive(Debug, Default)]
pub struct Examination {
    /// The causes of the run's violations.
    pub causes: Vec<Cause>,
    /// The checks.
    pub checks: Vec<Check>,
    /// The faults that these causes may need.
    pub circumstances: Vec<Circumstance>,
    /// The lock, the cause, and the cause without the named faults, of each check with the outcome `Preempted`.
    pub preempted: Vec<(&'static str, Cause, Cause)>,
    /// Number of removals that changed the run before their fault fired. The simulation rules them out.
    pub too_early: u64,
}

/// Checks the causes of a run's violations. Returns `None` if the scenario does not fit the lock.
pub fn examine(case: &Case) -> Option<Examination> {
    let original = case.run_without(&[], case.seed)?;
    let mut examiner = Examiner {
        case,
        original,
        runs: BTreeMap::new(),
        fired_ns: BTreeMap::new(),
        result: Examination::default(),
    };
    let violations: Vec<_> = examiner.original.violations().collect();
    if violations.is_empty() {
        return Some(examiner.result);
    }
    examiner.find_fired();
    for (property, cause, at_ns) in violations {
        examiner.violation(property, cause, at_ns);
    }
    Some(examiner.result)
}

struct Examiner<'a> {
    case: &'a Case,
    original: Judged,
    /// The runs without these faults.
    runs: BTreeMap<Vec<usize>, Option<Rc<Judged>>>,
    /// When each fault of the plan fired, without those that did not fire.
    fired_ns: BTreeMap<usize, u64>,
    result: Examination,
}

/// A violated property with its cause and time.
#[derive(Clone, Copy)]
struct Violated {
    property: Property,
    cause: Cause,
    at_ns: u64,
}

impl Examiner<'_> {
    fn kind(&self, place: usize) -> FaultKind {
        self.case.scenario.faults[place].kind
    }

    fn without(&mut self, removed: &[usize]) -> Option<Rc<Judged>> {
        let case = self.case;
        let run = self.runs.entry(removed.to_vec());
        run.or_insert_with(|| case.run_without(removed, case.seed).map(Rc::new))
            .clone()
    }

    /// Finds out when each fault fired: at the first difference from the run without it.
    fn find_fired(&mut self) {
        for place in 0..self.case.scenario.faults.len() {
            let kind = self.kind(place).as_str();
            let Some(other) = self.case.run_without(&[place], self.case.seed) else {
                continue;
            };
            if let Some(at_ns) = self.original.first_difference_ns(&other) {
                let fired = self.original.fired().filter(|(it, _)| *it == kind);
                let next_ns = fired.map(|(_, ns)| ns).filter(|ns| *ns >= at_ns).min();
                if next_ns == Some(at_ns) {
                    self.fired_ns.insert(place, at_ns);
                }
                // If a removal changed the run before its fault had fired, the fault was removed too early.
                self.result.too_early += u64::from(next_ns.is_some_and(|ns| ns > at_ns));
            }
            self.runs.insert(vec![place], Some(Rc::new(other)));
        }
    }

    fn fired(&self, is_wanted: impl Fn(FaultKind, u64) -> bool) -> Vec<usize> {
        let fired = self.fired_ns.iter();
        let wanted = fired.filter(|(place, at_ns)| is_wanted(self.kind(**place), **at_ns));
        wanted.map(|(place, _)| *place).collect()
    }

    fn violation(&mut self, property: Property, cause: Cause, at_ns: u64) {
        let violated = Violated {
            property,
            cause,
            at_ns,
        };
        let row = needs(cause);
        let names = row.names;
        self.result.causes.push(cause);
        if !names.is_empty() {
            let named = self.fired(|kind, fired_ns| fired_ns <= at_ns && names.contains(&kind));
            self.vanishes(violated, &named);
        }
        let others = self.fired(|kind, fired_ns| {
            fired_ns < at_ns && !names.contains(&kind) && !row.may_need(kind)
        });
        if !others.is_empty() {
            self.survives(violated, &others);
        }
        let later = self.fired(|_, fired_ns| fired_ns > at_ns);
        if !later.is_empty() {
            self.unchanged(violated, &later);
        }
        for place in self.fired(|kind, fired_ns| fired_ns < at_ns && row.may_need(kind)) {
            let kind = self.kind(place);
            if let Some(run) = self.without(&[place]) {
                let was_needed = !run.has(property, cause);
                self.result.circumstances.push(Circumstance {
                    cause,
                    kind,
                    was_needed,
                });
            }
        }
    }

    fn vanishes(&mut self, violated: Violated, named: &[usize]) {
        if named.is_empty() {
            return self.disagrees(violated, Rule::Vanishes, named, "no such fault had fired");
        }
        let Some(run) = self.without(named) else {
            return;
        };
        let Some(found) = still_violated(&run, violated.property, violated.at_ns) else {
            return self.add(violated.cause, Rule::Vanishes, Outcome::Confirmed);
        };
        let (
            case,
            Violated {
                property, cause, ..
            },
        ) = (self.case, violated);
        let vanishes_nearby = neighbours(case.seed).any(|seed| {
            let Some(with) = case.run_without(&[], seed) else {
                return false;
            };
            let at_ns = with.cause_of(property).filter(|(it, _)| *it == cause);
            at_ns.is_some_and(|(_, at_ns)| {
                let without = case.run_without(named, seed);
                without.is_some_and(|run| still_violated(&run, property, at_ns).is_none())
            })
        });
        if vanishes_nearby {
            return self.add(cause, Rule::Vanishes, Outcome::ConfirmedNearby);
        }
        if self.is_redundant(violated, named, found.0) {
            return self.add(cause, Rule::Vanishes, Outcome::Redundant);
        }
        if !self.is_same_violation(violated, &run, found.1) {
            return self.add(cause, Rule::Vanishes, Outcome::Shifted);
        }
        if found.0.responsible() == Responsible::Lock && self.original.lost_more_than(&run) {
            let preempted = (self.case.lock.name, cause, found.0);
            self.result.preempted.push(preempted);
            return self.add(cause, Rule::Vanishes, Outcome::Preempted);
        }
        let (found, at_s) = (found.0.as_str(), seconds(found.1));
        let found = format!("still violated: {found} at {at_s:.6} s");
        self.disagrees(violated, Rule::Vanishes, named, &found);
    }

    /// Returns `true` if other faults would have had the same effect: without the named faults the cause names others,
    /// and without those as well the property is not violated at that time.
    fn is_redundant(&mut self, violated: Violated, named: &[usize], instead: Cause) -> bool {
        let (mut removed, mut instead) = (named.to_vec(), Some(instead));
        while let Some(cause) = instead {
            let others = self.fired(|kind, fired_ns| {
                fired_ns <= violated.at_ns && needs(cause).names.contains(&kind)
            });
            let before = removed.len();
            removed.extend(others);
            removed.sort_unstable();
            removed.dedup();
            if removed.len() == before {
                return false;
            }
            let Some(run) = self.without(&removed) else {
                return false;
            };
            instead = still_violated(&run, violated.property, violated.at_ns).map(|(it, _)| it);
        }
        true
    }

    /// Returns `true` if the violation that `run` found at `found_ns` is the original one, as far as the times show.
    fn is_same_violation(&self, violated: Violated, run: &Judged, found_ns: u64) -> bool {
        let Violated {
            property, at_ns, ..
        } = violated;
        found_ns.abs_diff(at_ns) <= run.near_ns()
            && run.has_grants_of(&self.original, at_ns)
            && run.has_moments_of(&self.original, property)
    }

    fn survives(&mut self, violated: Violated, others: &[usize]) {
        let Violated {
            property, cause, ..
        } = violated;
        let Some(run) = self.without(others) else {
            return;
        };
        if survives(&run, property, cause) {
            return self.add(cause, Rule::Survives, Outcome::Confirmed);
        }
        let found = run.cause_of(property);
        let remaining = self
            .fired_ns
            .iter()
            .filter(|(place, fired_ns)| !others.contains(place) && **fired_ns <= violated.at_ns);
        let remaining: Vec<_> = remaining
            .map(|(place, ns)| (self.kind(*place), *ns))
            .collect();
        let is_comparable = keeps_times(&run, &remaining)
            && run.has_grants_of(&self.original, violated.at_ns)
            && (found.is_none() || run.has_moments_of(&self.original, property));
        let case = self.case;
        let survives_nearby = neighbours(case.seed).any(|seed| {
            let without = case.run_without(others, seed);
            without.is_some_and(|run| survives(&run, property, cause))
        });
        if survives_nearby {
            return self.add(cause, Rule::Survives, Outcome::ConfirmedNearby);
        }
        let is_of_loss = !needs(cause).names.is_empty();
        if is_of_loss && run.ended_before(&self.original, violated.at_ns) {
            return self.add(cause, Rule::Survives, Outcome::Ended);
        }
        let comes_first = found.is_some_and(|(_, ns)| ns + run.near_ns() < violated.at_ns);
        if !is_comparable || comes_first {
            return self.add(cause, Rule::Survives, Outcome::Shifted);
        }
        let found = match found {
            Some((it, at_ns)) => format!("now {} at {:.6} s", it.as_str(), seconds(at_ns)),
            None => "now not violated".to_owned(),
        };
        self.disagrees(violated, Rule::Survives, others, &found);
    }

    fn unchanged(&mut self, violated: Violated, later: &[usize]) {
        let Violated {
            property,
            cause,
            at_ns,
        } = violated;
        let Some(run) = self.without(later) else {
            return;
        };
        let found = run.cause_of(property);
        if found == Some((cause, at_ns)) {
            return self.add(cause, Rule::Unchanged, Outcome::Confirmed);
        }
        if found == Some((Cause::SilentLoss, at_ns)) {
            return self.add(cause, Rule::Unchanged, Outcome::Excused);
        }
        let found = format!("without later faults: {found:?}");
        self.disagrees(violated, Rule::Unchanged, later, &found);
    }

    fn add(&mut self, cause: Cause, rule: Rule, outcome: Outcome) {
        self.result.checks.push(Check {
            cause,
            rule,
            outcome,
            text: String::new(),
        });
    }

    fn disagrees(&mut self, violated: Violated, rule: Rule, removed: &[usize], found: &str) {
        let removed: Vec<String> = removed
            .iter()
            .map(|place| {
                let at_s = self.fired_ns.get(place).map_or(0.0, |ns| seconds(*ns));
                format!("{} at {at_s:.6} s", self.kind(*place).as_str())
            })
            .collect();
        let text = format!(
            "{} of {} under {} with seed {}: {} at {:.6} s; without [{}]: {found}",
            violated.property.as_str(),
            self.case.lock.name,
            self.case.scenario.name,
            self.case.seed,
            violated.cause.as_str(),
            seconds(violated.at_ns),
            removed.join(", "),
        );
        self.result.checks.push(Check {
            cause: violated.cause,
            rule,
            outcome: Outcome::Disagreement,
            text,
        });
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn neighbours(seed: u64) -> impl Iterator<Item = u64> {
    (1..=NEIGHBOURS).map(move |step| seed.wrapping_add(step))
}

/// Returns the violation of a property in `run` if it occurs by `at_ns`, or at most a twentieth of a lease later.
fn still_violated(run: &Judged, property: Property, at_ns: u64) -> Option<(Cause, u64)> {
    let latest_ns = at_ns + run.near_ns();
    run.cause_of(property)
        .filter(|(_, found_ns)| *found_ns <= latest_ns)
}

/// Returns `true` if the property still has this cause. Whether an overlap damages the stock depends on the time of
/// each sale, so the same overlap without damage counts as well.
fn survives(run: &Judged, property: Property, cause: Cause) -> bool {
    run.has(property, cause)
        || property == Property::Resource && run.has(Property::Exclusion, cause)
}

/// Returns `true` if each of these faults fires at the same time in `run`, within a twentieth of a lease.
fn keeps_times(run: &Judged, fired: &[(FaultKind, u64)]) -> bool {
    fired.iter().all(|(kind, at_ns)| {
        let mut same = run.fired().filter(|(it, _)| *it == kind.as_str());
        same.any(|(_, it)| it.abs_diff(*at_ns) <= run.near_ns())
    })
}
