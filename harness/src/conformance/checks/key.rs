//! `key`: the adapter writes the lock's key, and different keys for two locks.

use super::{
    Answer, CheckEnd, Clients, Exchange, Keys, LONG, LockName, Who, failed, passed, passed_with,
};

pub(super) async fn two_locks_are_two_keys(clients: &mut Clients) -> CheckEnd {
    let before = clients.keys().await?;
    let first = clients.take(Who::One).await?;
    let with_first = clients.keys().await?;
    let second = clients.acquire(Who::Two, LockName::Second, LONG, 0).await?;
    let with_both = clients.keys().await?;
    clients.release(Who::One, &first).await?;
    clients.remove_keys_since(&before).await?;
    let locks = [LockName::First, LockName::Second].map(|lock| clients.lock(lock));
    let first = with_first.written_since(&before);
    judge(&locks, &first, &second, &with_both.written_since(&before))
}

/// Judges the keys that were written for the first lock, and for both locks.
fn judge([name, other]: &[String; 2], first: &Keys, second: &Exchange, both: &Keys) -> CheckEnd {
    if first.is_empty() {
        return failed(format!(
            "it granted `{name}`, but wrote no key to the server in `nodes`"
        ));
    }
    let quoted_keys: Vec<String> = first.keys().map(|key| format!("`{key}`")).collect();
    let key_names = quoted_keys.join(", ");
    if let Answer::Refused | Answer::Error { .. } = &second.answer {
        return second.fail(format!(
            "two locks share a key: while only `{name}` was held, with the key {key_names}, it answered `acquire` of `{other}` with `{}`",
            second.answer.reply()
        ));
    }
    if both.keys().all(|key| first.contains_key(key)) {
        return failed(format!(
            "two locks share a key: it granted both, and wrote only {key_names}"
        ));
    }
    if first.contains_key(name.as_str()) {
        return passed();
    }
    passed_with(format!("for `{name}` it writes {key_names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::describe;

    const LOCK: &str = "picklock:test";
    const OTHER: &str = "picklock:test:other";

    fn judged(first: &[&str], both: &[&str], answer: Answer) -> String {
        let locks = [LOCK, OTHER].map(str::to_owned);
        let [first, both] = [first, both].map(|keys| keys.iter().map(|key| (*key, 900)).collect());
        describe(judge(&locks, &first, &Exchange::answered(answer), &both))
    }

    #[test]
    fn shared_key_of_two_locks_is_reported() {
        let grant = || Exchange::grant(None, None).answer;
        for (first, both, answer, expected) in [
            (&[LOCK][..], &[LOCK, OTHER][..], grant(), "passed"),
            (&["lock:a"], &["lock:a", "x"], grant(), "passed"),
            (&["a-lock"], &["a-lock"], grant(), "two locks share a key"),
            (
                &["a-lock"],
                &["a-lock"],
                Answer::Refused,
                "with the key `a-lock`",
            ),
            (&[], &[], grant(), "wrote no key"),
        ] {
            let message = judged(first, both, answer);
            assert!(message.contains(expected), "{first:?}: {message}");
        }
    }
}
