//! Which changes of keys belong to which command of the proxy, to answer the proxy's queries for a command's effect.

use std::ops::Range;

/// The changes of one command, by their positions among the node's changes.
#[derive(Debug)]
struct Written {
    conn: u64,
    number: u64,
    changes: Range<usize>,
}

/// The commands that have changed keys of one node, in the order of their execution.
#[derive(Debug, Default)]
pub(super) struct WrittenChanges(Vec<Written>);

impl WrittenChanges {
    /// Records that a command has made these changes. `request` is its connection and its number on that connection.
    pub(super) fn record(&mut self, request: Option<(u64, u64)>, changes: Range<usize>) {
        let Some((conn, number)) = request.filter(|_| !changes.is_empty()) else {
            return;
        };
        match self.0.last_mut() {
            // The commands of a script are consecutive.
            Some(last) if (last.conn, last.number) == (conn, number) => {
                last.changes.end = changes.end;
            }
            _ => self.0.push(Written {
                conn,
                number,
                changes,
            }),
        }
    }

    /// Removes and returns the changes of a connection's commands up to this number. Each entry is a command's
    /// number and its changes.
    pub(super) fn take(&mut self, conn: u64, number: u64) -> Vec<(u64, Range<usize>)> {
        self.0
            .extract_if(.., |written| {
                written.conn == conn && written.number <= number
            })
            .map(|written| (written.number, written.changes))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_taken_once_and_only_up_to_the_number() {
        let mut written = WrittenChanges::default();
        written.record(Some((7, 0)), 0..0);
        written.record(Some((7, 1)), 0..1);
        written.record(Some((7, 1)), 1..2);
        written.record(None, 2..3);
        written.record(Some((8, 1)), 3..4);
        written.record(Some((7, 3)), 4..5);
        assert_eq!(written.take(7, 0), []);
        assert_eq!(written.take(7, 2), [(1, 0..2)]);
        assert_eq!(written.take(7, 2), []);
        assert_eq!(written.take(7, 3), [(3, 4..5)]);
        assert_eq!(written.take(8, 9), [(1, 3..4)]);
    }
}
