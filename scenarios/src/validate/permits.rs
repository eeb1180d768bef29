//! Checks of the workload `permits`.

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::workload::{StockPlace, Update};

/// Maximum number of permits.
const MAX_CAPACITY: u32 = 100;

/// Checks the number of permits, and that the workload has no settings that require a lock with one holder.
pub fn permits(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: String| Err(Problem::at(&["workload", field], text));
    let capacity = workload.capacity;
    if !workload.needs_permits() {
        if !workload.permits.is_empty() {
            let text = "`permits`: a lock of this workload has none".to_owned();
            return wrong("permits", text).map_err(|problem| problem.hint("`kind = \"permits\"`"));
        }
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
    if let Some(permits) = (workload.permits.iter()).find(|it| !(1..=capacity).contains(*it)) {
        let text = format!("a client takes {permits} permits: expected 1 to {capacity}");
        return wrong("permits", text);
    }
    if workload.permits.len() > workload.workers {
        let text = format!(
            "permits of {} clients, and there are {}",
            workload.permits.len(),
            workload.workers
        );
        return wrong("permits", text);
    }
    let wanted = (0..workload.workers).map(|worker| u64::from(workload.permits_of(worker)));
    if u64::from(capacity) >= wanted.sum() {
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

#[cfg(test)]
mod tests {
    use crate::Scenario;

    /// Returns the error of a workload with three permits and these further settings, or an empty string.
    fn problem(settings: &str) -> String {
        let text = format!(
            "name = \"several\"\nsummary = \"x\"\nsource = \"x\"\n[workload]\nkind = \"permits\"\ncapacity = 3\n{settings}"
        );
        let parsed = Scenario::parse(&text, "several.toml");
        parsed
            .err()
            .map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn acquisition_takes_one_permit_up_to_all() {
        assert_eq!(problem("workers = 2\npermits = [2]\n"), "");
        for (permits, expected) in [
            ("0, 1", "a client takes 0 permits: expected 1 to 3"),
            ("4", "a client takes 4 permits: expected 1 to 3"),
            ("2, 1", "3 permits for 2 clients"),
            ("2, 1, 1", "permits of 3 clients, and there are 2"),
        ] {
            let problem = problem(&format!("workers = 2\npermits = [{permits}]\n"));
            assert!(problem.contains(expected), "{permits}: {problem}");
        }
    }
}
