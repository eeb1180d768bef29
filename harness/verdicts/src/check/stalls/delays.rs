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
    fn new(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut disjoint: Vec<Span> = Vec::with_capacity(spans.len());
        for (from_ns, until_ns) in spans {
            match disjoint.last_mut() {
                Some(last) if last.until_ns >= from_ns => {
                    last.until_ns = last.until_ns.max(until_ns);
                }
                last => {
                    let before = last.map(|last| last.before_ns + (last.until_ns - last.from_ns));
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
            Some(span) => span.before_ns + (at_ns.min(span.until_ns) - span.from_ns),
            None => 0,
        }
    }

    /// How much of them lies between two times.
    fn within(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.before(until_ns).saturating_sub(self.before(from_ns))
    }
}

/// What the harness does at most between two events of a hold: it ends a section or a freeze, writes a request
/// and reads its answer, and the same for the stock.
const ACTS: usize = 6;

/// The time that the harness lost in a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Delays {
    /// When it stood still.
    pauses: Spans,
    /// When it stood still, or a fault was about to strike.
    all: Spans,
}

impl Delays {
    /// Those of this history. `None`: it lost no time.
    pub(in crate::check) fn from_history(history: &History) -> Option<Self> {
        let (mut pauses, mut waits) = (Vec::new(), Vec::new());
        for event in &history.events {
            let at_ns = event.at_ns;
            match event.what {
                EventKind::HarnessStalled { late_ms } => {
                    pauses.push((at_ns.saturating_sub(ms(late_ms)), at_ns));
                }
                EventKind::FaultFired { took_ms, .. } => {
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
            pauses: Spans::new(pauses),
            all: Spans::new(waits),
        })
    }

    /// How long the harness stood still between these times.
    pub(in crate::check) fn paused_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.pauses.within(from_ns, until_ns)
    }

    /// How late the harness can have made an event, counted from the one before it of the same hold. Between the
    /// two it acts a few times ([`ACTS`]), and each act can fall into one pause. All other pauses fell into
    /// the client's work, or into a sleep that ended in time all the same.
    pub(in crate::check) fn late_ns(&self, before_ns: u64, event_ns: u64) -> u64 {
        let spans = &self.pauses.0;
        let from = spans.partition_point(|span| span.until_ns <= before_ns);
        let pauses = spans[from..]
            .iter()
            .take_while(|span| span.from_ns < event_ns);
        let mut lengths: Vec<u64> = pauses
            .map(|span| span.until_ns.min(event_ns) - span.from_ns.max(before_ns))
            .collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        lengths.iter().take(ACTS).sum()
    }

    /// How long faults were about to strike between these times, pauses apart.
    pub(in crate::check) fn waited_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        let all_ns = self.all.within(from_ns, until_ns);
        all_ns.saturating_sub(self.paused_ns(from_ns, until_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_counted_once() {
        let spans = Spans::new(vec![(10, 20), (15, 30), (50, 60)]);
        assert_eq!(spans.within(0, 100), 30);
        assert_eq!(spans.within(12, 18), 6);
        assert_eq!(spans.within(25, 55), 10);
        assert_eq!(spans.within(30, 50), 0);
        assert_eq!(spans.within(60, 5), 0);
        assert_eq!(Spans::default().within(0, 9), 0);
    }

    #[test]
    fn many_short_pauses_make_an_event_no_later_than_the_longest_few() {
        let pauses = (0..100).map(|at| (10 * at, 10 * at + 1 + at % 2)).collect();
        let delays = Delays {
            pauses: Spans::new(pauses),
            all: Spans::default(),
        };
        assert_eq!(delays.late_ns(0, 1000), 2 * ACTS as u64);
        assert_eq!(delays.late_ns(0, 12), 3);
        assert_eq!(delays.late_ns(2, 10), 0);
    }
}
