//! What the types alone cannot say about a scenario.

mod durations;
mod open_loop;

use std::time::Duration;

use crate::backend_name::BackendName;
use crate::cause::CAUSES;
use crate::fault::{self, FaultPlan};
use crate::lease_duration::LeaseDuration;
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::property::PROPERTIES;
use crate::scenario::{Expectation, OTHERS, Scenario};
use crate::topology::Topology;
use crate::workload::Workload;

/// Most workers, nodes and keys that one run may ask for.
const MOST: usize = 2000;

pub fn scenario(scenario: &Scenario) -> Result<(), Problem> {
    name(&scenario.name)?;
    if scenario.summary.trim().is_empty() {
        return Err(Problem::at(
            &["summary"],
            "the summary is empty; say in a sentence what happens",
        ));
    }
    workload(scenario)?;
    durations::durations(scenario)?;
    extend(&scenario.workload)?;
    clients(&scenario.workload)?;
    open_loop::arrivals(&scenario.workload)?;
    sentinels(scenario)?;
    // A relative ttl has been refused.
    let ttl = scenario.workload.ttl.resolve(Duration::ZERO);
    each_fault(scenario, |plan| durations::of_fault(plan, ttl))?;
    each_fault(scenario, |plan| fault::check(scenario, plan))?;
    expectations(scenario)
}

/// Checks the scenario against the number of nodes that the run will have.
pub fn nodes(scenario: &Scenario, count: usize) -> Result<(), Problem> {
    if let Some(lacking) = scenario.topology.lacks_nodes(count) {
        return Err(Problem::at(&["topology", "min_nodes"], lacking)
            .hint("choose a lock that uses more nodes, such as `redlock`"));
    }
    each_fault(scenario, |plan| fault::check_nodes(plan, count))
}

/// Checks every fault; a problem gets the path to the fault.
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
        return Err(Problem::at(
            &["name"],
            "the name must be up to 64 lower-case letters, digits and `-`",
        ));
    }
    Ok(())
}

/// The numbers of servers.
fn servers(topology: &Topology) -> Result<(), Problem> {
    if let Some(count) = topology
        .nodes
        .filter(|count| *count == 0 || *count > Topology::MOST_NODES)
    {
        return Err(Problem::at(
            &["topology", "nodes"],
            format!("{count} nodes: expected 1 to {}", Topology::MOST_NODES),
        ));
    }
    let too_few = |least: &usize| topology.nodes.is_some_and(|count| count < *least);
    if let Some(least) = topology
        .min_nodes
        .filter(|least| *least == 0 || *least > Topology::MOST_NODES || too_few(least))
    {
        return Err(Problem::at(
            &["topology", "min_nodes"],
            format!(
                "at least {least} nodes: expected 1 to {}, and no more than `nodes`",
                Topology::MOST_NODES
            ),
        ));
    }
    if topology.replicas > Topology::MOST_REPLICAS {
        return Err(Problem::at(
            &["topology", "replicas"],
            format!("at most {} replicas a node", Topology::MOST_REPLICAS),
        ));
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
        if count == 0 || count > MOST {
            return Err(Problem::at(
                &["workload", field],
                format!("{count} {field}: expected 1 to {MOST}"),
            ));
        }
    }
    servers(&scenario.topology)?;
    if workload.purchases == Some(0) {
        return Err(Problem::at(
            &["workload", "purchases"],
            "a buyer that buys nothing: expected 1 or more",
        ));
    }
    if workload.stock < 1 {
        return Err(Problem::at(
            &["workload", "stock"],
            "there must be something to sell: at least 1",
        ));
    }
    let LeaseDuration::Absolute(ttl) = workload.ttl else {
        return Err(Problem::at(
            &["workload", "ttl"],
            "the ttl cannot be relative to itself; expected a time such as \"1s\"",
        ));
    };
    if ttl.as_millis() < 20 {
        return Err(Problem::at(
            &["workload", "ttl"],
            "the ttl must be at least 20ms: a shorter lease is lost in the machine's own jitter",
        ));
    }
    if workload.limit.resolve(ttl).is_zero() {
        return Err(Problem::at(
            &["workload", "limit"],
            "the limit is zero: nothing could happen",
        ));
    }
    Ok(())
}

