//! Checks of a scenario that its types cannot express.

mod durations;
mod leader;
mod locks;
mod open_loop;
mod permits;
mod read_write;
mod ticks;

use std::time::Duration;

use crate::backend_name::BackendName;
use crate::fault::{self, FaultPlan};
use crate::lease_duration::LeaseDuration;
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::property::PROPERTIES;
use crate::scenario::{OTHERS, Scenario};
use crate::topology::Topology;
use crate::workload::Workload;

/// Maximum number of workers, of keys and of processes in one run.
const MAX_COUNT: usize = 2000;

pub fn scenario(scenario: &Scenario) -> Result<(), Problem> {
    name(&scenario.name)?;
    if scenario.summary.trim().is_empty() {
        let text = "the summary is empty; describe in a sentence what happens";
        return Err(Problem::at(&["summary"], text));
    }
    workload(scenario)?;
    durations::durations(scenario)?;
    extend(&scenario.workload)?;
    clients(&scenario.workload)?;
    open_loop::arrivals(&scenario.workload)?;
    permits::permits(scenario)?;
    read_write::read_write(scenario)?;
    ticks::ticks(scenario)?;
    leader::leader(scenario)?;
    locks::locks(scenario)?;
    sentinels(scenario)?;
    // At this point the ttl is known to be absolute.
    let ttl = scenario.workload.ttl.resolve(Duration::ZERO);
    each_fault(scenario, |plan| durations::fault_durations(plan, ttl))?;
    each_fault(scenario, |plan| fault::check(scenario, plan))?;
    expectations(scenario)
}

/// Checks the scenario against the number of nodes of the run.
pub fn nodes(scenario: &Scenario, count: usize) -> Result<(), Problem> {
    if let Some(lacking) = scenario.topology.lacks_nodes(count) {
        return Err(Problem::at(&["topology", "min_nodes"], lacking)
            .hint("choose a lock that uses more nodes, such as `redlock`"));
    }
    each_fault(scenario, |plan| fault::check_nodes(plan, count))
}

/// Checks every fault. A problem gets the path of its fault.
fn each_fault(
    scenario: &Scenario,
    check: impl Fn(&FaultPlan) -> Result<(), Problem>,
) -> Result<(), Problem> {
    for (index, plan) in scenario.faults.iter().enumerate() {
        check(plan).map_err(|mut problem| {
            let path = ["fault".to_owned(), index.to_string()];
            problem.path.splice(0..0, path);
            problem
        })?;
    }
    Ok(())
}

fn name(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let text = "the name must be up to 64 lower-case letters, digits and `-`";
        return Err(Problem::at(&["name"], text));
    }
    Ok(())
}

/// Checks the numbers of servers.
fn servers(topology: &Topology) -> Result<(), Problem> {
    let max = Topology::MAX_NODES;
    let is_out_of_range = |count: &usize| *count == 0 || *count > max;
    if let Some(count) = topology.nodes.filter(is_out_of_range) {
        let text = format!("{count} nodes: expected 1 to {max}");
        return Err(Problem::at(&["topology", "nodes"], text));
    }
    let too_few = |least: &usize| topology.nodes.is_some_and(|count| count < *least);
    let is_wrong = |least: &usize| is_out_of_range(least) || too_few(least);
    if let Some(least) = topology.min_nodes.filter(is_wrong) {
        let text = format!("at least {least} nodes: expected 1 to {max}, and no more than `nodes`");
        return Err(Problem::at(&["topology", "min_nodes"], text));
    }
    if topology.replicas > Topology::MAX_REPLICAS {
        let text = format!(
            "expected at most {} replicas per node",
            Topology::MAX_REPLICAS
        );
        return Err(Problem::at(&["topology", "replicas"], text));
    }
    Ok(())
}

fn workload(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let counted = [
        ("workers", workload.workers),
        ("keys", workload.keys),
        ("processes", workload.processes.unwrap_or(1)),
    ];
    for (field, count) in counted {
        if count == 0 || count > MAX_COUNT {
            let text = format!("{count} {field}: expected 1 to {MAX_COUNT}");
            return Err(Problem::at(&["workload", field], text));
        }
    }
    servers(&scenario.topology)?;
    if workload.purchases == Some(0) {
        let text = "purchases of 0: expected 1 or more";
        return Err(Problem::at(&["workload", "purchases"], text));
    }
    if workload.stock < 1 {
        let text = "the stock must be at least 1";
        return Err(Problem::at(&["workload", "stock"], text));
    }
    let LeaseDuration::Absolute(ttl) = workload.ttl else {
        let text = "the ttl cannot be relative to itself; expected a time such as \"1s\"";
        return Err(Problem::at(&["workload", "ttl"], text));
    };
    if ttl.as_millis() < 20 {
        let text =
            "the ttl must be at least 20ms: a shorter lease is less than the machine's jitter";
        return Err(Problem::at(&["workload", "ttl"], text));
    }
    if workload.limit.resolve(ttl).is_zero() {
        let text = "the limit is zero: nothing could happen";
        return Err(Problem::at(&["workload", "limit"], text));
    }
    Ok(())
}

