//! The text of the scorecard, which all reports share.

use std::collections::BTreeSet;

use picklock_scenarios::{Cause, Family};

use super::advice::{Basis, Choice, Purpose};
use super::costs::Percentiles;
use super::lock_score::{FamilyScore, Fencing, LockScore};
use super::outcome::ScenarioScore;
use crate::units::{count, span_us};

/// Maximum number of names to list. The rest is counted.
const MAX_NAMES: usize = 4;

/// The outcomes that are not survival, the lock's own fault first, each with its text.
const LOST: [(ScenarioScore, &str); 4] = [
    (ScenarioScore::Lock, "its own fault in"),
    (ScenarioScore::Redis, "Redis lost the lock in"),
    (
        ScenarioScore::Client,
        "a client kept working after its lease in",
    ),
    (ScenarioScore::Undetermined, "fault unknown in"),
];

/// Joins names, such as `a, b and c`.
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

/// Joins names, such as `a, b, c, d and 3 more`.
pub(super) fn named(names: &[String]) -> String {
    match names.split_at_checked(MAX_NAMES) {
        Some((shown, more @ [_, ..])) => format!("{} and {} more", shown.join(", "), more.len()),
        _ => listed(names, "and"),
    }
}

impl Purpose {
    /// Returns the purpose in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Purpose::Money => "For money",
            Purpose::CronJob => "For a cron job",
            Purpose::Uptime => "To keep working without a minority of the servers",
        }
    }
}

impl FamilyScore {
    /// Formats the score, such as `15/16`.
    pub fn describe(self) -> String {
        format!("{}/{}", self.survived, self.judged)
    }
}

impl Fencing {
    /// Returns the text for the column about fencing tokens.
    pub fn as_str(self) -> &'static str {
        match self {
            Fencing::None => "no",
            Fencing::Held => "yes",
            Fencing::Violated => "yes, with exceptions",
        }
    }
}

impl Percentiles {
    /// Formats the percentiles, such as `1 ms / 174 ms`.
    pub fn describe(self) -> String {
        format!("{} / {}", span_us(self.p50_us), span_us(self.p99_us))
    }
}

impl LockScore {
    /// Returns one sentence about the scenarios that the lock survives, and the parties at fault in the others.
    pub fn sentence(&self) -> String {
        let FamilyScore { survived, judged } = self.all;
        let scenarios = count(judged, "scenario");
        let mut parts = vec![match judged {
            0 => "inconclusive".to_owned(),
            _ if survived == judged => format!("survives all of {scenarios}"),
            _ => format!("survives {survived} of {scenarios}"),
        }];
        let fenced = self.scenarios(ScenarioScore::Fenced).len();
        if fenced > 0 {
            parts[0].push_str(&format!(", {fenced} of them by its fencing tokens"));
        }
        for (outcome, blamed) in LOST {
            let scenarios = self.scenarios(outcome);
            if !scenarios.is_empty() {
                parts.push(format!("{blamed} {}", named(scenarios)));
            }
        }
        if !self.not_judged.is_empty() {
            parts.push(format!("inconclusive: {}", named(&self.not_judged)));
        }
        capitalised(&format!("{}.", parts.join("; ")))
    }

