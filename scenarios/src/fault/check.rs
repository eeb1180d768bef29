//! What the types alone cannot say about a fault.

use super::action::Affects;
use super::plan::{FaultPlan, Field};
use super::selection::{Selection, Who};
use super::server_error::ServerError;
use super::trigger::{Phase, Trigger, TriggerEvent};
use crate::problem::Problem;
use crate::scenario::Scenario;

/// Checks one fault of a scenario.
pub(crate) fn check(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Problem> {
    match (&plan.at, &plan.when) {
        (None, None) => {
            return Err(Problem::at(&["kind"], "this fault has no moment").hint(
                "give `at = \"500ms\"`, or an event such as `when = { on = \"stock-read\", stock = 1 }`",
            ));
        }
        (Some(_), Some(_)) => {
            let text = "both `at` and `when` are given; expected one of them";
            return Err(Problem::at(&["at"], text));
        }
        _ => {}
    }
    if let Some(when) = &plan.when {
        trigger(scenario, when)?;
    }
    fields(plan)?;
    (plan.kind.row().check)(plan, &scenario.topology, &scenario.workload)?;
    if plan.kind.is_replicated() && scenario.topology.replicas == 0 {
        let word = plan.kind.as_str();
        let text = format!("`{word}` needs a replica, and the nodes have none");
        return Err(Problem::at(&["kind"], text).hint("set `topology.replicas = 1`"));
    }
    if plan.frames == Some(0) {
        let text = "no frames: the fault would do nothing";
        return Err(Problem::at(&["frames"], text));
    }
    targets(scenario, plan)
}

fn affects_nobody(field: &'static str) -> Problem {
    Problem::at(&[field], "there is nobody: the fault would do nothing")
}

/// All but one.
const ALL_BUT_ONE: Option<Selection> = Some(Selection::Word(Who::Others));

/// What to do for a fault that needs more nodes.
const MORE_NODES: &str = "set `topology.nodes`, or choose a lock that uses more nodes";

/// Checks the nodes that a fault names against the number of nodes that the run will have.
pub(crate) fn check_nodes(plan: &FaultPlan, count: usize) -> Result<(), Problem> {
    if count == 1 && plan.nodes == ALL_BUT_ONE {
        return Err(affects_nobody("nodes").hint(MORE_NODES));
    }
    let listed = plan.nodes.as_ref().map_or(&[][..], Selection::listed);
    let watched = plan.when.as_ref().and_then(|when| when.node);
    let mut named = listed.iter().copied().chain(watched);
    match named.find(|node| *node >= count) {
        None => Ok(()),
        Some(node) => {
            let text = format!("there is no node {node}: the run has {count}, numbered from 0");
            Err(Problem::at(&["nodes"], text).hint(MORE_NODES))
        }
    }
}

fn trigger(scenario: &Scenario, when: &Trigger) -> Result<(), Problem> {
    if when.nth == 0 {
        return Err(Problem::at(&["when", "nth"], "events are counted from 1"));
    }
    let on_the_wire = matches!(when.on, TriggerEvent::Request | TriggerEvent::Reply);
    let wire_only = [
        ("node", when.node.is_some()),
        ("command", when.command.is_some()),
        ("names_key", when.names_key),
        ("during", when.during.is_some()),
    ];
    if let Some((field, _)) = wire_only.iter().find(|(_, given)| *given && !on_the_wire) {
        let text = format!(
            "`{field}` tells commands apart; it goes with `on = \"request\"` or `on = \"reply\"`"
        );
        return Err(Problem::at(&["when", field], text));
    }
    if when.success && when.on != TriggerEvent::Reply {
        let text = "`success` goes with `on = \"reply\"`";
        return Err(Problem::at(&["when", "success"], text));
    }
    if when.takes {
        effect(when, "takes", Phase::Acquire)?;
    }
    if when.releases {
        effect(when, "releases", Phase::Release)?;
    }
    let about_stock = matches!(
        when.on,
        TriggerEvent::StockRead | TriggerEvent::StockChanged
    );
    if when.stock.is_some() && !about_stock {
        let text = "`stock` goes with `on = \"stock-read\"` or `on = \"stock-changed\"`";
        return Err(Problem::at(&["when", "stock"], text));
    }
    match when.worker {
        Some(worker) => known_worker(scenario, worker, &["when", "worker"]),
        None => Ok(()),
    }
}

/// Checks the fields beside one that asks what a command did in a phase.
fn effect(when: &Trigger, field: &'static str, phase: Phase) -> Result<(), Problem> {
    let path = &["when", field];
    if when.on != TriggerEvent::Reply {
        let text = format!("`{field}` goes with `on = \"reply\"`");
        return Err(Problem::at(path, text).hint("only after a command is it known what it did"));
    }
    match when.during {
        Some(during) if during != phase => {
            let text = format!("`{field}` has a phase of its own; `during` says another");
            Err(Problem::at(&["when", "during"], text))
        }
        _ => Ok(()),
    }
}

/// Checks the fields that are given against those that the kind of fault has.
fn fields(plan: &FaultPlan) -> Result<(), Problem> {
    let word = plan.kind.as_str();
    for field in Field::ALL {
        let name = field.as_str();
        if plan.has(field) && !plan.kind.takes(field) {
            let own = [plan.kind.row().required, plan.kind.row().optional].concat();
            let own: Vec<&str> = own.into_iter().map(Field::as_str).collect();
            let own = own.join(", ");
            let hint = format!("besides its moment and `optional` it takes {own}");
            return Err(Problem::at(&[name], format!("`{word}` has no `{name}`")).hint(hint));
        }
        if !plan.has(field) && plan.kind.requires(field) {
            let such_as = match field {
                Field::Resource => "add `what = \"memory\"` or `what = \"connections\"`".to_owned(),
                Field::Error => {
                    let words = ServerError::ALL.map(ServerError::as_str).join(", ");
                    format!("add `error = \"READONLY\"`; there are {words}")
                }
                _ => format!("add `{name} = \"1.5ttl\"`"),
            };
            return Err(Problem::at(&["kind"], format!("`{word}` needs `{name}`")).hint(such_as));
        }
    }
    Ok(())
}

/// Checks that the workers and nodes are there, and that `same` means one of them.
fn targets(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Problem> {
    let by_event = plan.when.as_ref().map(|when| when.on);
    let at_a_node = matches!(by_event, Some(TriggerEvent::Request | TriggerEvent::Reply));
    let affects = plan.kind.affects();
    for (field, given) in [("workers", &plan.workers), ("nodes", &plan.nodes)] {
        if matches!(given, Some(Selection::List(list)) if list.is_empty()) {
            return Err(affects_nobody(field));
        }
    }
    if plan.workers == ALL_BUT_ONE && scenario.workload.workers == 1 {
        return Err(affects_nobody("workers").hint("set `workload.workers` to 2 or more"));
    }
    for worker in plan.workers.as_ref().map_or(&[][..], Selection::listed) {
        known_worker(scenario, *worker, &["workers"])?;
    }
    let is_relative = |given: &Option<Selection>, default| {
        let given = given.as_ref();
        given.map_or(affects == default, Selection::is_relative)
    };
    if is_relative(&plan.workers, Affects::Workers) && by_event.is_none() {
        let text = "a fault at a time does not happen at a worker";
        let hint = "say which: `workers = [0]` or `workers = \"all\"`";
        return Err(Problem::at(&["kind"], text).hint(hint));
    }
    if is_relative(&plan.nodes, Affects::Nodes) && !at_a_node {
        let text = "only a `request` or `reply` happens at a node";
        let hint = "say which: `nodes = [0]` or `nodes = \"all\"`";
        return Err(Problem::at(&["kind"], text).hint(hint));
    }
    Ok(())
}

fn known_worker(scenario: &Scenario, worker: usize, path: &[&str]) -> Result<(), Problem> {
    let count = scenario.workload.workers;
    if worker < count {
        return Ok(());
    }
    let text = format!("there is no worker {worker}: the workload has {count}, numbered from 0");
    let hint = format!("set `workload.workers` to {} or more", worker + 1);
    Err(Problem::at(path, text).hint(hint))
}
