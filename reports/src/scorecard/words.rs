//! The words of the scorecard, for all reports.

use std::collections::BTreeSet;

use picklock_scenarios::{Cause, Family};

use super::advice::{Basis, Choice, Purpose};
use super::costs::Percentiles;
use super::lock_score::{FamilyScore, Fencing, LockScore};
use super::outcome::ScenarioScore;
use crate::units::{count, span_us};

/// Further names are only counted.
const MOST_NAMES: usize = 4;

/// `a, b and c`.
fn listed<T: AsRef<str>>(names: &[T], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [others @ .., end] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", others.join(", "), end.as_ref())
        }
    }
}

/// `a, b, c, d and 3 more`.
fn named(names: &[String]) -> String {
    match names.len().checked_sub(MOST_NAMES) {
        Some(more @ 1..) => {
            let shown = names[..MOST_NAMES].join(", ");
            format!("{shown} and {more} more")
        }
        _ => listed(names, "and"),
    }
}

impl Purpose {
    fn words(self) -> &'static str {
        match self {
            Purpose::Money => "For money",
            Purpose::CronJob => "For a cron job",
            Purpose::Uptime => "To go on while a minority of the servers is gone",
        }
    }
}

impl FamilyScore {
    /// `15/16`.
    pub fn in_words(self) -> String {
        format!("{}/{}", self.survived, self.judged)
    }
}

impl Fencing {
    /// Whether there are tokens.
    pub fn words(self) -> &'static str {
        match self {
            Fencing::None => "no",
            Fencing::Held => "yes",
            Fencing::Violated => "yes, with exceptions",
        }
    }
}

impl Percentiles {
    /// `1 ms / 174 ms`.
    pub fn in_words(self) -> String {
        format!("{} / {}", span_us(self.p50_us), span_us(self.p99_us))
    }
}

impl LockScore {
    /// What it survives and whose fault the rest is, in one sentence.
    pub fn sentence(&self) -> String {
        let FamilyScore { survived, judged } = self.all;
        let mut parts = vec![match judged {
            0 => "nothing could be judged".to_owned(),
            _ if survived == judged => {
                format!("survives all of {}", count(judged, "scenario"))
            }
            _ => format!("survives {survived} of {}", count(judged, "scenario")),
        }];
        let fenced = self.scenarios(ScenarioScore::Fenced).len();
        if fenced > 0 {
            parts[0].push_str(&format!(", {fenced} of them by its fencing tokens"));
        }
        for outcome in ScenarioScore::LOST {
            let scenarios = self.scenarios(outcome);
            if !scenarios.is_empty() {
                parts.push(format!("{} {}", blamed(outcome), named(scenarios)));
            }
        }
        if !self.not_judged.is_empty() {
            parts.push(format!("not judged: {}", named(&self.not_judged)));
        }
        capitalised(&format!("{}.", parts.join("; ")))
    }

    /// `1 node, no data lost in a failover or a restart`.
    pub fn needs(&self) -> String {
        let mut needs = vec![count(self.nodes, "node")];
        if self.replicas > 0 {
            needs.push(format!("{} of each", count(self.replicas, "replica")));
        }
        if self.trusts_server_clocks {
            needs.push("server clocks that do not jump".to_owned());
        }
        if self.trusts_client_clocks {
            needs.push("client clocks that agree".to_owned());
        }
        // The clock has a line of its own.
        let lost_in = mishaps(self.harmed_by.iter().filter(|it| **it != Cause::ClockJump));
        if !lost_in.is_empty() {
            needs.push(format!("no data lost in {lost_in}"));
        }
        needs.join(", ")
    }

    /// `1.7, contended 14.7`; `None`: they were not counted.
    pub fn commands(&self) -> Option<String> {
        let one = |commands: f64| format!("{commands:.1}");
        match (self.costs.commands, self.costs.commands_contended) {
            (Some(free), Some(contended)) => {
                Some(format!("{}, contended {}", one(free), one(contended)))
            }
            (Some(free), None) => Some(one(free)),
            (None, Some(contended)) => Some(format!("contended {}", one(contended))),
            (None, None) => None,
        }
    }

    /// `100 %`; `None`: not measured.
    pub fn availability(&self) -> Option<String> {
        let granted = self.costs.granted_without_minority?;
        // Never rounded up to all of them.
        Some(format!("{} %", (granted * 1_000.0).floor() / 10.0))
    }

