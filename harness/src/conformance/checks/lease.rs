//! `lease`: the key lives as long as was asked for, and what it says of times is true.

use std::time::Duration;

use super::{
    Answer, CheckEnd, Clients, Exchange, Keys, LockName, Who, failed, not_offered, passed,
    passed_with,
};

/// Two times were rounded to whole milliseconds.
const ROUNDING_MS: i64 = 2;

pub(super) async fn the_key_is_worth_the_lease(clients: &mut Clients) -> CheckEnd {
    let lock = LockName::First;
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, lock, 1.0, 0).await?;
    let after = clients.keys().await?;
    clients.release(Who::One, &grant).await?;
    let keys = after.of_lock(&before, &clients.lock(lock));
    judge(&grant, &keys, after.at)
}

/// `keys`: those of the lock, as they were seen at this time.
fn judge(grant: &Exchange, keys: &Keys, seen_at: Duration) -> CheckEnd {
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
        return grant.wrong(format!(
            "`elapsed_ms` is {elapsed}, but the answer came within {took_ms} ms of the request"
        ));
    }
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
        return failed(format!(
            "`ttl_ms` was {ttl_ms}, and `{key}` lives for another {rest_ms} ms{hint}"
        ));
    }
    let at_most_ms = most_ms(grant, rest_ms, seen_at);
    if at_most_ms < ttl_ms {
        return failed(format!(
            "`ttl_ms` was {ttl_ms}, and `{key}` was to live for {at_most_ms} ms at the most"
        ));
    }
    if let Some(valid) = valid_ms.filter(|valid| ms(*valid) > at_most_ms) {
        return grant.wrong(format!(
            "`valid_ms` is {valid}, and `{key}` was to live for {at_most_ms} ms at the most"
        ));
    }
    match rest_ms > ttl_ms {
        true => passed_with(format!("it rounds the lease up to {rounded_ms} ms")),
        false => passed(),
    }
}

/// The longest life that a key can have been given, from the rest that it had at this time: it was
/// written after the request was sent.
pub(super) fn most_ms(exchange: &Exchange, rest_ms: i64, seen_at: Duration) -> i64 {
    rest_ms + whole_ms(seen_at.saturating_sub(exchange.sent)) + ROUNDING_MS
}

fn whole_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

pub(super) fn ms(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::words;

    /// The grant came between 100 ms and 110 ms, and the look at 120 ms.
    fn judged(grant: &Exchange, rest_ms: i64) -> String {
        let keys = Keys::from([("a-lock", rest_ms)]);
        words(judge(grant, &keys, Duration::from_millis(120)))
    }

    #[test]
    fn a_lease_is_judged_by_what_the_key_is_worth() {
        for (rest_ms, valid_ms, elapsed_ms, expected) in [
            (990, Some(985), Some(3), "passed"),
            // Written at the latest possible time, and the most that can be promised of it.
            (980, Some(1_002), None, "passed"),
            (980, Some(1_003), None, "`valid_ms` is 1003"),
            (970, None, None, "was to live for 992 ms at the most"),
            (999_000, None, None, "is it taken for seconds?"),
            (1_001, None, None, "lives for another 1001 ms"),
            (990, None, Some(12), "passed"),
            (990, None, Some(13), "`elapsed_ms` is 13"),
            (
                -1,
                Some(60_000),
                None,
                "not offered: `a-lock` has no expiry",
            ),
        ] {
            let told = judged(&Exchange::grant(valid_ms, elapsed_ms), rest_ms);
            assert!(told.contains(expected), "{rest_ms}: {told}");
        }
    }

    #[test]
    fn a_lease_of_less_than_a_second_may_be_rounded_up_to_one() {
        let mut grant = Exchange::grant(Some(700), None);
        grant.ttl_ms = 300;
        assert_eq!(judged(&grant, 990), "passed");
    }
}
