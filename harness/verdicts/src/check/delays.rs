//! The time that the harness lost: it stood still, or a fault of nodes took long to strike.

use crate::history::{EventKind, History};
use crate::timeline::ms;

/// Stretches of time, disjoint and in order, with the sum of those before each.
#[derive(Debug, Default)]
struct Spans(Vec<Span>);

#[derive(Debug, Clone, Copy)]
struct Span {
    from_ns: u64,
    until_ns: u64,
    before_ns: u64,
}

impl Spans {
    fn of(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut disjoint: Vec<Span> = Vec::with_capacity(spans.len());
        for (from_ns, until_ns) in spans {
            match disjoint.last_mut() {
                Some(last) if last.until_ns >= from_ns => {
                    last.until_ns = last.until_ns.max(until_ns);
                }
                last => {
                    let before = last.map(|last| last.before_ns + last.until_ns - last.from_ns);
                    disjoint.push(Span {
                        from_ns,
                        until_ns,
                        before_ns: before.unwrap_or(0),
                    });
                }
            }
        }
        Spans(disjoint)
    }

    /// How much of them lies before this time.
    fn before(&self, at_ns: u64) -> u64 {
        let begun = self.0.partition_point(|span| span.from_ns < at_ns);
        match begun.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(span) => span.before_ns + at_ns.min(span.until_ns) - span.from_ns,
            None => 0,
        }
    }

    /// How much of them lies between two times.
    fn within(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.before(until_ns).saturating_sub(self.before(from_ns))
    }
}

/// The time that the harness lost in a run.
#[derive(Debug)]
pub(super) struct Delays {
    /// When it stood still.
    pauses: Spans,
    /// When it stood still, or a fault was about to strike.
    all: Spans,
}

impl Delays {
    /// Those of this history. `None`: it lost no time.
    pub(super) fn of(history: &History) -> Option<Self> {
        let (mut pauses, mut waits) = (Vec::new(), Vec::new());
        for event in &history.events {
            let at_ns = event.at_ns;
            match event.what {
                EventKind::Stalled { late_ms } => {
                    pauses.push((at_ns.saturating_sub(ms(late_ms)), at_ns));
                }
                EventKind::FaultStruck { took_ms, .. } => {
                    waits.push((at_ns.saturating_sub(ms(took_ms)), at_ns));
                }
                _ => {}
            }
        }
        if pauses.is_empty() && waits.is_empty() {
            return None;
        }
        waits.extend_from_slice(&pauses);
        Some(Delays {
            pauses: Spans::of(pauses),
            all: Spans::of(waits),
        })
    }

    /// How long the harness stood still between these times.
    pub(super) fn paused_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.pauses.within(from_ns, until_ns)
    }

    /// How long it stood still from `from_ns`, or was held up by a fault from `begin_ns`, until `until_ns`.
    pub(super) fn lost_ns(&self, from_ns: u64, begin_ns: u64, until_ns: u64) -> u64 {
        let begin_ns = begin_ns.clamp(from_ns, until_ns);
        self.paused_ns(from_ns, begin_ns) + self.all.within(begin_ns, until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_counted_once() {
        let spans = Spans::of(vec![(10, 20), (15, 30), (50, 60)]);
        assert_eq!(spans.within(0, 100), 30);
        assert_eq!(spans.within(12, 18), 6);
        assert_eq!(spans.within(25, 55), 10);
        assert_eq!(spans.within(30, 50), 0);
        assert_eq!(spans.within(60, 5), 0);
        assert_eq!(Spans::default().within(0, 9), 0);
    }
}
