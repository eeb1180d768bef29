//! Leaders that act without a key.

use crate::history::{EventKind, History};
use crate::key_history::ValueSpan;
use crate::timeline::Hold;

/// Returns when the lock first let the leader of `first` act although no lease of its key could run any more and
/// `second` was led by another client, or `None` if it never did.
///
/// `own` are the values that the attempt of `first` wrote. Each writing or renewal of a value justifies answers for one
/// lease, whatever happened to the value on the servers in the meantime. A lock that relies on its lease for this time
/// is not to blame here; the key history decides the cause. After that, nothing justifies the answer.
pub(in crate::check) fn phantom_ns(
    history: &History,
    own: &[&ValueSpan],
    first: &Hold,
    second: &Hold,
) -> Option<u64> {
    let written = own.iter().filter(|span| span.may_be_lock_value());
    let renewed = written.flat_map(|span| {
        let renewals = span.renewals.iter().map(|renewal| renewal.at_ns);
        renewals.chain([span.from_ns])
    });
    let latest_ns = |at_ns: u64| {
        let earlier = renewed.clone().filter(|renewed_ns| *renewed_ns <= at_ns);
        earlier.max()
    };
    let mut answers = history.events.iter().filter(|event| {
        matches!(event.what, EventKind::MayAct { op, .. } if op == first.op)
            && event.at_ns >= second.begin_ns
    });
    answers
        .find(|answer| {
            let ended_ns = latest_ns(answer.at_ns).map(|ns| ns.saturating_add(first.ttl_ns));
            ended_ns.is_some_and(|ended_ns| ended_ns < answer.at_ns)
        })
        .map(|answer| answer.at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read_history;
    use crate::key_history::KeyHistory;
    use crate::timeline::{Timeline, ms_from_ns};

    /// A leader's key is removed at 100 ms, and another client leads from 150 ms on. At `at_ms`, the lock confirms to
    /// the first leader that it may act.
    fn phantom_ms(at_ms: u64) -> Option<u64> {
        let text = format!(
            r#"{{"format":"picklock-history/1","scenario":"leader","lock":"example","backend":"sim","seed":1,"workers":2,"nodes":1,"keys":["lock"],"ttl_ms":1000,"stock_start":9,"update":"write","min_grants":0,"progress_within_ms":3000,"key_history":true}}
{{"at_ns":1,"event":"acquire","worker":0,"op":1,"key":0,"ttl_ms":1000,"wait_ms":0}}
{{"at_ns":2000000,"event":"key-changed","node":0,"key":0,"value":"a","ttl_ms":1000,"why":"command","worker":0,"op":1,"phase":"acquire","command":"SET"}}
{{"at_ns":3000000,"event":"granted","worker":0,"op":1,"token":"a","fence":1}}
{{"at_ns":100000000,"event":"key-changed","node":0,"key":0,"why":"evicted"}}
{{"at_ns":140000000,"event":"acquire","worker":1,"op":2,"key":0,"ttl_ms":1000,"wait_ms":0}}
{{"at_ns":150000000,"event":"granted","worker":1,"op":2,"token":"b","fence":2}}
{{"at_ns":{at_ns},"event":"act","worker":0,"op":1}}
{{"at_ns":{at_ns},"event":"may-act","worker":0,"op":1,"epoch":1}}
"#,
            at_ns = at_ms * 1_000_000
        );
        let history = read_history(text.as_bytes()).unwrap();
        let key_history = KeyHistory::from_history(&history);
        let timeline = Timeline::new(&history);
        let [first, second] = timeline.holds() else {
            unreachable!("two holds");
        };
        let own: Vec<&ValueSpan> = key_history
            .spans
            .iter()
            .filter(|span| span.is_of(0, 1))
            .collect();
        assert!(!own.is_empty(), "the value has its author");
        let at_ns = phantom_ns(&history, &own, first, second);
        at_ns.map(ms_from_ns)
    }

    #[test]
    fn leader_is_a_phantom_once_no_lease_of_its_key_can_run() {
        // Within one lease after the last write, the server is to blame, because it lost the key.
        assert_eq!(phantom_ms(900), None);
        assert_eq!(phantom_ms(1100), Some(1100));
    }
}