/// Checks that the interval of extensions is shorter than the section, and is not zero.
fn extend(workload: &Workload) -> Result<(), Problem> {
    // Any lease will do here, because the ttl is known to be absolute.
    let ttl = workload.ttl.resolve(Duration::from_secs(1));
    let wrong =
        |problem: &str, hint: &str| Err(Problem::at(&["workload", "extend"], problem).hint(hint));
    match workload.extend.map(|extend| extend.resolve(ttl)) {
        Some(extend) if extend.is_zero() => wrong(
            "holders would extend all the time, and never work",
            "use for example `extend = \"0.4ttl\"`, or omit it",
        ),
        Some(extend) if extend >= workload.section.resolve(ttl) => wrong(
            "`extend` is not shorter than `section`: no holder would ever extend",
            "make `section` longer",
        ),
        _ => Ok(()),
    }
}

/// Checks the settings for actions of clients besides acquiring and releasing the lock.
fn clients(workload: &Workload) -> Result<(), Problem> {
    let ttl = workload.ttl.resolve(Duration::ZERO);
    let is_short = |lease: LeaseDuration| lease.resolve(ttl) < Duration::from_millis(1);
    if let Some(lease) = workload.reenter.filter(|lease| is_short(*lease)) {
        let text = format!("a lease of {lease}: expected 1ms or more");
        return Err(Problem::at(&["workload", "reenter"], text));
    }
    let ending = workload.ending_clients as usize;
    if ending > 0 && workload.workers.saturating_sub(ending) < 2 {
        let text = "fewer than two buyers are left to compete for the lock";
        return Err(Problem::at(&["workload", "ending_clients"], text).hint("more `workers`"));
    }
    Ok(())
}

/// Checks that Sentinels have a replica to promote, a majority, and a backend that supports them.
fn sentinels(scenario: &Scenario) -> Result<(), Problem> {
    let topology = &scenario.topology;
    if topology.sentinels == 0 {
        return Ok(());
    }
    let wrong = |problem: String, hint: &str| {
        Err(Problem::at(&["topology", "sentinels"], problem).hint(hint))
    };
    if topology.sentinels < 3 || topology.sentinels > 7 {
        let problem = format!("{} sentinels: expected 3 to 7", topology.sentinels);
        return wrong(problem, "with fewer, no majority is left if one fails");
    }
    if topology.replicas == 0 {
        let problem = "the sentinels need a replica to promote, and the nodes have none".to_owned();
        return wrong(problem, "set `topology.replicas = 1`");
    }
    if scenario.runs_in(BackendName::Sim) {
        let problem = "the simulation has no sentinels".to_owned();
        return wrong(problem, "add `backends = [\"process\", \"docker\"]`");
    }
    Ok(())
}

fn expectations(scenario: &Scenario) -> Result<(), Problem> {
    for (lock, expected) in &scenario.expect {
        for property in expected.keys() {
            let path = ["expect", lock.as_str(), property.as_str()];
            if property != OTHERS {
                known_word(property, PROPERTIES, "property", &path)?;
            }
        }
    }
    Ok(())
}

fn known_word(word: &str, known: &[&str], what: &str, path: &[&str]) -> Result<(), Problem> {
    if known.contains(&word) {
        return Ok(());
    }
    let known_words = known.join(", ");
    let text = format!("`{word}` is not a known {what}; expected one of {known_words}");
    Err(Problem {
        hint: did_you_mean(word, known.iter().copied()),
        ..Problem::at(path, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_client_behaviour_is_rejected() {
        for (line, expected) in [
            ("reenter = \"0s\"", "a lease of 0s: expected 1ms or more"),
            ("ending_clients = 2", "fewer than two buyers are left"),
            ("cancel = \"9000h\"", "9000h"),
            ("locks_each = 2", "there is only one"),
            ("names = [\"a\", \"b\"]", "2 names for 1 locks"),
        ] {
            let text = format!("name = \"mine\"\nsummary = \"Mine.\"\n[workload]\n{line}\n");
            let error = Scenario::parse(&text, "mine.toml").unwrap_err().to_string();
            assert!(error.contains("mine.toml:4:"), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
}
