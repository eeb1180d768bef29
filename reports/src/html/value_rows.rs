//! The rows of the nodes' keys: whose value each had, from when to when, and why it ended.

use picklock_verdicts::key_history::{Fate, ValueSpan};
use picklock_verdicts::timeline::Timeline;
use serde::Serialize;

use super::cluster::{fitting, grouped};
use super::column::Texts;
use super::name::name;
use crate::measures::meets;
use crate::node_lanes::{NO_KEY_HISTORY, NodeLane, command_in_words, end_in_words, node_lanes};
use crate::units::span_ns;

/// Further keys of nodes have no row.
const MAX_ROWS: usize = 48;

/// A value, or several that are drawn as one. Texts are indexes.
#[derive(Debug, Serialize)]
struct Piece {
    from_ns: u64,
    to_ns: u64,
    value: usize,
    /// The worker that wrote it, and its command; left out if that was not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrote: Option<usize>,
    /// When its expiry was set last, and its length in milliseconds; left out if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<(u64, i64)>,
    fate: u8,
    end: usize,
    /// The worker whose command ended it, and the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<usize>,
    /// How many values it stands for, and for how long there was one; left out if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    many: Option<(u64, u64)>,
}

/// The rows, and the texts that they share.
#[derive(Debug, Default, Serialize)]
pub(super) struct ValueRows {
    rows: Vec<ValueRow>,
    texts: Texts,
}

/// One key of one node.
#[derive(Debug, Serialize)]
struct ValueRow {
    node: usize,
    key: String,
    pieces: Vec<Piece>,
}

/// One row for each key of each node that was ever written. `kept`: when violations showed;
/// disjoint spans in order of time.
pub(super) fn value_rows(
    timeline: &Timeline<'_>,
    kept: &[(u64, u64)],
    most: usize,
    omitted: &mut Vec<String>,
) -> ValueRows {
    let history = timeline.history();
    let Some(lanes) = node_lanes(history) else {
        omitted.push(NO_KEY_HISTORY.to_owned());
        return ValueRows::default();
    };
    let lanes = chosen(lanes, kept, omitted);
    let (pieces, step_ns) = fitting(timeline.end_ns(), most, |step_ns| {
        let each = lanes.iter();
        each.map(|lane| grouped(&lane.values, step_ns, kept, |it| (it.from_ns, it.until_ns)))
            .collect()
    });
    if step_ns > 0 {
        omitted.push(format!(
            "Values of a key that followed each other within {} are drawn as one, unless they are \
             part of a violation. The run's key-history.jsonl has each.",
            span_ns(step_ns)
        ));
    }
    let mut rows = ValueRows::default();
    for (lane, values) in lanes.iter().zip(pieces) {
        let pieces = values.into_iter().filter_map(|values| rows.piece(values));
        let pieces = pieces.collect();
        rows.rows.push(ValueRow {
            node: lane.node,
            key: name(lane.key.text(&history.header.keys)).shown,
            pieces,
        });
    }
    rows
}

/// The lanes that are drawn: all of them, or if there are too many, first those that had a value
/// when a violation showed.
fn chosen(
    mut lanes: Vec<NodeLane>,
    kept: &[(u64, u64)],
    omitted: &mut Vec<String>,
) -> Vec<NodeLane> {
    let count = lanes.len();
    if count <= MAX_ROWS {
        return lanes;
    }
    let matters = |lane: &NodeLane| {
        let mut spans = lane.values.iter();
        spans.any(|span| meets(kept, span.from_ns, span.until_ns))
    };
    lanes.sort_by_cached_key(|lane| !matters(lane));
    lanes.truncate(MAX_ROWS);
    lanes.sort_by(|a, b| (&a.key, a.node).cmp(&(&b.key, b.node)));
    omitted.push(format!(
        "Of {count} keys of nodes {MAX_ROWS} have a lane here; those with a value during a \
         violation come first. The run's key-history.jsonl has all."
    ));
    lanes
}

impl ValueRows {
    /// What these consecutive values, or just one, are drawn as.
    fn piece(&mut self, values: &[ValueSpan]) -> Option<Piece> {
        let (span, last) = (values.first()?, values.last()?);
        let lasted_ns = |it: &ValueSpan| it.until_ns.saturating_sub(it.from_ns);
        let there_ns = values.iter().map(lasted_ns).fold(0, u64::saturating_add);
        let (author, by) = (span.author.as_ref(), span.end.by());
        Some(Piece {
            from_ns: span.from_ns,
            to_ns: last.until_ns,
            value: self.text(&span.value),
            who: author.map(|author| author.worker),
            wrote: author.map(|author| self.text(&command_in_words(author))),
            expiry: (span.expiry).map(|expiry| (expiry.set_ns, expiry.ttl_ms)),
            fate: fate_number(span),
            end: self.text(end_in_words(&span.end)),
            by: by.map(|by| by.worker),
            took: by.map(|by| self.text(&command_in_words(by))),
            many: (values.len() > 1).then_some((values.len() as u64, there_ns)),
        })
    }

    /// The index of an untrusted text, made safe to show and truncated.
    fn text(&mut self, text: &str) -> usize {
        self.texts.index(&name(text).shown)
    }
}

/// The numbers that the page's script uses.
fn fate_number(span: &ValueSpan) -> u8 {
    match span.fate() {
        Fate::Stays => 0,
        Fate::Ended => 1,
        Fate::Taken => 2,
        Fate::Lost => 3,
    }
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::history::KeyName;
    use picklock_verdicts::key_history::SpanEnd;

    use super::*;

    fn span(from_ns: u64, until_ns: u64) -> ValueSpan {
        ValueSpan {
            node: 0,
            key: KeyName::Lock(0),
            value: "v".into(),
            author: None,
            from_ns,
            expiry: None,
            renewals: Vec::new(),
            until_ns,
            end: SpanEnd::RanOut,
        }
    }

    /// From, to, count and the time that there was any, of what is drawn.
    fn seen(step_ns: u64, kept: &[(u64, u64)]) -> Vec<(u64, u64, u64, u64)> {
        let spans = [
            span(0, 2),
            span(3, 5),
            span(6, 40),
            span(40, 41),
            span(45, 46),
        ];
        let groups = grouped(&spans, step_ns, kept, |it| (it.from_ns, it.until_ns));
        let mut rows = ValueRows::default();
        let pieces = groups.into_iter().filter_map(|group| rows.piece(group));
        let seen = pieces.map(|piece| {
            let (count, there_ns) = piece.many.unwrap_or((1, piece.to_ns - piece.from_ns));
            (piece.from_ns, piece.to_ns, count, there_ns)
        });
        seen.collect()
    }

    #[test]
    fn short_neighbours_are_one_and_what_a_violation_touches_stays() {
        assert_eq!(seen(0, &[]).len(), 5);
        assert_eq!(
            seen(10, &[]),
            [(0, 5, 2, 4), (6, 40, 1, 34), (40, 46, 2, 2)]
        );
        let kept = seen(10, &[(4, 4), (45, 50)]);
        assert_eq!(kept.len(), 5, "{kept:?}");
    }
}
