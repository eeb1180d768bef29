//! A story in the making: everything that could be told, of which the most important is chosen.

use picklock_scenarios::Phase;

use crate::check::evidence::Evidence;
use crate::check::finding::{ForeignRelease, Taking};
use crate::check::verdict::STORY_LINES;
use crate::history::EventKind;
use crate::timeline::{Hold, HoldEnd};

use super::custody::sender;
use super::sentence::{Weight, clock, length, lock, sentence};

/// All lines that a story could have.
#[derive(Debug, Default)]
pub(super) struct Draft {
    lines: Vec<(u64, Weight, String)>,
}

impl Draft {
    pub fn tell(&mut self, at_ns: u64, weight: Weight, text: impl Into<String>) {
        self.lines.push((at_ns, weight, text.into()));
    }

    /// What happened to these attempts, without their grants, and the faults of that time.
    pub fn tell_of(&mut self, evidence: &Evidence<'_>, ops: &[u64], from_ns: u64, to_ns: u64) {
        let events = &evidence.history.events;
        let begin = events.partition_point(|event| event.at_ns < from_ns);
        for event in &events[begin..] {
            if (event.what.attempt()).is_some_and(|(_, op)| ops.contains(&op))
                && let Some((weight, text)) = sentence(&evidence.history.header, &event.what)
            {
                self.tell(event.at_ns, weight, text);
            }
            let ends = matches!(&event.what, EventKind::WorkerDown { .. });
            if event.at_ns > to_ns && !ends {
                break;
            }
        }
        self.tell_faults(evidence, from_ns, to_ns);
    }

    pub fn tell_faults(&mut self, evidence: &Evidence<'_>, from_ns: u64, to_ns: u64) {
        let faults = evidence.timeline.faults().iter();
        for fault in faults.filter(|fault| !fault.missed && fault.touches(from_ns, to_ns)) {
            if let Some(worker) = fault.escaped.first() {
                let text = format!("{} began, but did not reach worker {worker}", fault.detail);
                self.tell(fault.began_ns, Weight::Background, text);
                continue;
            }
            let began = format!("{} began", fault.detail);
            self.tell(fault.began_ns, Weight::Reason, began);
            if let Some(ended_ns) = fault.ended_ns.filter(|ended_ns| *ended_ns <= to_ns) {
                let over = format!("{} ended", fault.detail);
                self.tell(ended_ns, Weight::Background, over);
            }
        }
    }

    pub fn tell_grant(&mut self, evidence: &Evidence<'_>, hold: &Hold) {
        let lock = lock(&evidence.history.header, hold.key);
        let lease = own_lease(evidence, hold);
        let text = format!("worker {} got {lock}{lease}", hold.worker);
        self.tell(hold.begin_ns, Weight::Plot, text);
    }

    /// An extension after the lease had certainly expired.
    pub fn tell_resumed_lease(&mut self, hold: &Hold) {
        let leases = &hold.possible_leases;
        let resumed = leases.iter().find(|l| l.from_ns > hold.begin_ns);
        if let Some(lease) = resumed {
            let text = format!(
                "worker {} extended an expired lease, as if the lock were still its own",
                hold.worker
            );
            self.tell(lease.from_ns, Weight::Plot, text);
        }
    }

    pub fn tell_kill(&mut self, hold: &Hold) {
        if hold.ended == HoldEnd::Killed {
            let text = format!("worker {} died", hold.worker);
            self.tell(hold.end_ns, Weight::Reason, text);
        }
    }

    /// The foreign releases of a key between two times, both excluded.
    pub fn tell_foreign_releases(
        &mut self,
        evidence: &Evidence<'_>,
        key: u32,
        from_ns: u64,
        to_ns: u64,
    ) {
        let releases = evidence.foreign_releases().iter();
        for release in releases.filter(|release| {
            release.key == key && release.struck_ns > from_ns && release.struck_ns < to_ns
        }) {
            self.tell_foreign_release(evidence, release);
        }
    }

    pub fn tell_foreign_release(&mut self, evidence: &Evidence<'_>, release: &ForeignRelease) {
        let name = |op: u64| match evidence.worker_of(op) {
            Some(worker) => format!("worker {worker}"),
            None => "another client".to_owned(),
        };
        let since = match evidence.hold(release.owner) {
            Some(owner) if owner.begin_ns <= release.struck_ns => {
                let ago = length(release.struck_ns - owner.begin_ns);
                format!("granted {ago} earlier")
            }
            _ => {
                let ago = length(release.struck_ns.saturating_sub(release.owned_ns));
                format!("written {ago} earlier")
            }
        };
        let releaser = name(release.releaser);
        let by = evidence.taken_by(release).map(|(by, _)| by);
        let outside = by.filter(|by| !matches!(by.phase, Phase::Release | Phase::Extend));
        let what = match (release.how, outside) {
            (Taking::Removed, Some(by)) => sender(evidence, by, release.key, release.struck_ns),
            (Taking::Removed, None) => format!("the release of {releaser}"),
            (Taking::Prolonged, _) => match by {
                Some(by) => format!("the renewal of {releaser} ({})", by.command),
                None => format!("the renewal of {releaser}"),
            },
            (Taking::Replaced, _) => match evidence.is_extension(release) {
                true => format!("the renewal of {releaser}"),
                false => format!("the release of {releaser}"),
            },
        };
        let did = match release.how {
            Taking::Prolonged => "prolonged",
            _ => "took",
        };
        let owner = name(release.owner);
        let text = format!("{what} {did} the lock of {owner}, {since}");
        self.tell(release.struck_ns, Weight::Plot, text);
    }

    /// The most important lines, in order of time.
    pub fn finish(mut self) -> Vec<String> {
        // Lines with the same time stay in the order in which they were told.
        let mut lines: Vec<_> = self.lines.drain(..).enumerate().collect();
        lines.sort_by_key(|(_, (at_ns, weight, _))| (*weight, *at_ns));
        lines.truncate(STORY_LINES);
        lines.sort_by_key(|(order, (at_ns, _, _))| (*at_ns, *order));
        let lines = lines.into_iter();
        lines
            .map(|(_, (at_ns, _, text))| format!("{}  {text}", clock(at_ns)))
            .collect()
    }
}

/// ` (lease until 1.810 s)`, or that the lease had already expired.
fn own_lease(evidence: &Evidence<'_>, hold: &Hold) -> String {
    let until = clock(hold.first_deadline_ns);
    if hold.first_deadline_ns > hold.begin_ns {
        format!(" (lease until {until})")
    } else if evidence.arrived_late(hold) {
        format!(", but its lease had expired at {until}")
    } else {
        String::new()
    }
}