    /// Formats the requirements, such as `1 node, no data lost in a failover or a restart`.
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
        // Clocks are listed separately above.
        let lost_in = mishaps(self.harmed_by.iter().filter(|it| **it != Cause::ClockJump));
        if !lost_in.is_empty() {
            needs.push(format!("no data lost in {lost_in}"));
        }
        needs.join(", ")
    }

    /// Formats the commands, such as `1.7, contended 14.7`, or returns `None` if they were not counted.
    pub fn commands(&self) -> Option<String> {
        let free = self.costs.commands.map(|it| format!("{it:.1}"));
        let contended = self.costs.commands_contended;
        let contended = contended.map(|it| format!("contended {it:.1}"));
        let parts: Vec<String> = free.into_iter().chain(contended).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Formats the availability, such as `100 %`, or returns `None` if it was not measured.
    pub fn availability(&self) -> Option<String> {
        let granted = self.costs.granted_without_minority?;
        // Round down, so that only full availability is shown as 100 %.
        Some(format!("{} %", (granted * 1_000.0).floor() / 10.0))
    }

    /// Returns the costs in one sentence, or `None` if nothing was measured.
    pub fn describe_costs(&self) -> Option<String> {
        let costs = &self.costs;
        let mut parts = Vec::new();
        if let Some(commands) = self.commands() {
            parts.push(format!("Commands per acquisition: {commands}"));
        }
        let latencies = [
            (costs.healthy, "healthy"),
            (costs.contended, "contended"),
            (costs.failover, "around a failover"),
        ];
        let latencies: Vec<String> = (latencies.into_iter())
            .filter_map(|(it, when)| Some(format!("{} {when}", it?.describe())))
            .collect();
        if !latencies.is_empty() {
            parts.push(format!(
                "to acquire, median / p99: {}",
                latencies.join(", ")
            ));
        }
        if let Some(share) = self.availability() {
            parts.push(format!("{share} granted without a minority of the nodes"));
        }
        (!parts.is_empty()).then(|| capitalised(&format!("{}.", parts.join("; "))))
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// Returns the event in Redis that must not occur, for a cause that Redis is responsible for.
fn mishap(cause: Cause) -> &'static str {
    match cause {
        Cause::LostOnFailover => "a failover",
        Cause::LostOnRestart | Cause::QuorumErosion => "a restart",
        Cause::ClockJump => "a jump of its clock",
        Cause::Evicted => "an eviction",
        other => other.as_str(),
    }
}

/// Joins the events, such as `a failover or a restart`.
fn mishaps<'a>(causes: impl Iterator<Item = &'a Cause>) -> String {
    let words: BTreeSet<&str> = causes.copied().map(mishap).collect();
    listed(&Vec::from_iter(words), "or")
}

/// Formats a recommendation. `chosen` is the score of the recommended lock.
pub(super) fn advice(purpose: Purpose, choice: &Choice, chosen: Option<&LockScore>) -> String {
    let text = match choice {
        Choice::Lock {
            lock,
            given_no,
            others,
            unfit,
            basis,
        } => {
            let why = chosen.map_or_else(String::new, |score| why(purpose, score, given_no));
            let not_others = why_not_others(purpose, *others, *unfit);
            format!("`{lock}`{why}{not_others} {}", describe_basis(basis))
        }
        Choice::NoneFits { closest } => {
            let why = match purpose {
                Purpose::Money => "with each of them a client or the lock itself caused damage",
                Purpose::CronJob => {
                    "each of them causes damage or blocks all clients by its own fault"
                }
                Purpose::Uptime => "none of them granted any request",
            };
            format!("none of these locks: {why}. `{closest}` comes closest.")
        }
        Choice::NotTried { missing } if missing.is_empty() => {
            "no recommendation: no scenario that measures this was judged.".to_owned()
        }
        Choice::NotTried { missing } => {
            format!(
                "no recommendation: no scenario was judged in these families: {}.",
                families(missing)
            )
        }
    };
    format!("{}: {text}", purpose.as_str())
}

/// Names the recommended lock, or states that there is none.
pub(super) fn pick(choice: &Choice) -> String {
    match choice {
        Choice::Lock { lock, .. } => lock.clone(),
        Choice::NoneFits { .. } => "none of these locks".to_owned(),
        Choice::NotTried { .. } => "no recommendation".to_owned(),
    }
}

/// Returns the reason for a recommendation in half a sentence. `chosen` is the score of the recommended lock.
pub(super) fn reason(purpose: Purpose, choice: &Choice, chosen: Option<&LockScore>) -> String {
    let Some(score) = chosen else {
        return match choice {
            Choice::NoneFits { closest } => format!("; {closest} comes closest"),
            _ => ": too few scenarios were tested".to_owned(),
        };
    };
    match purpose {
        Purpose::Money => ": no client and no fault of its own damaged the stock".to_owned(),
        Purpose::CronJob => {
            let commands = score
                .costs
                .commands
                .map(|it| format!("; {it:.1} commands per acquisition"));
            let commands = commands.unwrap_or_default();
            format!(": no fault of its own, never blocked everyone{commands}")
        }
        Purpose::Uptime => {
            let share = score.availability().unwrap_or_default();
            format!(": granted {share} without a minority")
        }
    }
}

