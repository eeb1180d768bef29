//! Stories: a violation told in at most ten plain sentences, with times and worker numbers.
//!
//! Everything that concerns the attempts in question is gathered, the most telling lines are
//! kept, and those are told in order of time.

use crate::history::What;
use crate::timeline::{Hold, HoldEnd, Lease, ms};

use super::cause;
use super::evidence::Evidence;
use super::fencing::StaleToken;
use super::ownership::Theft;
use super::progress::Stall;
use super::resource::Oversale;
use super::sentence::{Weight, clock, length, lock, op_of, sentence, stock};

/// A story has so many lines at most.
pub(super) const LINES: usize = 10;

/// Lines that have not been chosen from yet.
#[derive(Debug, Default)]
struct Draft {
    lines: Vec<(u64, Weight, String)>,
}

impl Draft {
    fn tell(&mut self, at_ns: u64, weight: Weight, text: impl Into<String>) {
        self.lines.push((at_ns, weight, text.into()));
    }

    /// What happened to these attempts, their grants left out, and the faults of that time.
    fn tell_of(&mut self, evidence: &Evidence<'_>, ops: &[u64], from_ns: u64, to_ns: u64) {
        let events = &evidence.history.events;
        let begin = events.partition_point(|event| event.at_ns < from_ns);
        for event in &events[begin..] {
            if op_of(&event.what).is_some_and(|op| ops.contains(&op))
                && let Some((weight, text)) = sentence(&evidence.history.header, &event.what)
            {
                self.tell(event.at_ns, weight, text);
            }
            let ends = matches!(&event.what, What::WorkerDown { .. });
            if event.at_ns > to_ns && !ends {
                break;
            }
        }
        self.tell_faults(evidence, from_ns, to_ns);
    }

    fn tell_faults(&mut self, evidence: &Evidence<'_>, from_ns: u64, to_ns: u64) {
        let faults = evidence.faults().iter();
        for fault in faults.filter(|fault| fault.touches(from_ns, to_ns)) {
            let began = format!("{} began", fault.detail);
            self.tell(fault.began_ns, Weight::Reason, began);
            if let Some(ended_ns) = fault.ended_ns.filter(|ended_ns| *ended_ns <= to_ns) {
                let over = format!("{} was over", fault.detail);
                self.tell(ended_ns, Weight::Colour, over);
            }
        }
    }

    fn tell_grant(&mut self, evidence: &Evidence<'_>, hold: &Hold) {
        let lock = lock(&evidence.history.header, hold.key);
        let lease = own_lease(evidence, hold);
        let text = format!("worker {} got {lock}{lease}", hold.worker);
        self.tell(hold.begin_ns, Weight::Plot, text);
    }

    /// An extension that came after the lease had run out.
    fn tell_resumed_lease(&mut self, hold: &Hold) {
        let resumed = hold.leases.iter().find(|l| l.from_ns > hold.begin_ns);
        if let Some(lease) = resumed {
            let text = format!(
                "worker {} extended a lease that had run out, as if the lock were still its own",
                hold.worker
            );
            self.tell(lease.from_ns, Weight::Plot, text);
        }
    }

    fn tell_kill(&mut self, hold: &Hold) {
        if hold.ended == HoldEnd::Killed {
            let text = format!("worker {} was gone", hold.worker);
            self.tell(hold.end_ns, Weight::Reason, text);
        }
    }

    fn tell_thefts(&mut self, evidence: &Evidence<'_>, key: u32, from_ns: u64, to_ns: u64) {
        let thefts = evidence.thefts().iter();
        for theft in thefts.filter(|theft| {
            theft.key == key && theft.struck_ns > from_ns && theft.struck_ns < to_ns
        }) {
            self.tell_theft(evidence, theft);
        }
    }

