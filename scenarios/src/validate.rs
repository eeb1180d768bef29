//! What the types alone cannot say about a scenario.

mod open_loop;

use std::time::Duration;

use crate::cause::CAUSES;
use crate::fault::{EventKind, FaultKind, FaultPlan, Nodes, Trigger, Who, Workers};
use crate::nearest::nearest;
use crate::property::PROPERTIES;
use crate::scenario::{Expectation, Scenario};
use crate::span::Span;
use crate::world_name::WorldName;

/// Most workers, nodes and keys that one run may ask for.
const MOST: usize = 2000;

/// One thing that is wrong, and the path to it in the file.
pub struct Fault {
    pub path: Vec<String>,
    pub problem: String,
    pub hint: Option<String>,
}

impl Fault {
    fn at(path: &[&str], problem: impl Into<String>) -> Self {
        Fault {
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            problem: problem.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The path as people write it: `fault[0].when`.
    pub fn path_text(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            if part.parse::<usize>().is_ok() {
                text.push_str(&format!("[{part}]"));
            } else {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(part);
            }
        }
        text
    }
}

pub fn scenario(scenario: &Scenario) -> Result<(), Fault> {
    name(&scenario.name)?;
    if scenario.summary.trim().is_empty() {
        return Err(Fault::at(
            &["summary"],
            "the summary is empty; say in a sentence what happens",
        ));
    }
    workload(scenario)?;
    open_loop::arrivals(&scenario.workload)?;
    sentinels(scenario)?;
    for (index, plan) in scenario.faults.iter().enumerate() {
        fault(scenario, plan).map_err(|mut fault| {
            fault
                .path
                .splice(0..0, ["fault".to_owned(), index.to_string()]);
            fault
        })?;
    }
    expectations(scenario)
}

/// Holds the faults against the number of nodes that the run will have.
pub fn nodes(scenario: &Scenario, count: usize) -> Result<(), Fault> {
    if let Some(least) = scenario.topology.min_nodes.filter(|least| *least > count) {
        return Err(Fault::at(
            &["topology", "min_nodes"],
            format!("the scenario is about {least} nodes or more, and the run has {count}"),
        )
        .hint("choose a subject that uses more nodes, such as `redlock`"));
    }
    for (index, plan) in scenario.faults.iter().enumerate() {
        let index = index.to_string();
        let listed = match &plan.nodes {
            Some(Nodes::List(list)) => list.as_slice(),
            _ => &[],
        };
        let watched = plan.when.as_ref().and_then(|when| when.node);
        if let Some(node) = listed
            .iter()
            .copied()
            .chain(watched)
            .find(|node| *node >= count)
        {
            return Err(Fault::at(
                &["fault", &index, "nodes"],
                format!("node {node} is wanted, but the run has {count}, numbered from 0"),
            )
            .hint("set `topology.nodes`, or choose a subject that uses more nodes"));
        }
    }
    Ok(())
}

fn name(name: &str) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(Fault::at(
            &["name"],
            "the name must be up to 64 lower-case letters, digits and `-`",
        ));
    }
    Ok(())
}