    /// What it costs, in one sentence; `None`: nothing was measured.
    pub fn costs_in_words(&self) -> Option<String> {
        let costs = &self.costs;
        let mut parts = Vec::new();
        let commands = self.commands();
        parts.extend(commands.map(|it| format!("Commands for each acquisition: {it}")));
        let latencies = [
            (costs.healthy, "healthy"),
            (costs.contended, "contended"),
            (costs.failover, "around a failover"),
        ];
        let latencies = latencies.into_iter();
        let latencies =
            latencies.filter_map(|(it, when)| Some(format!("{} {when}", it?.in_words())));
        let latencies: Vec<String> = latencies.collect();
        if !latencies.is_empty() {
            parts.push(format!(
                "to acquire, median / p99: {}",
                latencies.join(", ")
            ));
        }
        let availability = self.availability();
        parts
            .extend(availability.map(|it| format!("{it} granted without a minority of the nodes")));
        (!parts.is_empty()).then(|| capitalised(&format!("{}.", parts.join("; "))))
    }
}

fn blamed(outcome: ScenarioScore) -> &'static str {
    match outcome {
        ScenarioScore::Lock => "its own fault in",
        ScenarioScore::Redis => "Redis lost the lock in",
        ScenarioScore::Client => "a client went on too long in",
        ScenarioScore::Outside => "harmed outside the lock in",
        ScenarioScore::Undetermined => "not explained in",
        ScenarioScore::Held => "held in",
        ScenarioScore::Fenced => "saved by fencing in",
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// What Redis must not do, for the causes that it is responsible for.
fn mishap(cause: Cause) -> &'static str {
    match cause {
        Cause::LostOnFailover => "a failover",
        Cause::LostOnRestart | Cause::QuorumErosion => "a restart",
        Cause::ClockJump => "a jump of its clock",
        Cause::Evicted => "an eviction",
        other => other.word(),
    }
}

/// `a failover or a restart`.
fn mishaps<'a>(causes: impl Iterator<Item = &'a Cause>) -> String {
    let words: BTreeSet<&str> = causes.copied().map(mishap).collect();
    let words: Vec<&str> = words.into_iter().collect();
    listed(&words, "or")
}

/// An advice in words. `chosen`: the lock that is named.
pub(super) fn advice(purpose: Purpose, choice: &Choice, chosen: Option<&LockScore>) -> String {
    let said = match choice {
        Choice::Lock {
            lock,
            given_no,
            others,
            unfit,
            basis,
        } => {
            let why = chosen.map_or_else(String::new, |score| why(purpose, score, given_no));
            let not_others = why_not_others(purpose, *others, *unfit);
            format!("`{lock}`{why}{not_others} {}", rests_on(basis))
        }
        Choice::NoneFits { closest } => {
            let why = match purpose {
                Purpose::Money => "with each of them a client or the lock itself did harm",
                Purpose::CronJob => {
                    "each of them does harm or keeps everybody out by its own fault"
                }
                Purpose::Uptime => "none of them granted anything",
            };
            format!("none of these locks; {why}. `{closest}` comes closest.")
        }
        Choice::NotTried { missing } if missing.is_empty() => {
            "no advice; no scenario that shows it was judged.".to_owned()
        }
        Choice::NotTried { missing } => {
            format!("no advice; nothing was judged of: {}.", families(missing))
        }
    };
    format!("{}: {said}", purpose.words())
}

/// Why this lock.
fn why(purpose: Purpose, score: &LockScore, given_no: &BTreeSet<Cause>) -> String {
    match purpose {
        Purpose::Money => why_for_money(score, given_no),
        Purpose::CronJob => why_for_a_cron_job(score),
        Purpose::Uptime => {
            let share = score.availability().unwrap_or_default();
            format!(
                ", on {}: {share} of the requests were granted meanwhile.",
                count(score.nodes, "node")
            )
        }
    }
}

