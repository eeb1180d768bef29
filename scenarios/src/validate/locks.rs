//! Checks of the names of locks, and of clients that hold several locks.

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::workload::WorkloadKind;

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 1000;

/// Checks the names of the locks, and how many of them a client takes.
pub fn locks(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: String| Err(Problem::at(&["workload", field], text));
    let names = &workload.names;
    if !names.is_empty() && names.len() != workload.keys {
        let text = format!("{} names for {} locks", names.len(), workload.keys);
        return wrong("names", text)
            .map_err(|problem| problem.hint("set `keys` to the same number"));
    }
    if let Some(name) = names
        .iter()
        .find(|name| name.is_empty() || name.len() > MAX_NAME)
    {
        let text = format!("a name of {} bytes: expected 1 to {MAX_NAME}", name.len());
        return wrong("names", text);
    }
    let mut later = (1..).map(|next| &names[next.min(names.len())..]);
    let is_repeated = |name: &&String| later.next().is_some_and(|rest| rest.contains(*name));
    if let Some(name) = names.iter().find(is_repeated) {
        return wrong(
            "names",
            format!("two locks have the name `{}`", name.escape_debug()),
        );
    }
    match workload.locks_each {
        1 => return Ok(()),
        2 if workload.keys >= 2 => {}
        2 => {
            let text = "a buyer takes 2 locks, and there is only one".to_owned();
            return wrong("locks_each", text).map_err(|problem| problem.hint("`keys = 2`"));
        }
        count => return wrong("locks_each", format!("{count} locks: expected 1 or 2")),
    }
    let excluded = [
        ("kind", workload.kind != WorkloadKind::FlashSale),
        ("arrivals", workload.arrivals.is_some()),
        ("extend", workload.extend.is_some()),
        ("reenter", workload.reenter.is_some()),
        ("ending_clients", workload.ending_clients > 0),
    ];
    match excluded.into_iter().find(|(_, is_used)| *is_used) {
        Some((field, _)) => wrong(
            field,
            format!("`{field}` needs buyers that hold one lock at a time"),
        ),
        None => Ok(()),
    }
}
