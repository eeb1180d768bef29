//! How much a worker may say that nobody asked it for. A history has a line for each, so a worker
//! that never stops would fill the memory and the disk: it is ended instead.

use crate::adapter::message::MAX_EVENTS;

/// Lines of one start of a worker that are no messages, or that nobody asked for.
const MAX_OUT_OF_TURN: u32 = 100;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The answer to the open request.
    Answer,
    /// An event about a grant that there was.
    Event,
    /// Anything else.
    OutOfTurn,
}

/// The lines of one start of a worker.
#[derive(Debug, Default)]
pub(super) struct OutputBudget {
    out_of_turn: u32,
    events: u32,
}

impl OutputBudget {
    /// Counts a line. `Some`: it is one too many, and why the worker is ended.
    pub(super) fn spend(&mut self, line: LineKind) -> Option<String> {
        match line {
            LineKind::Answer => return None,
            LineKind::Event => self.events += 1,
            LineKind::OutOfTurn => self.out_of_turn += 1,
        }
        let why = if self.out_of_turn > MAX_OUT_OF_TURN {
            format!("{MAX_OUT_OF_TURN} lines that are no messages or that nobody had asked for")
        } else if self.events > MAX_EVENTS {
            format!("{MAX_EVENTS} events")
        } else {
            return None;
        };
        Some(format!("it wrote more than {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_too_many_ends_the_worker() {
        for (line, most, word) in [
            (LineKind::OutOfTurn, MAX_OUT_OF_TURN, "nobody had asked for"),
            (LineKind::Event, MAX_EVENTS, "20000 events"),
        ] {
            let mut budget = OutputBudget::default();
            for _ in 0..most {
                assert_eq!(budget.spend(line), None);
                assert_eq!(budget.spend(LineKind::Answer), None);
            }
            let reason = budget.spend(line).unwrap();
            assert!(reason.contains(word), "{reason}");
        }
    }
}
