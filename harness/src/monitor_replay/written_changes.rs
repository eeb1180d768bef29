use std::ops::Range;

/// One command's changes, by their positions among the node's.
#[derive(Debug)]
struct Written {
    conn: u64,
    number: u64,
    changes: Range<usize>,
}

/// The commands of one node that have changed keys, in the order of their execution.
#[derive(Debug, Default)]
pub(super) struct WrittenChanges(Vec<Written>);

impl WrittenChanges {
    /// A command, given as its connection and its number there, has made these changes.
    pub(super) fn note(&mut self, request: Option<(u64, u64)>, changes: Range<usize>) {
        let Some((conn, number)) = request.filter(|_| !changes.is_empty()) else {
            return;
        };
        match self.0.last_mut() {
            // The commands of a script follow each other.
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

    /// Takes out what the connection has written up to the command with this number: the number of each
    /// command, and its changes.
    pub(super) fn take(&mut self, conn: u64, number: u64) -> Vec<(u64, Range<usize>)> {
        let asked = |written: &mut Written| written.conn == conn && written.number <= number;
        let taken = self.0.extract_if(.., asked);
        taken
            .map(|written| (written.number, written.changes))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_asked_about_once_and_not_before_its_command_is_answered() {
        let mut written = WrittenChanges::default();
        written.note(Some((7, 0)), 0..0);
        written.note(Some((7, 1)), 0..1);
        written.note(Some((7, 1)), 1..2);
        written.note(None, 2..3);
        written.note(Some((8, 1)), 3..4);
        written.note(Some((7, 3)), 4..5);
        assert_eq!(written.take(7, 0), []);
        assert_eq!(written.take(7, 2), [(1, 0..2)]);
        assert_eq!(written.take(7, 2), []);
        assert_eq!(written.take(7, 3), [(3, 4..5)]);
        assert_eq!(written.take(8, 9), [(1, 3..4)]);
    }
}
