//! Values of a key that are too short to see, drawn as one.

use picklock_verdicts::custody::ValueSpan;

use super::cluster::grouped;

/// Several consecutive values of one key of one node, or just one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    /// The only one, or the first.
    pub(super) first: &'a ValueSpan,
    pub(super) to_ns: u64,
    pub(super) count: u64,
    /// For how long there was any of them.
    pub(super) there_ns: u64,
}

/// The values of a lane; see [`grouped`].
pub(super) fn clustered_values<'a>(
    spans: &'a [ValueSpan],
    step_ns: u64,
    kept: &[(u64, u64)],
) -> Vec<Values<'a>> {
    let groups = grouped(spans, step_ns, kept, |it| (it.from_ns, it.until_ns));
    let there_ns = |span: &ValueSpan| span.until_ns.saturating_sub(span.from_ns);
    let values = groups.into_iter().filter_map(|group| {
        Some(Values {
            first: group.first()?,
            to_ns: group.last()?.until_ns,
            count: group.len() as u64,
            there_ns: group.iter().map(there_ns).fold(0, u64::saturating_add),
        })
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::custody::SpanEnd;
    use picklock_verdicts::history::KeyName;

    use super::*;

    fn span(from_ns: u64, until_ns: u64) -> ValueSpan {
        ValueSpan {
            node: 0,
            key: KeyName::Lock(0),
            value: "v".into(),
            author: None,
            from_ns,
            expiry: None,
            until_ns,
            end: SpanEnd::RanOut,
        }
    }

    fn seen(step_ns: u64, kept: &[(u64, u64)]) -> Vec<(u64, u64, u64, u64)> {
        let spans = [span(0, 2), span(3, 5), span(6, 40), span(40, 41), span(45, 46)];
        let shown = clustered_values(&spans, step_ns, kept);
        let seen = shown.iter();
        seen.map(|v| (v.first.from_ns, v.to_ns, v.count, v.there_ns))
            .collect()
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
