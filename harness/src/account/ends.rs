//! How many values have gone from their keys.

use std::collections::HashMap;

use crate::history::KeyName;

use super::key_record::KeyRecord;

/// How many values of one node have gone: removed, expired, or replaced by another.
pub(crate) fn ends_of(records: &[KeyRecord]) -> u64 {
    let mut held: HashMap<&KeyName, &str> = HashMap::new();
    let mut ends = 0;
    for record in records {
        let before = match record.value.as_deref() {
            Some(value) => held.insert(&record.key, value),
            None => held.remove(&record.key),
        };
        ends += u64::from(before.is_some_and(|before| record.value.as_deref() != Some(before)));
    }
    ends
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::KeyChange;

    #[test]
    fn values_that_are_gone_are_counted_and_longer_lives_are_not() {
        let record = |key: u32, value: Option<&str>, ttl_ms| KeyRecord {
            at_ns: 0,
            key: KeyName::Lock(key),
            value: value.map(Arc::from),
            ttl_ms,
            why: KeyChange::Found,
        };
        let records = [
            record(0, Some("a"), Some(1)),
            record(1, Some("a"), None),
            // It lives longer.
            record(0, Some("a"), Some(2)),
            // Replaced.
            record(0, Some("b"), Some(1)),
            // Removed.
            record(0, None, None),
            record(0, Some("b"), None),
        ];
        assert_eq!(ends_of(&records), 2);
    }
}