    fn tell_theft(&mut self, evidence: &Evidence<'_>, theft: &Theft) {
        if let (Some(thief), Some(victim)) =
            (evidence.hold(theft.thief), evidence.hold(theft.victim))
        {
            let text = format!(
                "the release of worker {} took the lock of worker {}, granted {} before",
                thief.worker,
                victim.worker,
                length(theft.struck_ns.saturating_sub(victim.begin_ns))
            );
            self.tell(theft.struck_ns, Weight::Plot, text);
        }
    }

    fn finish(mut self) -> Vec<String> {
        // Lines of one moment stay in the order in which they were told.
        let mut lines: Vec<_> = self.lines.drain(..).enumerate().collect();
        lines.sort_by_key(|(_, (at_ns, weight, _))| (*weight, *at_ns));
        lines.truncate(LINES);
        lines.sort_by_key(|(order, (at_ns, _, _))| (*at_ns, *order));
        let lines = lines.into_iter();
        lines
            .map(|(_, (at_ns, _, text))| format!("{}  {text}", clock(at_ns)))
            .collect()
    }
}

/// ` (lease until 1.810 s)`, or that there was none any more.
fn own_lease(evidence: &Evidence<'_>, hold: &Hold) -> String {
    let until = clock(hold.first_deadline_ns);
    if hold.first_deadline_ns > hold.begin_ns {
        format!(" (lease until {until})")
    } else if cause::arrived_late(evidence, hold) {
        format!(", but its lease had run out at {until}")
    } else {
        String::new()
    }
}

/// Two holds of one key that overlap.
pub(super) fn of_overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Vec<String> {
    overlap(evidence, first, second).finish()
}

fn overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Draft {
    let mut draft = Draft::default();
    let until_ns = first.end_ns.max(second.end_ns);
    draft.tell_grant(evidence, first);
    let lock = lock(&evidence.history.header, first.key);
    let lease = if cause::arrived_late(evidence, second) {
        let until = clock(second.first_deadline_ns);
        format!("its own lease had run out at {until}")
    } else {
        lease_at(first, second.begin_ns)
    };
    let text = format!(
        "worker {} got {lock} while worker {} still held it: {lease}",
        second.worker, first.worker,
    );
    draft.tell(second.begin_ns, Weight::Plot, text);
    draft.tell_thefts(evidence, first.key, first.begin_ns, second.begin_ns);
    draft.tell_of(
        evidence,
        &[first.op, second.op],
        first.acquire_ns.min(second.acquire_ns),
        until_ns,
    );
    for hold in [first, second] {
        draft.tell_resumed_lease(hold);
        draft.tell_kill(hold);
    }
    draft
}

/// What the lease of a holder was when somebody else got the lock.
fn lease_at(hold: &Hold, at_ns: u64) -> String {
    let worker = hold.worker;
    let begun = |lease: &&Lease| lease.from_ns <= at_ns;
    match hold.leases.iter().rev().find(begun) {
        Some(lease) if lease.until_ns > at_ns => {
            // Leases are cut at the hold's end, which nobody knew then.
            let cut = lease.until_ns == hold.end_ns;
            let until_ns = if cut {
                hold.deadline_ns
            } else {
                lease.until_ns
            };
            format!("worker {worker}'s lease ran until {}", clock(until_ns))
        }
        Some(lease) => {
            let ago = length(at_ns - lease.until_ns);
            format!("worker {worker}'s lease had run out {ago} before")
        }
        None => format!("how long worker {worker}'s lease ran is not known"),
    }
}

/// A stock that does not add up.
pub(super) fn of_oversale(evidence: &Evidence<'_>, oversale: &Oversale) -> Vec<String> {
    let header = &evidence.history.header;
    let mut draft = match cause::guilty_pair(evidence, oversale) {
        Some((first, second)) => overlap(evidence, first, second),
        None => {
            let mut draft = Draft::default();
            let ops: Vec<u64> = oversale.op.into_iter().collect();
            draft.tell_of(evidence, &ops, 0, oversale.at_ns);
            draft
        }
    };
    if oversale.left >= 0 {
        let stock = stock(header, oversale.key);
        let text = format!(
            "{} sold and {} left do not add up to the {} with which {stock} began",
            oversale.sold, oversale.left, header.stock_start
        );
        draft.tell(oversale.at_ns, Weight::Plot, text);
    }
    draft.finish()
}