fn why_for_money(score: &LockScore, given_no: &BTreeSet<Cause>) -> String {
    let judged = count(score.all.judged, "scenario");
    let given = match given_no.is_empty() {
        true => String::new(),
        false => format!(
            ", on a Redis that does not lose the lock in {}",
            mishaps(given_no.iter())
        ),
    };
    let ways = [
        (ScenarioScore::Redis, "because Redis had lost the lock"),
        (
            ScenarioScore::Outside,
            "outside of the lock, which no lock prevents",
        ),
    ];
    let ways = ways.map(|(by, how)| (score.harmed.get(&by).map_or(&[][..], Vec::as_slice), how));
    let times: usize = ways.iter().map(|(names, _)| names.len()).sum();
    let ways = ways.iter().filter(|(names, _)| !names.is_empty());
    let ways: Vec<String> = ways
        .map(|(names, how)| {
            let when = match names.len() {
                part if part < times => format!("in {part}"),
                _ => "each time".to_owned(),
            };
            format!("{when} {how} ({})", named(names))
        })
        .collect();
    let harm = match times {
        0 => format!("{given}: what it protects came to no harm in any of {judged}."),
        _ => format!(
            "{given}. What it protects came to harm in {times} of {judged}, {}.",
            listed(&ways, "and")
        ),
    };
    match score.scenarios(ScenarioScore::Lock) {
        [] => harm,
        own => format!(
            "{harm} It failed by its own fault in {}, without harm.",
            named(own)
        ),
    }
}

fn why_for_a_cron_job(score: &LockScore) -> String {
    let free = |commands: f64| format!(" and {commands:.1} commands for each acquisition");
    let commands = score.costs.commands.map_or_else(String::new, free);
    let times = |outcomes: &[ScenarioScore]| -> usize {
        outcomes.iter().map(|it| score.scenarios(*it).len()).sum()
    };
    let own = format!(
        "by its own fault ({})",
        named(score.scenarios(ScenarioScore::Lock))
    );
    let ways = [
        (
            times(&[ScenarioScore::Client, ScenarioScore::Redis]),
            "through a client or Redis",
        ),
        (times(&[ScenarioScore::Outside]), "outside of the lock"),
        (times(&[ScenarioScore::Lock]), own.as_str()),
        (
            times(&[ScenarioScore::Undetermined]),
            "for reasons that are not known",
        ),
    ];
    let ways = ways.iter().filter(|(times, _)| *times > 0);
    let ways: Vec<(usize, &str)> = ways.copied().collect();
    let judged = count(score.all.judged, "scenario");
    let failed = match ways.as_slice() {
        [] => String::new(),
        [(all, how)] => format!("; it failed in {all} of {judged} {how}"),
        _ => {
            let ways: Vec<String> = ways
                .iter()
                .map(|(times, how)| format!("{times} {how}"))
                .collect();
            let all = times(&ScenarioScore::LOST);
            format!("; it failed in {all} of {judged}: {}", listed(&ways, "and"))
        }
    };
    format!(
        " suffices, with {}{commands}. It never kept everybody out{failed}.",
        count(score.nodes, "node")
    )
}

/// Why none of the others, of which so many are not good enough.
fn why_not_others(purpose: Purpose, others: usize, unfit: usize) -> String {
    let fault = match purpose {
        Purpose::Money => "a client or the lock itself did harm",
        Purpose::CronJob => "the lock itself did harm, or kept everybody out",
        Purpose::Uptime => "the lock itself did harm, or nobody got it",
    };
    let rest = match purpose {
        Purpose::Money => "came to no less harm",
        Purpose::CronJob => "cost no less, or failed more often by their own fault",
        Purpose::Uptime => "did no better",
    };
    match (others, unfit) {
        (0, _) => String::new(),
        (1, 0) => format!(" The other one {rest}."),
        (_, 0) => format!(" The {others} others {rest}."),
        (1, _) => format!(" With the other one {fault}."),
        _ if unfit == others => format!(" With each of the {others} others {fault}."),
        _ => format!(" With {unfit} of the {others} others {fault}; the rest {rest}."),
    }
}

fn rests_on(basis: &Basis) -> String {
    let backends: Vec<&str> = basis
        .backends
        .iter()
        .map(|backend| backend.word())
        .collect();
    let untried = match basis.untried.as_slice() {
        [] => String::new(),
        untried => format!("; not tried: {}", families(untried)),
    };
    format!(
        "Rests on {} of {} ({}){untried}.",
        count(basis.runs, "run"),
        count(basis.scenarios, "scenario"),
        backends.join(", ")
    )
}

fn families(families: &[Family]) -> String {
    let words: Vec<&str> = families.iter().map(|family| family.word()).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|n| format!("s{n}")).collect() };
        assert_eq!(named(&names(1)), "s0");
        assert_eq!(named(&names(3)), "s0, s1 and s2");
        assert_eq!(named(&names(6)), "s0, s1, s2, s3 and 2 more");
    }
}
