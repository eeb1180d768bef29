//! Values that a worker's command contains although another worker wrote them and this worker has not read them.
//!
//! A command that compares a value before it removes, replaces or prolongs it contains that value. If a command
//! contains another worker's value that its sender cannot know, the two workers have the same token. The history does
//! not show this in any other way, because a client that tries to write a value that already exists changes nothing.

use std::sync::Arc;

/// Minimum length of a value that counts. Shorter values, such as numbers, may be equal by chance.
const MIN_LENGTH: usize = 8;

/// The other workers' values that commands have taken, and the workers that have read values.
#[derive(Debug, Default)]
pub(crate) struct UnreadValues {
    /// The workers that have read the current value of a key, by the number of the key.
    readers: Vec<(usize, usize)>,
    /// The values of other workers that the current command changed: the number of each change, and the value.
    taken: Vec<(usize, Arc<str>)>,
}

impl UnreadValues {
    /// Records that a worker reads a key.
    pub(crate) fn record_read(&mut self, key: usize, worker: usize) {
        if !self.readers.contains(&(key, worker)) {
            self.readers.push((key, worker));
        }
    }

    /// Records that the value of a key has changed.
    pub(crate) fn forget(&mut self, key: usize) {
        self.readers.retain(|(read, _)| *read != key);
    }

    /// Records a change by which a worker took a value that another worker had written.
    pub(crate) fn record_taken(&mut self, change: usize, reader: (usize, usize), value: &Arc<str>) {
        if value.len() >= MIN_LENGTH && !self.readers.contains(&reader) {
            self.taken.push((change, Arc::clone(value)));
        }
    }

    /// Removes the values that the current command took. Returns the numbers of those changes from `before` on whose
    /// values satisfy `names`, because the command contains them.
    pub(crate) fn take_named(&mut self, before: usize, names: impl Fn(&str) -> bool) -> Vec<usize> {
        let taken = self.taken.drain(..);
        let named = taken.filter(|(change, value)| *change >= before && names(value));
        named.map(|(change, _)| change).collect()
    }
}

/// Returns `true` if a command returns the value of a key.
pub(crate) fn reads(command: &str) -> bool {
    matches!(
        command,
        "GET" | "GETEX" | "GETRANGE" | "MGET" | "HGET" | "HGETALL" | "HMGET" | "HVALS" | "LRANGE"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unread_value_that_the_command_names_counts() {
        let value: Arc<str> = "27aa59594e07".into();
        let named = |readers: &[usize], value: &Arc<str>, word: &str| {
            let mut unread = UnreadValues::default();
            readers
                .iter()
                .for_each(|worker| unread.record_read(0, *worker));
            unread.record_taken(5, (0, 1), value);
            unread.take_named(3, |named| named == word).len()
        };
        assert_eq!(named(&[], &value, "27aa59594e07"), 1);
        assert_eq!(named(&[2], &value, "27aa59594e07"), 1);
        assert_eq!(
            named(&[1], &value, "27aa59594e07"),
            0,
            "it has read the value"
        );
        assert_eq!(named(&[], &value, "another"), 0);
        assert_eq!(
            named(&[], &"1".into(), "1"),
            0,
            "short values are equal by chance"
        );
    }

    #[test]
    fn new_value_has_no_readers() {
        let mut unread = UnreadValues::default();
        unread.record_read(0, 1);
        unread.forget(0);
        unread.record_taken(5, (0, 1), &"27aa59594e07".into());
        assert_eq!(unread.take_named(6, |_| true).len(), 0, "an earlier change");
        unread.record_taken(7, (0, 1), &"27aa59594e07".into());
        assert_eq!(unread.take_named(6, |_| true), [7]);
    }
}
