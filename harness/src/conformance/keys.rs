//! The keys of the server, and how many connections it has accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::clock::Clock;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeysSeen {
    /// The rest of each key's life in milliseconds; -1: it does not expire.
    pub ttl_ms: BTreeMap<String, i64>,
    /// When the look was over.
    pub at: Duration,
    /// How many connections the server had accepted by then.
    pub connections: u64,
}

/// Some keys, with the rest of their lives in milliseconds.
pub(super) type Keys<'a> = BTreeMap<&'a str, i64>;

impl KeysSeen {
    /// Looks at all keys. There are few: the server is ours. An error: it does not answer.
    pub(super) async fn look(
        connection: &mut MultiplexedConnection,
        clock: &Clock,
    ) -> RedisResult<KeysSeen> {
        let names: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query_async(connection).await?;
        let mut seen = KeysSeen::default();
        for name in names {
            let mut ask = redis::cmd("PTTL");
            let ttl_ms: i64 = ask.arg(&name).query_async(connection).await?;
            // -2: it has ended since `KEYS`.
            if ttl_ms != -2 {
                let name = String::from_utf8_lossy(&name).into_owned();
                seen.ttl_ms.insert(name, ttl_ms);
            }
        }
        seen.at = clock.elapsed();
        let mut info = redis::cmd("INFO");
        let stats: String = info.arg("stats").query_async(connection).await?;
        let mut lines = stats.lines();
        let accepted = lines.find_map(|line| line.strip_prefix("total_connections_received:"));
        let accepted = accepted.and_then(|count| count.trim().parse().ok());
        seen.connections = accepted.unwrap_or_default();
        Ok(seen)
    }

    /// The keys that were written since that look.
    pub(super) fn written_since(&self, before: &KeysSeen) -> Keys<'_> {
        let fresh = self.ttl_ms.iter();
        let fresh = fresh.filter(|(key, _)| !before.ttl_ms.contains_key(*key));
        fresh.map(|(key, ttl)| (key.as_str(), *ttl)).collect()
    }

    /// Of these, the keys of a lock: the one with its name, else those that contain it, else all.
    pub(super) fn of_lock(&self, before: &KeysSeen, name: &str) -> Keys<'_> {
        let written = self.written_since(before);
        let choices: [&dyn Fn(&str) -> bool; 2] = [&|key| key == name, &|key| key.contains(name)];
        for chosen in choices {
            let keys = written.iter().filter(|(key, _)| chosen(key));
            let keys: Keys = keys.map(|(key, ttl)| (*key, *ttl)).collect();
            if !keys.is_empty() {
                return keys;
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(keys: &[&str]) -> KeysSeen {
        let ttl_ms = keys.iter().map(|key| ((*key).to_owned(), 900));
        KeysSeen {
            ttl_ms: ttl_ms.collect(),
            ..KeysSeen::default()
        }
    }

    /// A key that was there before belongs to nobody in this check.
    #[test]
    fn fresh_key_that_is_most_like_the_lock_is_its_key() {
        let before = seen(&["counter", "a-lock:old"]);
        for (after, expected) in [
            (vec!["counter", "a-lock:old"], vec![]),
            (vec!["counter", "x", "y"], vec!["x", "y"]),
            (vec!["counter", "x", "{a-lock}"], vec!["{a-lock}"]),
            (vec!["counter", "x", "{a-lock}", "a-lock"], vec!["a-lock"]),
        ] {
            let after = seen(&after);
            let keys: Vec<&str> = after.of_lock(&before, "a-lock").into_keys().collect();
            assert_eq!(keys, expected);
        }
    }
}
