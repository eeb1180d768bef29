//! The messages of a run for the timeline: the commands of a hold, and the arrows between lanes.

use std::collections::BTreeSet;

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

use super::column::Texts;
use crate::command_log::{CommandLog, Message};
use crate::escape::visible;

/// Maximum number of characters of a message's text.
const MAX_WORDS_LENGTH: usize = 64;

/// One message, in the form of [`Messages::rows`].
type Row = (u64, i64, usize, usize, u8, u64, u8, usize, usize);

/// Messages as rows of numbers; texts and outcomes are indexes into lists.
#[derive(Debug, Default, Serialize)]
pub(super) struct Messages {
    /// Per row: time at the proxy; delay until it was forwarded, or -1 if it was not; worker; node; 1 for a
    /// reply; attempt; the worker's operation (0 idle, 1 acquire, 2 extend, 3 release); outcome; text.
    rows: Vec<Row>,
    outcomes: Texts,
    words: Texts,
}

/// Returns the messages to show: all of them, or at most `max`. If there are more, messages of `ops` (the
/// attempts whose holds overlap) come first, then the oldest.
pub(super) fn messages(
    log: &CommandLog,
    ops: &BTreeSet<u64>,
    max: usize,
    omitted: &mut Vec<String>,
) -> Messages {
    if log.omitted > 0 {
        omitted.push(format!(
            "The command log dropped its oldest {} lines.",
            log.omitted
        ));
    }
    let mut chosen: Vec<&Message> = log.messages.iter().collect();
    if chosen.len() > max {
        omitted.push(format!(
            "Only {max} of {} commands and replies are shown: those of overlaps first, then the \
             earliest. The rest is in the run's commands.jsonl.",
            chosen.len()
        ));
        chosen.sort_by_key(|message| !ops.contains(&message.op));
        chosen.truncate(max);
        chosen.sort_by_key(|message| message.at_ns);
    }
    let mut shown = Messages::default();
    for message in chosen {
        let outcome = shown.outcomes.index(&visible(&message.outcome));
        let cut: String = message.preview.chars().take(MAX_WORDS_LENGTH).collect();
        let words = shown.words.index(&visible(&cut));
        let later_ns = message.sent_ns.map_or(-1, |sent_ns| {
            i64::try_from(sent_ns.saturating_sub(message.at_ns)).unwrap_or(i64::MAX)
        });
        shown.rows.push((
            message.at_ns,
            later_ns,
            message.worker,
            message.node,
            u8::from(message.direction == Direction::Reply),
            message.op,
            phase_number(message.phase),
            outcome,
            words,
        ));
    }
    shown
}

/// Returns the numbers that the page's script uses.
fn phase_number(phase: Phase) -> u8 {
    match phase {
        Phase::Idle => 0,
        Phase::Acquire => 1,
        Phase::Extend => 2,
        Phase::Release => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(at_ns: u64, op: u64) -> Message {
        Message {
            at_ns,
            sent_ns: Some(at_ns + 5),
            worker: 0,
            node: 0,
            direction: Direction::Request,
            op,
            phase: Phase::Acquire,
            outcome: "forwarded".into(),
            preview: "SET k <script>".into(),
        }
    }

    #[test]
    fn messages_of_overlaps_come_first_and_omissions_are_noted() {
        let log = CommandLog {
            messages: (0..10).map(|n| message(n, n)).collect(),
            omitted: 2,
        };
        let mut omitted = Vec::new();
        let shown = messages(&log, &BTreeSet::from([8, 9]), 4, &mut omitted);
        let times: Vec<u64> = shown.rows.iter().map(|row| row.0).collect();
        assert_eq!(times, [0, 1, 8, 9]);
        assert_eq!(shown.rows[0].1, 5);
        assert!(shown.rows.iter().all(|row| row.8 == 0), "{shown:?}");
        assert_eq!(omitted.len(), 2, "{omitted:?}");
    }
}
