//! A draft of a story: all candidate sentences, from which the most important ones are selected.

use std::collections::HashSet;

use super::key_history::{abbreviate, describe_command, lost_values, ran_out_ns, taken_with};
use super::sentence::{Weight, clock, length, sentence};
use crate::check::causes::facts::{Facts, ResolvedObservation, Taken};
use crate::check::finding::Taking;
use crate::check::verdict::{MAX_STORY_LINES, Moment};
use crate::history::{Event, EventKind};
use crate::timeline::{Hold, HoldEnd};

/// A finished story.
pub(in crate::check) struct Story {
    /// The violation as a short clause.
    pub summary: String,
    pub lines: Vec<String>,
    /// The lines that decide the violation.
    pub moments: Vec<Moment>,
}

/// The candidate sentences of a story. Times are in nanoseconds since the run began.
pub(super) struct Draft<'a> {
    pub facts: &'a Facts<'a>,
    lines: Vec<(u64, Weight, String)>,
}

impl<'a> Draft<'a> {
    /// Creates an empty draft.
    pub fn new(facts: &'a Facts<'a>) -> Self {
        let lines = Vec::new();
        Draft { facts, lines }
    }

    /// Returns the most important sentences, in order of time, and marks those that decide the violation.
    pub fn finish(mut self, summary: String) -> Story {
        let mut known = HashSet::new();
        (self.lines).retain(|(at_ns, _, text)| known.insert((*at_ns, text.clone())));
        let mut lines: Vec<_> = self.lines.into_iter().enumerate().collect();
        lines.sort_by_key(|(_, (at_ns, weight, _))| (*weight, *at_ns));
        lines.truncate(MAX_STORY_LINES);
        // Lines with the same time stay in the order in which they were added.
        lines.sort_by_key(|(order, (at_ns, _, _))| (*at_ns, *order));
        let marked = lines.iter().enumerate();
        let moments = marked.filter_map(|(line, (_, (at_ns, weight, _)))| {
            let is_fault = *weight == Weight::Fault;
            (is_fault || *weight == Weight::Decisive).then_some(Moment {
                line,
                at_ns: *at_ns,
                is_fault,
            })
        });
        Story {
            summary,
            moments: moments.collect(),
            lines: (lines.into_iter())
                .map(|(_, (at_ns, _, text))| format!("{}  {text}", clock(at_ns)))
                .collect(),
        }
    }

    /// Adds a sentence.
    pub fn add(&mut self, at_ns: u64, weight: Weight, text: String) {
        self.lines.push((at_ns, weight, text));
    }

    /// Adds a grant, with its lease.
    pub fn describe_grant(&mut self, hold: &Hold) {
        let lock = self.facts.history.header.named(hold.lock, "the lock");
        let lease = describe_lease(self.facts, hold);
        let command = taken_with(self.facts, hold);
        let text = format!("client {} got {lock}{command}{lease}", hold.worker);
        self.add(hold.begin_ns, Weight::Plot, text);
    }

    /// Adds the events of these attempts, without their grants, and the faults of that time.
    pub fn describe_attempts(&mut self, ops: &[u64], from_ns: u64, to_ns: u64) {
        let history = self.facts.history;
        let begin = (history.events).partition_point(|event| event.at_ns < from_ns);
        for event in &history.events[begin..] {
            if (event.what.attempt()).is_some_and(|(_, op)| ops.contains(&op))
                && let Some((mut weight, mut text)) = sentence(&history.header, &event.what)
            {
                if let EventKind::StockChanged {
                    op, belated: None, ..
                } = event.what
                {
                    let after = after_its_lease(self.facts, op, event.at_ns);
                    let is_decisive = after.is_some() || weight == Weight::Decisive;
                    let is_decisive = is_decisive && self.is_about_sale(ops, op, event.at_ns);
                    weight = if is_decisive {
                        Weight::Decisive
                    } else {
                        Weight::Reason
                    };
                    text.push_str(&after.unwrap_or_default());
                }
                self.add(event.at_ns, weight, text);
            }
            let is_death = matches!(&event.what, EventKind::WorkerDown { .. });
            if event.at_ns > to_ns && !is_death {
                break;
            }
        }
        self.describe_faults(from_ns, to_ns);
    }

    /// Returns `true` if a change of the stock can decide this violation: the stock is wrong, or holds overlap. In the
    /// second case the change must have come after the end of its own lease, or another of the attempts `ops` must have
    /// changed the stock before. A unit that was sold twice is otherwise due to another overlap.
    fn is_about_sale(&self, ops: &[u64], op: u64, at_ns: u64) -> bool {
        let sold_before = |event: &Event| match event.what {
            EventKind::StockChanged { op: other, .. } => other != op && ops.contains(&other),
            _ => false,
        };
        match self.facts.about {
            ResolvedObservation::WrongStock { .. } => true,
            ResolvedObservation::Overlap(_) => {
                let events = &self.facts.history.events;
                let earlier = &events[..events.partition_point(|event| event.at_ns < at_ns)];
                after_its_lease(self.facts, op, at_ns).is_some() || earlier.iter().any(sold_before)
            }
            _ => false,
        }
    }

