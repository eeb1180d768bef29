//! `lease`: the key lives as long as was asked for, and what it says of times is true.

use std::time::Duration;

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::{Evidence, Exchange};
use crate::conformance::finding::{Judgement, Problem, not_offered, passed, passed_with};
use crate::conformance::script::{LockName, Say, Step, Who};

const TAKE: Say = Say::Acquire {
    lock: LockName::First,
    leases: 1.0,
    wait_ms: 0,
};

pub(super) const CHECK: Check = Check {
    name: "lease",
    about: "takes `ttl_ms` for milliseconds, and promises no more than the key is worth",
    paragraph: "leases",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::LookAtKeys("after"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

/// Two times were rounded to whole milliseconds.
pub(super) const ROUNDING_MS: i64 = 2;

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    let grant = evidence.granted("grant")?;
    let wrong = |what: String| Err(Problem::new(what).with_line(&grant.line()));
    let Answer::Granted {
        valid_ms,
        elapsed_ms,
        ..
    } = &grant.answer
    else {
        return passed();
    };
    let took_ms = whole_ms(grant.heard.saturating_sub(grant.sent)) + ROUNDING_MS;
    if let Some(elapsed) = elapsed_ms.filter(|elapsed| ms(*elapsed) > took_ms) {
        return wrong(format!(
            "`elapsed_ms` is {elapsed}, but the answer came within {took_ms} ms of the request"
        ));
    }
    let written = evidence.written("before", "after")?;
    let keys = evidence.of_lock(LockName::First, &written);
    let Some((key, rest_ms)) = keys.iter().max_by_key(|(_, rest)| **rest) else {
        return not_offered("it wrote no key");
    };
    let (ttl_ms, rest_ms) = (ms(grant.ttl_ms), *rest_ms);
    if rest_ms < 0 {
        return not_offered(format!("`{key}` has no expiry of its own"));
    }
    // Libraries that count in seconds round up.
    let rounded_ms = (ttl_ms + 999) / 1_000 * 1_000;
    if rest_ms > rounded_ms {
        let hint = match rest_ms / 900 >= ttl_ms {
            true => "; is it taken for seconds?",
            false => "",
        };
        return Err(Problem::new(format!(
            "`ttl_ms` was {ttl_ms}, and `{key}` lives for another {rest_ms} ms{hint}"
        )));
    }
    let at_most_ms = most_ms(evidence, grant, rest_ms)?;
    if at_most_ms < ttl_ms {
        return Err(Problem::new(format!(
            "`ttl_ms` was {ttl_ms}, and `{key}` was to live for {at_most_ms} ms at the most"
        )));
    }
    if let Some(valid) = valid_ms.filter(|valid| ms(*valid) > at_most_ms) {
        return wrong(format!(
            "`valid_ms` is {valid}, and `{key}` was to live for {at_most_ms} ms at the most"
        ));
    }
    match rest_ms > ttl_ms {
        true => passed_with(format!("it rounds the lease up to {rounded_ms} ms")),
        false => passed(),
    }
}

/// The longest that a key can have been given, from what it had left later: it was written after the
/// request was sent.
pub(super) fn most_ms(
    evidence: &Evidence,
    exchange: &Exchange,
    rest_ms: i64,
) -> Result<i64, Problem> {
    let since = evidence.keys("after")?.at.saturating_sub(exchange.sent);
    Ok(rest_ms + whole_ms(since) + ROUNDING_MS)
}

fn whole_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

pub(super) fn ms(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
