//! `key`: the key that it writes is the lock's, and two locks are two keys.

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

/// `first`: the keys that were written for the first lock; `both`: those for both.
fn judge([name, other]: &[String; 2], first: &Keys, second: &Exchange, both: &Keys) -> CheckEnd {
    if first.is_empty() {
        return failed(format!(
            "it granted `{name}`, and wrote no key to the server that it was given"
        ));
    }
    let keys: Vec<String> = first.keys().map(|key| format!("`{key}`")).collect();
    let keys = keys.join(", ");
    if let Answer::Refused | Answer::Error { .. } = &second.answer {
        return second.wrong(format!(
            "two locks share a key: while only `{name}` was held, with the key {keys}, it answered `acquire` of `{other}` with `{}`",
            second.answer.reply()
        ));
    }
    if both.keys().all(|key| first.contains_key(key)) {
        return failed(format!(
            "two locks share a key: it granted both, and all that it wrote is {keys}"
        ));
    }
    match first.contains_key(name.as_str()) {
        true => passed(),
        false => passed_with(format!("for `{name}` it writes {keys}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::words;

    const LOCK: &str = "picklock:test";
    const OTHER: &str = "picklock:test:other";

    fn judged(first: &[&str], both: &[&str], answer: Answer) -> String {
        let locks = [LOCK, OTHER].map(str::to_owned);
        let [first, both] = [first, both].map(|keys| keys.iter().map(|key| (*key, 900)).collect());
        words(judge(&locks, &first, &Exchange::answered(answer), &both))
    }

    #[test]
    fn two_locks_with_one_key_are_told() {
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
            let told = judged(first, both, answer);
            assert!(told.contains(expected), "{first:?}: {told}");
        }
    }
}