/// A release that took another's lock.
pub(super) fn of_theft(evidence: &Evidence<'_>, theft: &Theft) -> Vec<String> {
    let mut draft = Draft::default();
    draft.tell_theft(evidence, theft);
    if let (Some(thief), Some(victim)) = (evidence.hold(theft.thief), evidence.hold(theft.victim)) {
        draft.tell_grant(evidence, thief);
        draft.tell_grant(evidence, victim);
        draft.tell_of(
            evidence,
            &[thief.op, victim.op],
            thief.acquire_ns.min(victim.acquire_ns),
            victim.end_ns.max(theft.struck_ns),
        );
    }
    draft.finish()
}

/// A token that was not higher than one before it.
pub(super) fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken) -> Vec<String> {
    let mut draft = Draft::default();
    let earlier = evidence.holds().iter().find(|hold| {
        hold.begin_ns <= stale.at_ns && hold.op != stale.op && hold.fence == Some(stale.highest)
    });
    if let Some(earlier) = earlier {
        let text = format!(
            "worker {} got the lock with token {}",
            earlier.worker, stale.highest
        );
        draft.tell(earlier.begin_ns, Weight::Plot, text);
        draft.tell_faults(evidence, earlier.acquire_ns, stale.at_ns);
    }
    if let Some(hold) = evidence.hold(stale.op) {
        let text = format!(
            "worker {} got the lock with token {}, which is not higher than {}",
            hold.worker, stale.fence, stale.highest
        );
        draft.tell(stale.at_ns, Weight::Plot, text);
    }
    draft.finish()
}

/// A time in which nobody got a lock that was free.
pub(super) fn of_stall(evidence: &Evidence<'_>, stall: &Stall) -> Vec<String> {
    let header = &evidence.history.header;
    let lock = lock(header, stall.key);
    let mut draft = Draft::default();
    draft.tell_faults(evidence, 0, stall.from_ns);
    let last = evidence.holds().iter().rev();
    let last = last
        .filter(|hold| hold.key == stall.key)
        .find(|hold| hold.begin_ns <= stall.from_ns);
    if let Some(last) = last {
        draft.tell_grant(evidence, last);
        draft.tell_kill(last);
        draft.tell_of(evidence, &[last.op], last.begin_ns, stall.from_ns);
    }
    if let Some((worker, at_ns)) = stall.doubt {
        let text = format!(
            "worker {worker}'s attempt to get {lock} ended without a certain answer: it may have it"
        );
        draft.tell(at_ns, Weight::Plot, text);
    }
    if stall.at_ns > stall.from_ns {
        let text = match stall.worker {
            Some(worker) => format!("{lock} should have been free, and worker {worker} wanted it"),
            None => format!("{lock} should have been free, and the probe after the run wanted it"),
        };
        draft.tell(stall.from_ns, Weight::Plot, text);
        let waited = length(stall.at_ns - stall.from_ns);
        draft.tell(
            stall.at_ns,
            Weight::Plot,
            format!("nobody had got it for {waited}"),
        );
    }
    tell_aftermath(&mut draft, evidence, stall);
    draft.finish()
}

/// What was found after the run.
fn tell_aftermath(draft: &mut Draft, evidence: &Evidence<'_>, stall: &Stall) {
    for event in &evidence.history.events {
        match event.what {
            What::KeyLeft {
                node,
                key,
                ttl_ms: -1,
            } if key == stall.key => {
                let text = format!("after the run the key was left on node {node}, without expiry");
                draft.tell(event.at_ns, Weight::Plot, text);
            }
            What::Probe {
                key,
                granted: false,
                waited_ms,
            } if key == stall.key => {
                let text = format!(
                    "a probe after the run waited {} and was not granted",
                    length(ms(waited_ms))
                );
                draft.tell(event.at_ns, Weight::Reason, text);
            }
            _ => {}
        }
    }
}
