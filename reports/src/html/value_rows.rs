//! The rows of the nodes' keys: the values of each key, with author, period and the reason for the end.

use picklock_verdicts::key_history::{Fate, ValueSpan};
use picklock_verdicts::timeline::Timeline;
use serde::Serialize;

use super::cluster::{fitting, grouped};
use super::column::Texts;
use super::name::name;
use crate::measures::meets;
use crate::node_lanes::{NO_KEY_HISTORY, NodeLane, describe_command, describe_end, node_lanes};
use crate::units::span_ns;

/// Maximum number of keys of nodes with a row.
const MAX_ROWS: usize = 48;

/// A value, or several values that are drawn as one. Texts are indexes.
#[derive(Debug, Serialize)]
struct Piece {
    from_ns: u64,
    to_ns: u64,
    value: usize,
    /// The worker that wrote the value. This field and `wrote`, the command, are omitted if the write was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrote: Option<usize>,
    /// When its expiry was last set, and its TTL in milliseconds. Omitted if it has no expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<(u64, i64)>,
    fate: u8,
    end: usize,
    /// The worker whose command ended it, and the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<usize>,
    /// The number of values and their total duration. Omitted for a single value.
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

/// Returns one row for each key of each node that was ever written. `exact` has the spans of violations,
/// disjoint and ordered by time.
pub(super) fn value_rows(
    timeline: &Timeline<'_>,
    exact: &[(u64, u64)],
    max: usize,
    omitted: &mut Vec<String>,
) -> ValueRows {
    let history = timeline.history();
    let Some(lanes) = node_lanes(history) else {
        omitted.push(NO_KEY_HISTORY.to_owned());
        return ValueRows::default();
    };
    let lanes = chosen(lanes, exact, omitted);
    let (pieces, step_ns) = fitting(timeline.end_ns(), max, |step_ns| {
        let each = lanes.iter();
        each.map(|lane| grouped(&lane.values, step_ns, exact, |it| (it.from_ns, it.until_ns)))
            .collect()
    });
    if step_ns > 0 {
        omitted.push(format!(
            "Values of a key within {} of each other are drawn as one, unless they are \
             part of a violation. The run's key-history.jsonl lists each.",
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

/// Returns the lanes to draw: all of them, or if there are too many, first lanes that had a value during a
/// violation.
fn chosen(
    mut lanes: Vec<NodeLane>,
    violations: &[(u64, u64)],
    omitted: &mut Vec<String>,
) -> Vec<NodeLane> {
    let count = lanes.len();
    if count <= MAX_ROWS {
        return lanes;
    }
    let matters = |lane: &NodeLane| {
        let mut spans = lane.values.iter();
        spans.any(|span| meets(violations, span.from_ns, span.until_ns))
    };
    lanes.sort_by_cached_key(|lane| !matters(lane));
    lanes.truncate(MAX_ROWS);
    lanes.sort_by(|a, b| (&a.key, a.node).cmp(&(&b.key, b.node)));
    omitted.push(format!(
        "Only {MAX_ROWS} of {count} keys of nodes have a lane here; keys with a value during a \
         violation come first. The run's key-history.jsonl lists all."
    ));
    lanes
}

impl ValueRows {
    /// Returns the piece that represents these consecutive values.
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
            wrote: author.map(|author| self.text(&describe_command(author))),
            expiry: (span.expiry).map(|expiry| (expiry.set_ns, expiry.ttl_ms)),
            fate: fate_number(span),
            end: self.text(describe_end(&span.end)),
            by: by.map(|by| by.worker),
            took: by.map(|by| self.text(&describe_command(by))),
            many: (values.len() > 1).then_some((values.len() as u64, there_ns)),
        })
    }

    /// Returns the index of an untrusted text, after making it safe to show and truncating it.
    fn text(&mut self, text: &str) -> usize {
        self.texts.index(&name(text).shown)
    }
}

/// Returns the numbers that the page's script uses.
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
            first_ttl_ms: None,
            expiry: None,
            renewals: Vec::new(),
            until_ns,
            end: SpanEnd::RanOut,
        }
    }

    /// Returns start, end, number of values and their total duration for each drawn piece.
    fn seen(step_ns: u64, exact: &[(u64, u64)]) -> Vec<(u64, u64, u64, u64)> {
        let spans = [
            span(0, 2),
            span(3, 5),
            span(6, 40),
            span(40, 41),
            span(45, 46),
        ];
        let groups = grouped(&spans, step_ns, exact, |it| (it.from_ns, it.until_ns));
        let mut rows = ValueRows::default();
        let pieces = groups.into_iter().filter_map(|group| rows.piece(group));
        let seen = pieces.map(|piece| {
            let (count, there_ns) = piece.many.unwrap_or((1, piece.to_ns - piece.from_ns));
            (piece.from_ns, piece.to_ns, count, there_ns)
        });
        seen.collect()
    }

    #[test]
    fn short_values_are_merged_except_during_a_violation() {
        assert_eq!(seen(0, &[]).len(), 5);
        assert_eq!(
            seen(10, &[]),
            [(0, 5, 2, 4), (6, 40, 1, 34), (40, 46, 2, 2)]
        );
        let exact = seen(10, &[(4, 4), (45, 50)]);
        assert_eq!(exact.len(), 5, "{exact:?}");
    }
}
