//! Limits the unrequested output of a worker. The history has an event for each line, so a worker that never stops
//! writing would fill the memory and the disk. Such a worker is ended.

use crate::adapter::message::MAX_EVENTS;

/// Maximum number of lines per start of a worker that are not messages or were not requested.
const MAX_OUT_OF_TURN: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The answer to the pending request.
    Answer,
    /// An event about a known grant.
    Event,
    /// Anything else.
    OutOfTurn,
}

/// Counts the lines of one start of a worker.
#[derive(Debug, Default)]
pub(super) struct OutputBudget {
    out_of_turn: u32,
    events: u32,
}

impl OutputBudget {
    /// Counts a line. Returns the reason to end the worker if the line exceeds a limit.
    pub(super) fn spend(&mut self, line: LineKind) -> Option<String> {
        match line {
            LineKind::Answer => return None,
            LineKind::Event => self.events += 1,
            LineKind::OutOfTurn => self.out_of_turn += 1,
        }
        let why = if self.out_of_turn > MAX_OUT_OF_TURN {
            format!("{MAX_OUT_OF_TURN} lines that are not messages or were not requested")
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
    fn line_beyond_a_limit_ends_the_worker() {
        for (line, max, word) in [
            (LineKind::OutOfTurn, MAX_OUT_OF_TURN, "were not requested"),
            (LineKind::Event, MAX_EVENTS, "20000 events"),
        ] {
            let mut budget = OutputBudget::default();
            for _ in 0..max {
                assert_eq!(budget.spend(line), None);
                assert_eq!(budget.spend(LineKind::Answer), None);
            }
            let reason = budget.spend(line).unwrap();
            assert!(reason.contains(word), "{reason}");
        }
    }
}
