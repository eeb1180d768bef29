//! Checks of the workload `permits`.

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::workload::{StockPlace, Update};

/// Maximum number of permits.
const MAX_CAPACITY: u32 = 100;

/// Checks the number of permits, and that a workload with permits asks for nothing that only a lock with one holder
/// can give.
pub fn permits(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: String| Err(Problem::at(&["workload", field], text));
    let capacity = workload.capacity;
    if !workload.needs_permits() {
        if capacity == 1 {
            return Ok(());
        }
        let text = format!("{capacity} permits: a lock of this workload has one holder");
        return wrong("capacity", text).map_err(|problem| problem.hint("`kind = \"permits\"`"));
    }
    if !(2..=MAX_CAPACITY).contains(&capacity) {
        let text = format!("{capacity} permits: expected 2 to {MAX_CAPACITY}");
        return wrong("capacity", text);
    }
    if capacity as usize >= workload.workers {
        let text = format!(
            "{capacity} permits for {} clients: nobody would have to wait",
            workload.workers
        );
        return wrong("capacity", text).map_err(|problem| problem.hint("more `workers`"));
    }
    let needs_one_holder = [
        ("update", workload.update == Update::Write),
        ("stock_in", workload.stock_in == StockPlace::Redis),
        ("reenter", workload.reenter.is_some()),
    ];
    if let Some((field, _)) = needs_one_holder.into_iter().find(|(_, is_used)| *is_used) {
        return wrong(field, format!("`{field}` needs a lock with one holder"));
    }
    no_stock_faults(scenario)
}

/// Rejects the faults of the stock, which need a lock with one holder.
pub(super) fn no_stock_faults(scenario: &Scenario) -> Result<(), Problem> {
    let changes_stock = |kind: &str| {
        matches!(
            kind,
            "late-write" | "late-commit" | "unchecked-write" | "stale-read"
        )
    };
    let mut kinds = scenario.faults.iter().map(|fault| fault.kind.as_str());
    match kinds.find(|kind| changes_stock(kind)) {
        Some(kind) => {
            let text = format!("the fault `{kind}` needs a lock with one holder");
            Err(Problem::at(&["workload", "kind"], text))
        }
        None => Ok(()),
    }
}