fn workload(scenario: &Scenario) -> Result<(), Fault> {
    let workload = &scenario.workload;
    let counted = [("workers", workload.workers), ("keys", workload.keys)];
    for (field, count) in counted {
        if count == 0 || count > MOST {
            return Err(Fault::at(
                &["workload", field],
                format!("{count} {field}: expected 1 to {MOST}"),
            ));
        }
    }
    if let Some(count) = scenario
        .topology
        .nodes
        .filter(|count| *count == 0 || *count > 64)
    {
        return Err(Fault::at(
            &["topology", "nodes"],
            format!("{count} nodes: expected 1 to 64"),
        ));
    }
    let too_few = |least: &usize| scenario.topology.nodes.is_some_and(|count| count < *least);
    if let Some(least) = scenario
        .topology
        .min_nodes
        .filter(|least| *least == 0 || *least > 64 || too_few(least))
    {
        return Err(Fault::at(
            &["topology", "min_nodes"],
            format!("at least {least} nodes: expected 1 to 64, and no more than `nodes`"),
        ));
    }
    if scenario.topology.replicas > 8 {
        return Err(Fault::at(
            &["topology", "replicas"],
            "at most 8 replicas a node",
        ));
    }
    if workload.purchases == Some(0) {
        return Err(Fault::at(
            &["workload", "purchases"],
            "a buyer that wants nothing: expected 1 or more",
        ));
    }
    if workload.stock < 1 {
        return Err(Fault::at(
            &["workload", "stock"],
            "there must be something to sell: at least 1",
        ));
    }
    let Span::Absolute(ttl) = workload.ttl else {
        return Err(Fault::at(
            &["workload", "ttl"],
            "the ttl cannot be relative to itself; expected a time such as \"1s\"",
        ));
    };
    if ttl.as_millis() < 20 {
        return Err(Fault::at(
            &["workload", "ttl"],
            "the ttl must be at least 20ms: a shorter lease is lost in the machine's own jitter",
        ));
    }
    if workload.limit.resolve(ttl).is_zero() {
        return Err(Fault::at(
            &["workload", "limit"],
            "the limit is zero: nothing could happen",
        ));
    }
    Ok(())
}

/// What Sentinels need: somebody to promote, a majority, and a world that has them.
fn sentinels(scenario: &Scenario) -> Result<(), Fault> {
    let topology = &scenario.topology;
    if topology.sentinels == 0 {
        return Ok(());
    }
    let wrong = |problem: String, hint: &str| {
        Err(Fault::at(&["topology", "sentinels"], problem).hint(hint))
    };
    if topology.sentinels < 3 || topology.sentinels > 7 {
        let problem = format!("{} sentinels: expected 3 to 7", topology.sentinels);
        return wrong(problem, "fewer have no majority left when one is gone");
    }
    if topology.replicas == 0 {
        let problem = "the sentinels need a replica to promote, and the nodes have none".to_owned();
        return wrong(problem, "set `topology.replicas = 1`");
    }
    if scenario.runs_in(WorldName::Sim) {
        let problem = "the simulation has no sentinels".to_owned();
        return wrong(problem, "say so: `worlds = [\"process\", \"docker\"]`");
    }
    Ok(())
}

