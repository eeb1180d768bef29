//! Checks of the workload `ticks`.

use std::time::Duration;

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::schedule::Schedule;
use crate::workload::{StockPlace, Update, WorkloadKind};

use super::permits::no_stock_faults;

/// Maximum number of ticks.
const MAX_TICKS: u32 = 1000;

/// Checks that the schedule is possible, and that the workload has no settings that apply only to buyers.
pub fn ticks(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: &str| Err(Problem::at(&["workload", field], text));
    let schedule = match (workload.kind == WorkloadKind::Ticks, &workload.schedule) {
        (false, None) => return Ok(()),
        (false, Some(_)) => {
            return wrong("schedule", "`schedule` needs jobs that run at ticks")
                .map_err(|problem| problem.hint("`kind = \"ticks\"`"));
        }
        (true, None) => {
            return wrong("kind", "jobs that run at ticks need a schedule")
                .map_err(|problem| problem.hint("add `[workload.schedule]` with `interval`"));
        }
        (true, Some(schedule)) => schedule,
    };
    // At this point the ttl is known to be absolute.
    let ttl = workload.ttl.resolve(Duration::ZERO);
    possible(schedule, ttl)?;
    if workload.workers < 2 {
        return wrong("workers", "a single client: expected 2 or more");
    }
    if workload.limit.resolve(ttl) < schedule.end(ttl) {
        return wrong("limit", "the run ends before its last tick")
            .map_err(|problem| problem.hint("a longer `limit`, or fewer `ticks`"));
    }
    let of_buyers = [
        ("arrivals", workload.arrivals.is_some()),
        ("purchases", workload.purchases.is_some()),
        ("update", workload.update == Update::Write),
        ("stock_in", workload.stock_in == StockPlace::Redis),
        ("reenter", workload.reenter.is_some()),
        ("failing_sections", workload.failing_sections > 0),
        ("ending_clients", workload.ending_clients > 0),
        ("locks_each", workload.locks_each > 1),
    ];
    if let Some((field, _)) = of_buyers.into_iter().find(|(_, is_used)| *is_used) {
        let text = format!("`{field}` needs buyers, and these clients run jobs");
        return Err(Problem::at(&["workload", field], text));
    }
    no_stock_faults(scenario)
}

fn possible(schedule: &Schedule, ttl: Duration) -> Result<(), Problem> {
    let wrong =
        |field: &str, text: String| Err(Problem::at(&["workload", "schedule", field], text));
    let interval = schedule.interval.resolve(ttl);
    if interval < Duration::from_millis(1) {
        let text = format!("an interval of {}: expected 1ms or more", schedule.interval);
        return wrong("interval", text);
    }
    if !(1..=MAX_TICKS).contains(&schedule.ticks) {
        let text = format!("{} ticks: expected 1 to {MAX_TICKS}", schedule.ticks);
        return wrong("ticks", text);
    }
    if schedule.clock_shift.resolve(ttl) >= interval {
        let text = format!(
            "clocks that differ by {}: expected less than the interval, {}",
            schedule.clock_shift, schedule.interval
        );
        return wrong("clock_shift", text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(body: &str, part: &str) {
        let text = format!("name = \"mine\"\nsummary = \"Mine.\"\n{body}");
        let error = Scenario::parse(&text, "mine.toml").unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn impossible_schedule_is_rejected() {
        let schedule = |line: &str, part: &str| {
            let head = "[workload]\nkind = \"ticks\"\n[workload.schedule]\n";
            wrong(&format!("{head}{line}\n"), part);
        };
        schedule(
            "interval = \"0s\"",
            "an interval of 0s: expected 1ms or more",
        );
        schedule("ticks = 0", "0 ticks: expected 1 to 1000");
        schedule("clock_shift = \"2ttl\"", "expected less than the interval");
        schedule("missed = \"later\"", "unknown variant `later`");
        schedule("interval = \"-1s\"", "-1s");
    }

    #[test]
    fn jobs_need_a_schedule_and_no_buyers() {
        let ticks = |lines: &str, part: &str| {
            let head = "[workload]\nkind = \"ticks\"\n";
            let tail = "[workload.schedule]\ninterval = \"1s\"\n";
            wrong(&format!("{head}{lines}\n{tail}"), part);
        };
        ticks(
            "purchases = 2",
            "`purchases` needs buyers, and these clients run jobs",
        );
        ticks("limit = \"2s\"", "the run ends before its last tick");
        ticks("section = \"-1s\"", "-1s");
        ticks("workers = 1", "a single client");
        wrong(
            "[workload]\nkind = \"ticks\"\n",
            "jobs that run at ticks need a schedule",
        );
        wrong(
            "[workload.schedule]\ninterval = \"1s\"\n",
            "`schedule` needs jobs that run at ticks",
        );
        wrong(
            "[workload]\nkind = \"ticks\"\n[workload.schedule]\ninterval = \"1s\"\n\
             [[fault]]\nkind = \"late-write\"\nat = \"1s\"\nfor = \"1s\"\n",
            "the fault `late-write` needs a lock with one holder",
        );
    }
}
