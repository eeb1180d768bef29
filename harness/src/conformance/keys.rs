//! Snapshots of the server's keys and of the number of connections that it has accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use crate::clock::Clock;

/// The keys of the server at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeySnapshot {
    /// Remaining time to live of each key in milliseconds, or -1 if it does not expire.
    pub ttl_ms: BTreeMap<String, i64>,
    /// Time when the snapshot was complete.
    pub at: Duration,
    /// Number of connections that the server had accepted by then.
    pub connections: u64,
}

/// Keys with their remaining time to live in milliseconds.
pub(super) type Keys<'a> = BTreeMap<&'a str, i64>;

impl KeySnapshot {
    /// Takes a snapshot of all keys. The server belongs to the checks, so it has few keys.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub(super) async fn take(
        connection: &mut MultiplexedConnection,
        clock: &Clock,
    ) -> RedisResult<KeySnapshot> {
        let names: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query_async(connection).await?;
        let mut snapshot = KeySnapshot::default();
        for name in names {
            let mut pttl = redis::cmd("PTTL");
            let ttl_ms: i64 = pttl.arg(&name).query_async(connection).await?;
            // PTTL returns -2 if the key has disappeared since `KEYS`.
            if ttl_ms != -2 {
                let name = String::from_utf8_lossy(&name).into_owned();
                snapshot.ttl_ms.insert(name, ttl_ms);
            }
        }
        snapshot.at = clock.elapsed();
        let mut info = redis::cmd("INFO");
        let stats: String = info.arg("stats").query_async(connection).await?;
        snapshot.connections = stats
            .lines()
            .find_map(|line| line.strip_prefix("total_connections_received:"))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or_default();
        Ok(snapshot)
    }

    /// Returns the keys that were written since the snapshot `before`.
    pub(super) fn written_since(&self, before: &KeySnapshot) -> Keys<'_> {
        self.ttl_ms
            .iter()
            .filter(|(key, _)| !before.ttl_ms.contains_key(*key))
            .map(|(key, ttl)| (key.as_str(), *ttl))
            .collect()
    }

    /// Returns the keys of a lock among the keys that were written since `before`: the key with the lock's name or,
    /// without one, the keys that contain the name. If there are none either, returns all keys.
    pub(super) fn lock_keys(&self, before: &KeySnapshot, name: &str) -> Keys<'_> {
        let written = self.written_since(before);
        let choices: [&dyn Fn(&str) -> bool; 2] = [&|key| key == name, &|key| key.contains(name)];
        for is_chosen in choices {
            let keys: Keys = written
                .iter()
                .filter(|(key, _)| is_chosen(key))
                .map(|(key, ttl)| (*key, *ttl))
                .collect();
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

    fn snapshot(keys: &[&str]) -> KeySnapshot {
        let ttl_ms = keys.iter().map(|key| ((*key).to_owned(), 900));
        KeySnapshot {
            ttl_ms: ttl_ms.collect(),
            ..KeySnapshot::default()
        }
    }

    /// Keys that existed before the check are ignored.
    #[test]
    fn new_key_most_like_the_lock_is_its_key() {
        let before = snapshot(&["counter", "a-lock:old"]);
        for (after, expected) in [
            (vec!["counter", "a-lock:old"], vec![]),
            (vec!["counter", "x", "y"], vec!["x", "y"]),
            (vec!["counter", "x", "{a-lock}"], vec!["{a-lock}"]),
            (vec!["counter", "x", "{a-lock}", "a-lock"], vec!["a-lock"]),
        ] {
            let after = snapshot(&after);
            let keys: Vec<&str> = after.lock_keys(&before, "a-lock").into_keys().collect();
            assert_eq!(keys, expected);
        }
    }
}
