//! An open loop: what it needs, and what makes no sense in it.

use std::time::Duration;

use super::Fault;
use crate::scenario::Workload;

/// Most arrivals that one run may ask for: a typing error should not keep a CI job for a day.
const MOST_ARRIVALS: u64 = 1_000_000;

pub(super) fn arrivals(workload: &Workload) -> Result<(), Fault> {
    let wrong = |field: &str, problem: String, hint: &str| {
        Err(Fault::at(&["workload", field], problem).hint(hint))
    };
    let (rate, duration) = match (workload.arrivals, workload.duration) {
        (None, None) => return Ok(()),
        (Some(rate), Some(duration)) => (rate, duration),
        (Some(_), None) => {
            let problem = "`arrivals` without `duration`: they would never end".to_owned();
            return wrong("arrivals", problem, "add `duration = \"10ttl\"`");
        }
        (None, Some(_)) => {
            let problem = "`duration` without `arrivals`: a closed loop ends with the stock, with \
                           `purchases`, or at its `limit`";
            let hint = "add `arrivals = \"4/ttl\"`, or set `limit`";
            return wrong("duration", problem.to_owned(), hint);
        }
    };
    // Whoever is called has held the ttl against its own rules already.
    let ttl = workload.ttl.resolve(Duration::ZERO);
    let lasts = duration.resolve(ttl);
    if lasts.is_zero() {
        let problem = "no time: nobody would come".to_owned();
        return wrong("duration", problem, "expected a time such as \"10ttl\"");
    }
    let count = rate.within(lasts, ttl);
    if count > MOST_ARRIVALS {
        let problem =
            format!("{count} arrivals within {duration}: expected {MOST_ARRIVALS} at most");
        return wrong("arrivals", problem, "lower the rate, or shorten `duration`");
    }
    if workload.purchases.is_some() {
        let problem = "`purchases` says when a buyer has enough, and here each arrival is one \
                       purchase by a buyer of its own";
        let hint = "leave it out: `arrivals` and `duration` say how many there are";
        return wrong("purchases", problem.to_owned(), hint);
    }
    if !workload.think.resolve(ttl).is_zero() {
        let problem = "`think` paces a closed loop, and here `arrivals` does: a worker that pauses \
                       would only keep the next buyer waiting";
        let hint = "leave it out, or make the work longer with `section`";
        return wrong("think", problem.to_owned(), hint);
    }
    if workload.limit.resolve(ttl) <= lasts {
        let problem = format!(
            "the run would end at its limit of {} while buyers still come (duration {duration})",
            workload.limit
        );
        let hint = "set `limit` beyond `duration`, so that those who wait can be served";
        return wrong("limit", problem, hint);
    }
    Ok(())
}
