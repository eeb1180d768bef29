//! Fields of hashes that expire.
//!
//! A server that has never been asked for one pays nothing for them: [`State::field_expiries`] is then
//! false.

use super::Now;
use super::state::State;
use super::values::Value;

impl State {
    /// Removes the expired fields of a hash, and the hash with the last of them.
    pub(super) fn expire_fields(&mut self, database: usize, key: &[u8], now: Now) {
        if self.applying {
            return;
        }
        let entry = self.keyspace.databases[database].get_mut(key);
        let Some(Value::Hash(hash)) = entry.map(|entry| &mut entry.value) else {
            return;
        };
        if !hash.has_expiries() {
            return;
        }
        let expired = hash.expired(now.ms());
        if expired.is_empty() {
            return;
        }
        if self.read_only {
            // A replica hides them until its master removes them, which is not modelled.
            self.unknown
                .insert("expired fields of a hash on a replica".to_owned());
            return;
        }
        for field in &expired {
            hash.remove(field);
        }
        let empty = hash.is_empty();
        if empty {
            self.keyspace.databases[database].remove(key);
        }
        if let Some(touched) = &mut self.touched {
            if empty {
                touched.expired(database, key);
            } else {
                // The key holds less, and nobody has written it: an observer has no word for that.
                touched.written(database, key);
                let what = "the expiry of some fields of a hash, of which the others stay";
                self.unknown.insert(what.to_owned());
            }
        }
        self.touch_watchers(database, key);
        let mut args: Vec<&[u8]> = vec![b"HDEL", key];
        args.extend(expired.iter().map(Vec::as_slice));
        self.effect(database, &args);
    }

    /// Removes all expired fields, as the server's background cycle does.
    pub(super) fn expire_all_fields(&mut self, now: Now) {
        if !self.field_expiries {
            return;
        }
        for database in 0..self.keyspace.databases.len() {
            let keys = self.keyspace.databases[database].iter();
            let hashes = keys.filter(|(_, entry)| has_expiries(&entry.value));
            let hashes: Vec<Vec<u8>> = hashes.map(|(key, _)| key.clone()).collect();
            for key in hashes {
                self.expire_fields(database, &key, now);
            }
        }
    }

    /// Other keys have come: looks for fields with expiries among them.
    pub(super) fn note_field_expiries(&mut self) {
        let mut entries = self
            .keyspace
            .databases
            .iter()
            .flat_map(|keys| keys.values());
        self.field_expiries = entries.any(|entry| has_expiries(&entry.value));
    }
}

fn has_expiries(value: &Value) -> bool {
    matches!(value, Value::Hash(hash) if hash.has_expiries())
}
