//! The messages of a run for the timeline: commands of a hold, and arrows between lanes.

use std::collections::BTreeSet;

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

use super::column::Texts;
use crate::command_log::{CommandLog, Message};
use crate::escape::visible;

/// The text of a message is truncated after this many characters.
const MAX_WORDS_LENGTH: usize = 64;

/// One message, in the form of [`Messages::rows`].
type Row = (u64, i64, usize, usize, u8, u64, u8, usize, usize);

/// Messages as rows of numbers; texts and outcomes are indexes into lists.
#[derive(Debug, Default, Serialize)]
pub(super) struct Messages {
    /// Time at the proxy, delay until it was forwarded (-1: it was not), worker, node, 1 for a
    /// reply, attempt, the worker's operation (0 idle, 1 acquire, 2 extend, 3 release), outcome,
    /// text.
    rows: Vec<Row>,
    outcomes: Texts,
    words: Texts,
}

/// The shown messages: all of them, or if there are too many, those of `ops` (attempts whose holds
/// overlap), then the oldest.
pub(super) fn messages(
    log: &CommandLog,
    ops: &BTreeSet<u64>,
    most: usize,
    omitted: &mut Vec<String>,
) -> Messages {
    if log.omitted > 0 {
        omitted.push(format!(
            "The command log had no room for its oldest {} lines.",
            log.omitted
        ));
    }
    let mut chosen: Vec<&Message> = log.messages.iter().collect();
    if chosen.len() > most {
        omitted.push(format!(
            "Of {} commands and replies {most} are shown: those of overlaps come first, then the \
             earliest. The rest is in the run's commands.jsonl.",
            chosen.len()
        ));
        chosen.sort_by_key(|message| !ops.contains(&message.op));
        chosen.truncate(most);
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

/// The numbers that the page's script uses.
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
    fn overlaps_come_first_and_what_is_missing_is_said() {
        let log = CommandLog {
            messages: (0..10).map(|n| message(n, n)).collect(),
            omitted: 2,
        };
        let mut said = Vec::new();
        let shown = messages(&log, &BTreeSet::from([8, 9]), 4, &mut said);
        let times: Vec<u64> = shown.rows.iter().map(|row| row.0).collect();
        assert_eq!(times, [0, 1, 8, 9]);
        assert_eq!(shown.rows[0].1, 5);
        assert!(shown.rows.iter().all(|row| row.8 == 0), "{shown:?}");
        assert_eq!(said.len(), 2, "{said:?}");
    }
}
