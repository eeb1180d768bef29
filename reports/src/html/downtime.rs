//! The periods in which a worker was not running.

use std::collections::BTreeMap;

use picklock_verdicts::history::EventKind;
use picklock_verdicts::timeline::Timeline;
use serde::Serialize;

use super::name::sentence;

#[derive(Debug, Serialize)]
pub(super) struct Downtime {
    from_ns: u64,
    to_ns: u64,
    words: String,
}

pub(super) fn downtimes(timeline: &Timeline<'_>) -> BTreeMap<usize, Vec<Downtime>> {
    let end_ns = timeline.end_ns();
    let mut downtimes: BTreeMap<usize, Vec<Downtime>> = BTreeMap::new();
    for event in &timeline.history().events {
        match &event.what {
            EventKind::WorkerDown { worker, reason, .. } => {
                downtimes.entry(*worker).or_default().push(Downtime {
                    from_ns: event.at_ns,
                    to_ns: end_ns,
                    words: sentence(reason).shown,
                });
            }
            EventKind::WorkerUp { worker, .. } => {
                if let Some(last) = downtimes.get_mut(worker).and_then(|spans| spans.last_mut())
                    && last.to_ns == end_ns
                {
                    last.to_ns = event.at_ns;
                }
            }
            _ => {}
        }
    }
    downtimes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::small_history::history;

    #[test]
    fn worker_is_down_until_its_restart() {
        let down = || EventKind::WorkerDown {
            worker: 1,
            by_fault: true,
            reason: "killed".into(),
            ended_by: None,
        };
        let up = EventKind::WorkerUp {
            worker: 1,
            incarnation: 1,
        };
        let dead = downtimes(&Timeline::new(&history(vec![
            (10, down()),
            (20, up),
            (30, down()),
            (40, EventKind::Refused { worker: 0, op: 1 }),
        ])));
        let spans: Vec<(u64, u64)> = dead[&1].iter().map(|d| (d.from_ns, d.to_ns)).collect();
        assert_eq!(spans, [(10, 20), (30, 40)]);
    }
}
