//! `lease`: the key lives as long as requested, and the reported times are correct.

use std::time::Duration;

use super::{
    Answer, CheckEnd, Clients, Exchange, Keys, LockName, Who, failed, not_offered, passed,
    passed_with,
};

/// Tolerance for two times that were rounded to milliseconds.
const ROUNDING_MS: i64 = 2;

pub(super) async fn key_lives_as_long_as_the_lease(clients: &mut Clients) -> CheckEnd {
    let lock = LockName::First;
    let before = clients.keys().await?;
    let grant = clients.acquire(Who::One, lock, 1.0, 0).await?;
    let after = clients.keys().await?;
    clients.release(Who::One, &grant).await?;
    let keys = after.lock_keys(&before, &clients.lock(lock));
    let margin_ms = (!clients.has_several_holders()).then(|| whole_ms(clients.declared().1));
    judge(&grant, &keys, after.at, margin_ms)
}

/// Judges a grant by the keys of the lock, which were inspected at `seen_at`. A key may live longer than the lease by
/// `margin_ms`. With `None` its life has no maximum: the leases of several holders are in the key, and not its expiry.
fn judge(grant: &Exchange, keys: &Keys, seen_at: Duration, margin_ms: Option<i64>) -> CheckEnd {
    let Answer::Granted {
        valid_ms,
        elapsed_ms,
        ..
    } = &grant.answer
    else {
        return passed();
    };
    let took_ms = whole_ms(grant.received.saturating_sub(grant.sent)) + ROUNDING_MS;
    if let Some(elapsed) = elapsed_ms.filter(|elapsed| ms(*elapsed) > took_ms) {
        return grant.fail(format!(
            "`elapsed_ms` is {elapsed}, but the reply arrived within {took_ms} ms of the request"
        ));
    }
    let Some((key, rest_ms)) = keys.iter().max_by_key(|(_, rest)| **rest) else {
        return not_offered("it wrote no key");
    };
    let (ttl_ms, rest_ms) = (ms(grant.ttl_ms), *rest_ms);
    if rest_ms < 0 {
        let holders = if margin_ms.is_none() {
            "; the leases of its holders are not checked here"
        } else {
            ""
        };
        return not_offered(format!("`{key}` has no expiry{holders}"));
    }
    // A library that counts in seconds rounds the lease up.
    let rounded_ms = (ttl_ms + 999) / 1_000 * 1_000;
    if margin_ms.is_some_and(|margin_ms| rest_ms > rounded_ms + margin_ms) {
        let hint = if rest_ms / 900 >= ttl_ms {
            "; is it interpreted as seconds?"
        } else {
            ""
        };
        return failed(format!(
            "`ttl_ms` was {ttl_ms}, and `{key}` lives for another {rest_ms} ms{hint}"
        ));
    }
    let max_life_ms = max_life_ms(grant, rest_ms, seen_at);
    if max_life_ms < ttl_ms {
        return failed(format!(
            "`ttl_ms` was {ttl_ms}, but `{key}` had an expiry of at most {max_life_ms} ms"
        ));
    }
    if let Some(valid) = valid_ms.filter(|valid| ms(*valid) > max_life_ms) {
        return grant.fail(format!(
            "`valid_ms` is {valid}, but `{key}` had an expiry of at most {max_life_ms} ms"
        ));
    }
    if margin_ms == Some(0) && rest_ms > ttl_ms {
        return passed_with(format!("it rounds the lease up to {rounded_ms} ms"));
    }
    passed()
}

/// Returns the longest expiry, in milliseconds, that a key may have been given if it had `rest_ms` left at `seen_at`.
/// The key cannot have been written before the request was sent.
pub(super) fn max_life_ms(exchange: &Exchange, rest_ms: i64, seen_at: Duration) -> i64 {
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
    use crate::conformance::outcome::describe;

    /// Judges a grant between 100 ms and 110 ms, whose keys were inspected at 120 ms.
    fn judged(grant: &Exchange, rest_ms: i64) -> String {
        let keys = Keys::from([("a-lock", rest_ms)]);
        describe(judge(grant, &keys, Duration::from_millis(120), Some(0)))
    }

    #[test]
    fn key_may_outlive_the_lease_by_the_declared_margin() {
        let grant = Exchange::grant(None, None);
        let keys = Keys::from([("a-lock", 1_400)]);
        for (margin_ms, expected) in [
            (Some(500), "passed"),
            (Some(300), "lives for another 1400 ms"),
            (None, "passed"),
        ] {
            let message = describe(judge(&grant, &keys, Duration::from_millis(120), margin_ms));
            assert!(message.contains(expected), "{margin_ms:?}: {message}");
        }
    }

    #[test]
    fn key_of_several_holders_may_have_no_expiry() {
        let (grant, keys) = (Exchange::grant(None, None), Keys::from([("permits", -1)]));
        let judged =
            |margin_ms| describe(judge(&grant, &keys, Duration::from_millis(120), margin_ms));
        assert_eq!(judged(Some(0)), "not offered: `permits` has no expiry");
        assert!(judged(None).contains("the leases of its holders are not checked"));
    }

    #[test]
    fn reported_times_are_compared_with_the_key() {
        for (rest_ms, valid_ms, elapsed_ms, expected) in [
            (990, Some(985), Some(3), "passed"),
            // The longest `valid_ms` that is accepted: the key may have been written as early as the request was sent.
            (980, Some(1_002), None, "passed"),
            (980, Some(1_003), None, "`valid_ms` is 1003"),
            (970, None, None, "an expiry of at most 992 ms"),
            (999_000, None, None, "is it interpreted as seconds?"),
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
            let message = judged(&Exchange::grant(valid_ms, elapsed_ms), rest_ms);
            assert!(message.contains(expected), "{rest_ms}: {message}");
        }
    }

    #[test]
    fn lease_below_a_second_may_be_rounded_up_to_one() {
        let mut grant = Exchange::grant(Some(700), None);
        grant.ttl_ms = 300;
        assert_eq!(judged(&grant, 990), "passed");
    }
}
