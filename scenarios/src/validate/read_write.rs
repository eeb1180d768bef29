//! Checks of the workload `read-write`.

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::workload::{StockPlace, Update, WorkloadKind};

use super::permits::no_stock_faults;

/// Checks that there are readers and writers, and that the workload has no settings that require a lock with one
/// holder.
pub fn read_write(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: String| Err(Problem::at(&["workload", field], text));
    if workload.kind != WorkloadKind::ReadWrite {
        if workload.short_lease.is_some() && !workload.needs_permits() {
            let text = "`short_lease` needs several holders at the same time".to_owned();
            return wrong("short_lease", text).map_err(|problem| {
                problem.hint("`kind = \"permits\"` or `kind = \"read-write\"`")
            });
        }
        let of_read_write = [
            ("writers", workload.writers != 1),
            ("reader_think", workload.reader_think.is_some()),
        ];
        return match of_read_write.into_iter().find(|(_, is_used)| *is_used) {
            Some((field, _)) => wrong(field, format!("`{field}` needs readers and writers"))
                .map_err(|problem| problem.hint("`kind = \"read-write\"`")),
            None if scenario.judge.max_overtakes.is_some() => {
                let text = "`max_overtakes` needs readers and writers";
                Err(Problem::at(&["judge", "max_overtakes"], text))
            }
            None => Ok(()),
        };
    }
    let (writers, workers) = (workload.writers, workload.workers);
    if writers == 0 || writers >= workers {
        let text = format!(
            "{writers} writers among {workers} clients: expected 1 to {}",
            { workers.saturating_sub(1) }
        );
        return wrong("writers", text);
    }
    if workload.update != Update::Write {
        let text = "a writer overwrites the value that it has read".to_owned();
        return wrong("update", text).map_err(|problem| problem.hint("`update = \"write\"`"));
    }
    let needs_one_holder = [
        ("stock_in", workload.stock_in == StockPlace::Redis),
        ("reenter", workload.reenter.is_some()),
        ("failing_sections", workload.failing_sections > 0),
        ("ending_clients", workload.ending_clients > 0),
        ("arrivals", workload.arrivals.is_some()),
    ];
    if let Some((field, _)) = needs_one_holder.into_iter().find(|(_, is_used)| *is_used) {
        return wrong(field, format!("`{field}` needs a lock with one holder"));
    }
    no_stock_faults(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> Result<Scenario, String> {
        let text = format!("name = \"mine\"\nsummary = \"Mine.\"\n{body}");
        Scenario::parse(&text, "mine.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn read_write_workload_requires_readers_and_overwritten_values() {
        let wrong = |body: &str, part: &str| {
            let text = parsed(body).unwrap_err();
            assert!(text.contains(part), "{text}");
        };
        let head = "[workload]\nkind = \"read-write\"\nupdate = \"write\"\n";
        wrong(
            &format!("{head}workers = 3\nwriters = 3\n"),
            "3 writers among 3 clients: expected 1 to 2",
        );
        wrong(
            &format!("{head}writers = 0\n"),
            "0 writers among 3 clients: expected 1 to 2",
        );
        wrong(
            "[workload]\nkind = \"read-write\"\n",
            "a writer overwrites the value that it has read",
        );
        wrong(
            &format!("{head}reenter = \"1ttl\"\n"),
            "`reenter` needs a lock with one holder",
        );
        let late_write = "[[fault]]\nkind = \"late-write\"\nat = \"1s\"\nfor = \"1s\"\n";
        wrong(
            &format!("{head}{late_write}"),
            "the fault `late-write` needs a lock with one holder",
        );
        wrong(
            "[workload]\nwriters = 2\n",
            "`writers` needs readers and writers",
        );
        wrong(
            "[workload]\nshort_lease = \"0.3ttl\"\n",
            "`short_lease` needs several holders at the same time",
        );
        wrong(
            "[judge]\nmax_overtakes = 3\n",
            "`max_overtakes` needs readers and writers",
        );
    }

    #[test]
    fn writer_weighs_as_much_as_all_clients() {
        let body = "[workload]\nkind = \"read-write\"\nupdate = \"write\"\nworkers = 4\n";
        let workload = parsed(body).unwrap().workload;
        let weights: Vec<u32> = (0..4).map(|worker| workload.weight_of(worker)).collect();
        assert_eq!((workload.lock_capacity(), weights), (4, vec![4, 1, 1, 1]));
    }
}