/// Explains the choice of a lock.
fn why(purpose: Purpose, score: &LockScore, given_no: &BTreeSet<Cause>) -> String {
    match purpose {
        Purpose::Money => why_for_money(score, given_no),
        Purpose::CronJob => why_for_a_cron_job(score),
        Purpose::Uptime => {
            let share = score.availability().unwrap_or_default();
            let nodes = count(score.nodes, "node");
            format!(", on {nodes}: {share} of the requests were granted during that time.")
        }
    }
}

fn why_for_money(score: &LockScore, given_no: &BTreeSet<Cause>) -> String {
    let judged = count(score.checked, "scenario");
    let given = match mishaps(given_no.iter()).as_str() {
        "" => String::new(),
        mishaps => format!(", on a Redis that does not lose the lock in {mishaps}"),
    };
    let by = |whose: ScenarioScore| score.harmed.get(&whose).map_or(&[][..], Vec::as_slice);
    let redis = by(ScenarioScore::Redis);
    match redis.len() {
        0 => format!("{given}: the stock was not damaged in any of {judged}."),
        times => format!(
            "{given}. The stock was damaged in {times} of {judged}, because Redis lost the lock ({}).",
            named(redis)
        ),
    }
}

fn why_for_a_cron_job(score: &LockScore) -> String {
    let free = |commands: f64| format!(" and {commands:.1} commands per acquisition");
    let commands = score.costs.commands.map_or_else(String::new, free);
    let times = |outcome| score.scenarios(outcome).len();
    let others = times(ScenarioScore::Client) + times(ScenarioScore::Redis);
    let unknown = times(ScenarioScore::Undetermined);
    let mut ways = vec![
        (others, "through a client or Redis"),
        (unknown, "for unknown reasons"),
    ];
    ways.retain(|(times, _)| *times > 0);
    let judged = count(score.all.judged, "scenario");
    let failed = match ways.as_slice() {
        [] => String::new(),
        [(all, how)] => format!("; it failed in {all} of {judged} {how}"),
        _ => {
            let all: usize = ways.iter().map(|(times, _)| times).sum();
            let ways = ways.iter().map(|(times, how)| format!("{times} {how}"));
            let ways = listed(&Vec::from_iter(ways), "and");
            format!("; it failed in {all} of {judged}: {ways}")
        }
    };
    let nodes = count(score.nodes, "node");
    format!(" suffices, with {nodes}{commands}. It never blocked all clients{failed}.")
}

/// Explains why none of the other locks was chosen. `unfit` of them are not good enough.
fn why_not_others(purpose: Purpose, others: usize, unfit: usize) -> String {
    let fault = match purpose {
        Purpose::Money => "a client or the lock itself caused damage",
        Purpose::CronJob => "the lock itself caused damage, or blocked all clients",
        Purpose::Uptime => "the lock itself caused damage, or no client got it",
    };
    let rest = match purpose {
        Purpose::Money => "allowed no less damage",
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

fn describe_basis(basis: &Basis) -> String {
    let backends: Vec<&str> = basis.backends.iter().map(|it| it.as_str()).collect();
    let untested = match basis.untested.as_slice() {
        [] => String::new(),
        untested => format!("; not tested: {}", families(untested)),
    };
    let (runs, backends) = (count(basis.runs, "run"), backends.join(", "));
    let scenarios = count(basis.scenarios, "scenario");
    format!("Based on {runs} of {scenarios} ({backends}){untested}.")
}

fn families(families: &[Family]) -> String {
    let words: Vec<&str> = families.iter().map(|family| family.as_str()).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_names_are_counted() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|n| format!("s{n}")).collect() };
        assert_eq!(named(&names(1)), "s0");
        assert_eq!(named(&names(3)), "s0, s1 and s2");
        assert_eq!(named(&names(6)), "s0, s1, s2, s3 and 2 more");
    }
}
