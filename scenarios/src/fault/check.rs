//! Checks of a fault that its types cannot express.

use super::action::Affects;
use super::plan::{FaultPlan, Field};
use super::selection::{Selection, Who};
use super::server_error::ServerError;
use super::trigger::{Phase, Trigger, TriggerEvent};
use crate::problem::Problem;
use crate::scenario::Scenario;

pub(crate) fn check(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Problem> {
    match (&plan.at, &plan.when) {
        (None, None) => {
            return Err(Problem::at(&["kind"], "this fault has no trigger").hint(
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

fn no_targets(field: &'static str) -> Problem {
    Problem::at(&[field], "no targets: the fault would do nothing")
}

/// All workers or nodes but one.
const ALL_BUT_ONE: Option<Selection> = Some(Selection::Word(Who::Others));

/// A remedy for a fault that needs more nodes.
const MORE_NODES: &str = "set `topology.nodes`, or choose a lock that uses more nodes";

/// Checks the nodes that a fault names against the number of nodes of the run.
pub(crate) fn check_nodes(plan: &FaultPlan, count: usize) -> Result<(), Problem> {
    if count == 1 && plan.nodes == ALL_BUT_ONE {
        return Err(no_targets("nodes").hint(MORE_NODES));
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
    let is_message = matches!(when.on, TriggerEvent::Request | TriggerEvent::Reply);
    let message_only = [
        ("node", when.node.is_some()),
        ("command", when.command.is_some()),
        ("names_key", when.names_key),
        ("during", when.during.is_some()),
    ];
    if let Some((field, _)) = message_only.iter().find(|(_, given)| *given && !is_message) {
        let text = format!(
            "`{field}` selects commands; it requires `on = \"request\"` or `on = \"reply\"`"
        );
        return Err(Problem::at(&["when", field], text));
    }
    if when.success && when.on != TriggerEvent::Reply {
        let text = "`success` requires `on = \"reply\"`";
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
        let text = "`stock` requires `on = \"stock-read\"` or `on = \"stock-changed\"`";
        return Err(Problem::at(&["when", "stock"], text));
    }
    match when.worker {
        Some(worker) => known_worker(scenario, worker, &["when", "worker"]),
        None => Ok(()),
    }
}

/// Checks the fields next to a field about a command's effect in a phase.
fn effect(when: &Trigger, field: &'static str, phase: Phase) -> Result<(), Problem> {
    let path = &["when", field];
    if when.on != TriggerEvent::Reply {
        let text = format!("`{field}` requires `on = \"reply\"`");
        return Err(
            Problem::at(path, text).hint("the effect of a command is known only after its reply")
        );
    }
    match when.during {
        Some(during) if during != phase => {
            let text = format!(
                "`{field}` implies `during = \"{}\"`, but another phase is given",
                phase.as_str()
            );
            Err(Problem::at(&["when", "during"], text))
        }
        _ => Ok(()),
    }
}

/// Checks the given fields against those of the fault's kind.
fn fields(plan: &FaultPlan) -> Result<(), Problem> {
    let word = plan.kind.as_str();
    for field in Field::ALL {
        let name = field.as_str();
        if plan.has(field) && !plan.kind.takes(field) {
            let fields = [plan.kind.row().required, plan.kind.row().optional].concat();
            let names: Vec<&str> = fields.into_iter().map(Field::as_str).collect();
            let own = names.join(", ");
            let hint = format!("besides `at` or `when` and `optional`, it takes {own}");
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

/// Checks that the workers and nodes exist, and that `same` refers to one of them.
fn targets(scenario: &Scenario, plan: &FaultPlan) -> Result<(), Problem> {
    let by_event = plan.when.as_ref().map(|when| when.on);
    let at_a_node = matches!(by_event, Some(TriggerEvent::Request | TriggerEvent::Reply));
    let affects = plan.kind.affects();
    for (field, given) in [("workers", &plan.workers), ("nodes", &plan.nodes)] {
        if matches!(given, Some(Selection::List(list)) if list.is_empty()) {
            return Err(no_targets(field));
        }
    }
    if plan.workers == ALL_BUT_ONE && scenario.workload.workers == 1 {
        return Err(no_targets("workers").hint("set `workload.workers` to 2 or more"));
    }
    for worker in plan.workers.as_ref().map_or(&[][..], Selection::listed) {
        known_worker(scenario, *worker, &["workers"])?;
    }
    let is_relative = |given: &Option<Selection>, default| {
        let selection = given.as_ref();
        selection.map_or(affects == default, Selection::is_relative)
    };
    if is_relative(&plan.workers, Affects::Workers) && by_event.is_none() {
        let text = "a fault with `at` does not identify a worker";
        let hint = "add `workers = [0]` or `workers = \"all\"`";
        return Err(Problem::at(&["kind"], text).hint(hint));
    }
    if is_relative(&plan.nodes, Affects::Nodes) && !at_a_node {
        let text = "only a `request` or `reply` identifies a node";
        let hint = "add `nodes = [0]` or `nodes = \"all\"`";
        return Err(Problem::at(&["kind"], text).hint(hint));
    }
    Ok(())
}

fn known_worker(scenario: &Scenario, worker: usize, path: &[&str]) -> Result<(), Problem> {
    let count = scenario.workload.workers;
    if worker < count {
        return Ok(());
    }
    let text = format!("there is no client {worker}: the workload has {count}, numbered from 0");
    let hint = format!("set `workload.workers` to {} or more", worker + 1);
    Err(Problem::at(path, text).hint(hint))
}