    /// Adds the faults of a span.
    pub fn describe_faults(&mut self, from_ns: u64, to_ns: u64) {
        let faults = self.facts.faults.iter();
        for fault in faults.filter(|fault| !fault.missed && fault.touches(from_ns, to_ns)) {
            if let Some(worker) = fault.breached_by.first() {
                let text = format!("{} began, but did not reach client {worker}", fault.detail);
                self.add(fault.began_ns, Weight::Background, text);
                continue;
            }
            let began = format!("{} began", fault.detail);
            self.add(fault.began_ns, Weight::Fault, began);
            if let Some(ended_ns) = fault.ended_ns.filter(|ended_ns| *ended_ns <= to_ns) {
                let ended = format!("{} ended", fault.detail);
                self.add(ended_ns, Weight::Background, ended);
            }
        }
    }

    /// Adds how the values of a holder disappeared, up to `to_ns`.
    pub fn describe_lost_values(&mut self, hold: &Hold, to_ns: u64) {
        for (at_ns, text) in lost_values(self.facts, hold, to_ns) {
            self.add(at_ns, Weight::Decisive, text);
        }
    }

    /// Adds the last extension of a hold before `by_ns`, which explains the end of its lease.
    pub fn describe_last_extension(&mut self, hold: &Hold, by_ns: u64) {
        let history = self.facts.history;
        let mut latest_first = history.events.iter().rev();
        let extended = latest_first.find(|event| match event.what {
            EventKind::Extended { op, .. } | EventKind::ExtendGranted { op, .. } => {
                op == hold.op && event.at_ns < by_ns
            }
            _ => false,
        });
        if let Some(extended) = extended
            && let Some((_, text)) = sentence(&history.header, &extended.what)
        {
            self.add(extended.at_ns, Weight::Plot, text);
        }
    }

    /// Adds the death of the worker, if it ended the hold.
    pub fn describe_death(&mut self, hold: &Hold) {
        if hold.ended == HoldEnd::Killed {
            let text = format!("client {} died", hold.worker);
            self.add(hold.end_ns, Weight::Reason, text);
        }
    }

    /// Adds an extension after the lease had certainly expired, if there was one.
    pub fn describe_resumed_lease(&mut self, hold: &Hold) {
        let mut leases = hold.possible_leases.iter();
        if let Some(lease) = leases.find(|lease| lease.from_ns > hold.begin_ns) {
            let text = format!(
                "client {} extended an expired lease, as if the lock were still its own",
                hold.worker
            );
            self.add(lease.from_ns, Weight::Decisive, text);
        }
    }

    /// Adds a command that took or prolonged another client's lock.
    pub fn describe_taken(&mut self, taken: &Taken<'_>) {
        let taking = taken.taking;
        let name = |worker: Option<usize>| match worker {
            Some(worker) => format!("client {worker}"),
            None => "another client".to_owned(),
        };
        let (done, at_ns) = match taken.owner_hold {
            Some(owner) if owner.begin_ns <= taking.took_effect_ns => ("granted", owner.begin_ns),
            _ => ("written", taking.owned_ns),
        };
        let since = match taking.took_effect_ns.saturating_sub(at_ns) {
            0 => format!("{done} just before"),
            ago => format!("{done} {} earlier", length(ago)),
        };
        let taker = name(taken.taker);
        let what = match taken.by {
            Some((by, _)) => {
                let is_removal = taking.how == Taking::Removed;
                describe_command(
                    self.facts,
                    by,
                    taking.lock,
                    (taking.took_effect_ns, is_removal),
                )
            }
            None if taken.is_extension || taking.how == Taking::Prolonged => {
                format!("the renewal of {taker}")
            }
            None => format!("the release of {taker}"),
        };
        let value = taken.by.map_or_else(String::new, |(_, span)| {
            format!(" (value {})", abbreviate(&span.value))
        });
        let did = match taking.how {
            Taking::Prolonged => "prolonged",
            _ => "took",
        };
        let owner = name(taken.owner);
        let text = format!("{what} {did} the lock of {owner}{value}, {since}");
        self.add(taking.took_effect_ns, Weight::Decisive, text);
    }
}

/// Returns `, 1.2 s after its lease had ended` for a holder that changed the stock at `at_ns`, or `None` if its lease
/// was or may have been running.
fn after_its_lease(facts: &Facts<'_>, op: u64, at_ns: u64) -> Option<String> {
    let hold = facts.holds.iter().find(|hold| hold.op == op)?;
    let until_ns = if hold.is_lease_a_bound() {
        ran_out_ns(facts, hold, at_ns)
    } else {
        (hold.possible_leases.iter().map(|lease| lease.until_ns)).max()
    }?;
    let ago_ns = at_ns
        .checked_sub(until_ns)
        .filter(|ago_ns| *ago_ns >= 1_000_000)?;
    (at_ns <= hold.end_ns).then(|| format!(", {} after its lease had ended", length(ago_ns)))
}

/// Returns ` (lease until 1.810 s)`, or, if the lease had already expired, a clause that states when it expired.
fn describe_lease(facts: &Facts<'_>, hold: &Hold) -> String {
    let until = clock(hold.first_deadline_ns);
    if hold.first_deadline_ns > hold.begin_ns {
        let bound = if hold.is_lease_a_bound() {
            " at least"
        } else {
            ""
        };
        format!(" (lease until {until}{bound})")
    } else if hold.arrived_late(facts.faults) {
        format!(", but its lease had expired at {until}")
    } else {
        String::new()
    }
}
