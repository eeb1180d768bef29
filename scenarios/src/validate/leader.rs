//! Checks of the workload `leader`.

use std::time::Duration;

use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::workload::{Update, WorkloadKind};

/// Checks that a leader acts during its term, and that the workload has no settings that apply only to buyers.
pub fn leader(scenario: &Scenario) -> Result<(), Problem> {
    let workload = &scenario.workload;
    let wrong = |field: &str, text: String| Err(Problem::at(&["workload", field], text));
    let is_leader = workload.kind == WorkloadKind::Leader;
    let Some(every) = workload.act_every.filter(|_| is_leader) else {
        if workload.act_every.is_some() {
            return wrong("act_every", "`act_every` needs a leader".to_owned())
                .map_err(|problem| problem.hint("`kind = \"leader\"`"));
        }
        if is_leader {
            let text = "a leader acts at an interval, and the scenario states none".to_owned();
            return wrong("kind", text).map_err(|problem| problem.hint("`act_every = \"0.2ttl\"`"));
        }
        return Ok(());
    };
    let ttl = workload.ttl.resolve(Duration::ZERO);
    if every.resolve(ttl) < Duration::from_millis(2) {
        let text = format!("{every} from one act to the next: expected 2ms or more");
        return wrong("act_every", text);
    }
    if every.resolve(ttl) > workload.section.resolve(ttl) {
        let text = format!(
            "{every} from one act to the next, and a term of {}: no act fits into a term",
            workload.section
        );
        return wrong("act_every", text).map_err(|problem| problem.hint("a longer `section`"));
    }
    if workload.update != Update::Write {
        let text = "a leader overwrites the value that it has read".to_owned();
        return wrong("update", text).map_err(|problem| problem.hint("`update = \"write\"`"));
    }
    let of_buyers = [
        ("purchases", workload.purchases.is_some()),
        ("reenter", workload.reenter.is_some()),
        ("failing_sections", workload.failing_sections > 0),
        ("ending_clients", workload.ending_clients > 0),
        ("arrivals", workload.arrivals.is_some()),
    ];
    match of_buyers.into_iter().find(|(_, is_used)| *is_used) {
        Some((field, _)) => wrong(field, format!("`{field}` needs buyers, not leaders")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> String {
        let text = format!("name = \"mine\"\nsummary = \"Mine.\"\n{body}");
        let parsed = Scenario::parse(&text, "mine.toml");
        parsed.map_or_else(|error| error.to_string(), |_| "valid".to_owned())
    }

    #[test]
    fn leader_acts_during_its_term_and_does_nothing_else() {
        let wrong = |body: &str, part: &str| {
            let text = problem(body);
            assert!(text.contains(part), "{body}: {text}");
        };
        let head = "[workload]\nkind = \"leader\"\n";
        let leader = format!("{head}update = \"write\"\nsection = \"2ttl\"\nact_every = ");
        wrong(&format!("{leader}\"0.2ttl\"\n"), "valid");
        wrong(head, "the scenario states none");
        wrong(&format!("{leader}\"0ms\"\n"), "expected 2ms or more");
        wrong(&format!("{leader}\"3ttl\"\n"), "no act fits into a term");
        wrong(
            &format!("{head}act_every = \"0.05ttl\"\n"),
            "a leader overwrites the value that it has read",
        );
        wrong(
            &format!("{leader}\"0.2ttl\"\npurchases = 2\n"),
            "`purchases` needs buyers, not leaders",
        );
        wrong(
            &format!("{leader}\"0.2ttl\"\nending_clients = 1\n"),
            "`ending_clients` needs buyers, not leaders",
        );
        wrong(
            &format!("{leader}\"0.2ttl\"\nlocks_each = 2\nkeys = 2\n"),
            "`kind` needs buyers that hold one lock at a time",
        );
        wrong(
            "[workload]\nact_every = \"1ttl\"\n",
            "`act_every` needs a leader",
        );
        wrong(
            &format!("{leader}\"0.2ttl\"\ncapacity = 2\n"),
            "a lock of this workload has one holder",
        );
    }
}
