//! Checks of the fields of an open loop.

use std::time::Duration;

use crate::problem::Problem;
use crate::workload::Workload;

/// Maximum number of arrivals in one run, so that a typo does not block a CI job for a day.
const MAX_ARRIVALS: u64 = 1_000_000;

pub(super) fn arrivals(workload: &Workload) -> Result<(), Problem> {
    let wrong = |field: &str, problem: String, hint: &str| {
        Err(Problem::at(&["workload", field], problem).hint(hint))
    };
    let (rate, duration) = match (workload.arrivals, workload.duration) {
        (None, None) => return Ok(()),
        (Some(rate), Some(duration)) => (rate, duration),
        (Some(_), None) => {
            let problem = "`arrivals` without `duration`: buyers would arrive for ever".to_owned();
            return wrong("arrivals", problem, "add `duration = \"10ttl\"`");
        }
        (None, Some(_)) => {
            let problem = "`duration` without `arrivals`: a closed loop ends with the stock, with \
                           `purchases`, or at its `limit`";
            let hint = "add `arrivals = \"4/ttl\"`, or set `limit`";
            return wrong("duration", problem.to_owned(), hint);
        }
    };
    // The caller has already checked the ttl against its own rules.
    let ttl = workload.ttl.resolve(Duration::ZERO);
    let lasts = duration.resolve(ttl);
    if lasts.is_zero() {
        let problem = "zero: no buyer would arrive".to_owned();
        return wrong("duration", problem, "expected a duration such as \"10ttl\"");
    }
    let count = rate.within(lasts, ttl);
    if count > MAX_ARRIVALS {
        let problem =
            format!("{count} arrivals within {duration}: expected {MAX_ARRIVALS} at most");
        return wrong("arrivals", problem, "lower the rate, or shorten `duration`");
    }
    if workload.purchases.is_some() {
        let problem = "`purchases` limits what one buyer buys, but here each arrival is one \
                       purchase by a new buyer";
        let hint = "remove it: `arrivals` and `duration` determine the number of purchases";
        return wrong("purchases", problem.to_owned(), hint);
    }
    if !workload.think.resolve(ttl).is_zero() {
        let problem = "`think` paces a closed loop, but here `arrivals` does: a worker that pauses \
                       would only make the next buyer wait";
        let hint = "remove it, or make the work longer with `section`";
        return wrong("think", problem.to_owned(), hint);
    }
    if workload.limit.resolve(ttl) <= lasts {
        let problem = format!(
            "the run would end at its limit of {} while buyers still arrive (duration {duration})",
            workload.limit
        );
        let hint = "set `limit` beyond `duration`, so that waiting buyers can be served";
        return wrong("limit", problem, hint);
    }
    Ok(())
}