/// Holders can extend only while they work, and not all the time.
fn extend(workload: &Workload) -> Result<(), Problem> {
    // Any lease will do: a relative ttl has been refused.
    let ttl = workload.ttl.resolve(Duration::from_secs(1));
    let wrong =
        |problem: &str, hint: &str| Err(Problem::at(&["workload", "extend"], problem).hint(hint));
    match workload.extend.map(|extend| extend.resolve(ttl)) {
        Some(extend) if extend.is_zero() => wrong(
            "holders would extend all the time, and never work",
            "such as `extend = \"0.4ttl\"`, or leave it out",
        ),
        Some(extend) if extend >= workload.section.resolve(ttl) => wrong(
            "`extend` is not shorter than `section`: no holder would ever extend",
            "make `section` longer",
        ),
        _ => Ok(()),
    }
}

/// What clients do beside taking the lock and giving it back.
fn clients(workload: &Workload) -> Result<(), Problem> {
    let ttl = workload.ttl.resolve(Duration::ZERO);
    let is_short = |lease: LeaseDuration| lease.resolve(ttl) < Duration::from_millis(1);
    if let Some(lease) = workload.reenter.filter(|lease| is_short(*lease)) {
        return Err(Problem::at(
            &["workload", "reenter"],
            format!("a lease of {lease}: expected 1ms or more"),
        ));
    }
    let left = usize::try_from(workload.ending_clients)
        .ok()
        .and_then(|ending| workload.workers.checked_sub(ending));
    if workload.ending_clients > 0 && left.unwrap_or(0) < 2 {
        return Err(Problem::at(
            &["workload", "ending_clients"],
            "fewer than two buyers are left to compete for the lock",
        )
        .hint("more `workers`"));
    }
    Ok(())
}

/// Sentinels need a replica to promote, a majority, and a backend that has them.
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
        return wrong(problem, "fewer have no majority left when one is gone");
    }
    if topology.replicas == 0 {
        let problem = "the sentinels need a replica to promote, and the nodes have none".to_owned();
        return wrong(problem, "set `topology.replicas = 1`");
    }
    if scenario.runs_in(BackendName::Sim) {
        let problem = "the simulation has no sentinels".to_owned();
        return wrong(problem, "say so: `backends = [\"process\", \"docker\"]`");
    }
    Ok(())
}

fn expectations(scenario: &Scenario) -> Result<(), Problem> {
    for (lock, expected) in &scenario.expect {
        for (property, expectation) in expected {
            let path = ["expect", lock.as_str(), property.as_str()];
            if property != OTHERS {
                known_word(property, PROPERTIES, "property", &path)?;
            }
            if let Expectation::Violated { cause: Some(cause) } = expectation {
                known_word(cause, CAUSES, "cause", &path)?;
            }
        }
    }
    Ok(())
}

fn known_word(word: &str, known: &[&str], what: &str, path: &[&str]) -> Result<(), Problem> {
    if known.contains(&word) {
        return Ok(());
    }
    let problem = Problem::at(
        path,
        format!(
            "`{word}` is no {what}; expected one of {}",
            known.join(", ")
        ),
    );
    Err(match did_you_mean(word, known.iter().copied()) {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_cannot_do_what_is_asked_are_refused() {
        for (line, said) in [
            ("reenter = \"0s\"", "a lease of 0s: expected 1ms or more"),
            ("ending_clients = 2", "fewer than two buyers are left"),
            ("cancel = \"9000h\"", "9000h"),
        ] {
            let text = format!("name = \"mine\"\nsummary = \"Mine.\"\n[workload]\n{line}\n");
            let error = Scenario::parse(&text, "mine.toml").unwrap_err().to_string();
            assert!(error.contains("mine.toml:4:"), "{error}");
            assert!(error.contains(said), "{error}");
        }
    }
}