fn fault(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Fault> {
    match (&plan.at, &plan.when) {
        (None, None) => {
            return Err(Fault::at(&["kind"], "this fault has no moment").hint(
                "give `at = \"500ms\"`, or an event such as `when = { on = \"stock-read\", stock = 1 }`",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Fault::at(
                &["at"],
                "both `at` and `when` are given; expected one of them",
            ));
        }
        _ => {}
    }
    if let Some(when) = &plan.when {
        trigger(scenario, when)?;
    }
    shape(plan)?;
    let replicated = matches!(plan.kind, FaultKind::CutReplication | FaultKind::Failover);
    if replicated && scenario.topology.replicas == 0 {
        return Err(Fault::at(
            &["kind"],
            format!(
                "`{}` needs a replica, and the nodes have none",
                plan.kind.word()
            ),
        )
        .hint("set `topology.replicas = 1`"));
    }
    if plan.kind == FaultKind::Failover && scenario.topology.sentinels > 0 {
        return Err(Fault::at(
            &["kind"],
            "`failover` leaves out the Sentinels, who would not know of it",
        )
        .hint("use `sentinel-failover`"));
    }
    if plan.kind == FaultKind::SentinelFailover && scenario.topology.sentinels == 0 {
        return Err(Fault::at(
            &["kind"],
            "`sentinel-failover` needs Sentinels, and there are none",
        )
        .hint("set `topology.sentinels = 3`"));
    }
    keys(scenario, plan)?;
    targets(scenario, plan)
}

fn trigger(scenario: &Scenario, when: &Trigger) -> Result<(), Fault> {
    if when.nth == 0 {
        return Err(Fault::at(&["when", "nth"], "events are counted from 1"));
    }
    let on_the_wire = matches!(when.on, EventKind::Request | EventKind::Reply);
    let wire_only = [
        ("node", when.node.is_some()),
        ("command", when.command.is_some()),
        ("names_key", when.names_key),
        ("during", when.during.is_some()),
    ];
    if let Some((field, _)) = wire_only.iter().find(|(_, given)| *given && !on_the_wire) {
        return Err(Fault::at(
            &["when", field],
            format!(
                "`{field}` tells commands apart; it goes with `on = \"request\"` or `on = \"reply\"`"
            ),
        ));
    }
    if when.success && when.on != EventKind::Reply {
        return Err(Fault::at(
            &["when", "success"],
            "`success` goes with `on = \"reply\"`",
        ));
    }
    let about_stock = matches!(when.on, EventKind::StockRead | EventKind::StockChanged);
    if when.stock.is_some() && !about_stock {
        return Err(Fault::at(
            &["when", "stock"],
            "`stock` goes with `on = \"stock-read\"` or `on = \"stock-changed\"`",
        ));
    }
    match when.worker {
        Some(worker) => known_worker(scenario, worker, &["when", "worker"]),
        None => Ok(()),
    }
}

/// The fields of a kind of fault, those that it cannot do without first.
fn fields(kind: FaultKind) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        FaultKind::PauseClient => (&["for"], &["workers"]),
        FaultKind::CrashClient => (&[], &["for", "workers"]),
        FaultKind::Delay => (
            &["by"],
            &["jitter", "for", "workers", "nodes", "direction", "frames"],
        ),
        FaultKind::Drop | FaultKind::Hold => {
            (&[], &["for", "workers", "nodes", "direction", "frames"])
        }
        FaultKind::Cut => (&[], &["workers", "nodes"]),
        FaultKind::Partition => (&[], &["for", "workers", "nodes", "direction"]),
        FaultKind::PauseNode => (&["for"], &["nodes"]),
        FaultKind::CrashNode => (&[], &["for", "nodes"]),
        FaultKind::CutReplication | FaultKind::Failover => (&[], &["nodes"]),
        FaultKind::Evict => (&[], &["keys", "nodes"]),
        FaultKind::FlushAll | FaultKind::FlushScripts => (&[], &["nodes"]),
        FaultKind::Exhaust => (&["what"], &["for", "nodes"]),
        FaultKind::ClockJump => (&["by"], &["for", "nodes"]),
        FaultKind::ClockSkew => (&["by"], &["for", "workers"]),
        FaultKind::SentinelFailover => (&[], &["for", "nodes"]),
    }
}

/// Holds the fields that are given against those that the kind of fault has.
fn shape(plan: &FaultPlan) -> Result<(), Fault> {
    let given = [
        ("by", plan.by.is_some()),
        ("jitter", plan.jitter.is_some()),
        ("frames", plan.frames.is_some()),
        ("direction", plan.direction.is_some()),
        ("for", plan.duration.is_some()),
        ("workers", plan.workers.is_some()),
        ("nodes", plan.nodes.is_some()),
        ("keys", plan.keys.is_some()),
        ("what", plan.what.is_some()),
    ];
    let word = plan.kind.word();
    let (required, optional) = fields(plan.kind);
    for (field, present) in given {
        let needed = required.contains(&field);
        if present && !needed && !optional.contains(&field) {
            let takes = [required, optional].concat().join(", ");
            return Err(
                Fault::at(&[field], format!("`{word}` has no `{field}`")).hint(format!(
                    "besides its moment and `optional` it takes {takes}"
                )),
            );
        }
        if !present && needed {
            let such_as = match field {
                "what" => "add `what = \"memory\"` or `what = \"connections\"`".to_owned(),
                _ => format!("add `{field} = \"1.5ttl\"`"),
            };
            return Err(Fault::at(&["kind"], format!("`{word}` needs `{field}`")).hint(such_as));
        }
    }
    if let Some(by) = plan.by {
        // A span relative to the lease is nothing only where its factor is, whatever the lease.
        let nothing = by.span.resolve(Duration::from_secs(1)).is_zero();
        if nothing && plan.kind.is_of_a_clock() {
            return Err(Fault::at(&["by"], "by nothing: the fault would do nothing"));
        }
        if by.back && !plan.kind.is_of_a_clock() {
            return Err(Fault::at(
                &["by"],
                format!("`{word}` cannot lead back; only a clock can be set to an earlier time"),
            ));
        }
    }
    if plan.frames == Some(0) {
        return Err(Fault::at(
            &["frames"],
            "no frames: the fault would do nothing",
        ));
    }
    Ok(())
}

/// Which locks' keys an eviction takes.
fn keys(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Fault> {
    let Some(keys) = &plan.keys else {
        return Ok(());
    };
    if keys.is_empty() {
        return Err(Fault::at(&["keys"], "no keys: the fault would do nothing")
            .hint("name locks by number (`keys = [0]`), or leave `keys` out for all of them"));
    }
    let count = scenario.workload.keys;
    match keys.iter().find(|key| **key >= count) {
        None => Ok(()),
        Some(key) => Err(Fault::at(
            &["keys"],
            format!("key {key} is wanted, but the workload has {count}, numbered from 0"),
        )
        .hint(format!("set `workload.keys` to {} or more", key + 1))),
    }
}

fn targets(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Fault> {
    let by_event = plan.when.as_ref().map(|when| when.on);
    let at_a_node = matches!(by_event, Some(EventKind::Request | EventKind::Reply));
    let default_same = |given: Option<Who>, is_list: bool, own_kind: bool| match given {
        Some(who) => who != Who::All,
        None => own_kind && !is_list,
    };
    let (list, word) = match &plan.workers {
        Some(Workers::List(list)) => (Some(list), None),
        Some(Workers::Word(who)) => (None, Some(*who)),
        None => (None, None),
    };
    for worker in list.into_iter().flatten() {
        known_worker(scenario, *worker, &["workers"])?;
    }
    let client = plan.kind.is_of_a_client();
    if default_same(word, list.is_some(), client) && by_event.is_none() {
        return Err(
            Fault::at(&["kind"], "a fault at a time does not happen at a worker")
                .hint("say which: `workers = [0]` or `workers = \"all\"`"),
        );
    }
    let (list, word) = match &plan.nodes {
        Some(Nodes::List(list)) => (Some(list), None),
        Some(Nodes::Word(who)) => (None, Some(*who)),
        None => (None, None),
    };
    let server = plan.kind.is_of_a_node();
    if default_same(word, list.is_some(), server) && !at_a_node {
        return Err(
            Fault::at(&["kind"], "only a `request` or `reply` happens at a node")
                .hint("say which: `nodes = [0]` or `nodes = \"all\"`"),
        );
    }
    Ok(())
}

fn known_worker(scenario: &Scenario, worker: usize, path: &[&str]) -> Result<(), Fault> {
    let count = scenario.workload.workers;
    if worker >= count {
        return Err(Fault::at(
            path,
            format!("worker {worker} is wanted, but the workload has {count}, numbered from 0"),
        )
        .hint(format!("set `workload.workers` to {} or more", worker + 1)));
    }
    Ok(())
}

fn expectations(scenario: &Scenario) -> Result<(), Fault> {
    for (subject, expected) in &scenario.expect {
        for (property, expectation) in expected {
            let path = ["expect", subject.as_str(), property.as_str()];
            known_word(property, PROPERTIES, "property", &path)?;
            if let Expectation::Violated { cause: Some(cause) } = expectation {
                known_word(cause, CAUSES, "cause", &path)?;
            }
        }
    }
    Ok(())
}

fn known_word(word: &str, known: &[&str], what: &str, path: &[&str]) -> Result<(), Fault> {
    if known.contains(&word) {
        return Ok(());
    }
    let fault = Fault::at(
        path,
        format!(
            "`{word}` is no {what}; expected one of {}",
            known.join(", ")
        ),
    );
    Err(match nearest(word, known.iter().copied()) {
        Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
        None => fault,
    })
}
