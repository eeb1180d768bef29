//! Stories: a violation told in at most ten plain sentences, with times and worker numbers.
//!
//! What there is to tell of a finding is chosen here ([`plot`]). The draft makes sentences of it, chooses the most
//! important ones, and tells those in order of time.

mod custody;
mod draft;
mod kept_out;
mod sentence;
mod unserved;

use crate::history::EventKind;

use super::facts::{Facts, Found, Outside, Overlap, Taken};
use super::finding::{StaleToken, Starvation, Taking, WrongStock};
use crate::timeline::{Hold, Lease, ms};
use custody::{ran_out_ns, taken_with, written_values};
use draft::told;
use kept_out::kept_out;
use sentence::StoryItem;
use sentence::{Weight, clock, last_extension, length};

pub(super) use unserved::unserved;

/// The story of a violation.
pub(super) fn story(facts: &Facts<'_>) -> Vec<String> {
    let lines = plot(facts);
    told(lines, facts)
}

/// What there is to tell.
fn plot<'a>(facts: &'a Facts<'a>) -> Vec<StoryItem<'a>> {
    match &facts.found {
        Found::Nothing => Vec::new(),
        Found::ForeignRelease(taken) => of_foreign_release(taken),
        Found::StaleToken {
            stale,
            hold,
            before,
        } => of_stale_token(facts.at_ns, stale, *hold, *before),
        Found::Overlap(holds) => of_overlap(facts, holds),
        Found::WrongStock {
            stock,
            sellers,
            outside,
            ..
        } => of_wrong_stock(facts, stock, sellers.as_ref(), outside.as_ref()),
        Found::Attempts {
            ops,
            holds,
            statement,
            ..
        } => of_attempts(facts, ops, holds, statement),
        Found::Starvation { starvation, last } => of_starvation(facts, starvation, *last),
    }
}

/// Two holds of one key that overlap.
fn of_overlap<'a>(facts: &Facts<'_>, holds: &'a Overlap<'a>) -> Vec<StoryItem<'a>> {
    let (first, second) = (holds.first, holds.second);
    let lock = &facts.lock;
    let long_section = long_section(facts, holds);
    let lease = if holds.second_arrived_late {
        let until = clock(second.first_deadline_ns);
        format!("its own lease had expired at {until}")
    } else {
        lease_at(facts, first, second.begin_ns)
    };
    let text = format!(
        "worker {} got {lock}{} while worker {} still held it: {lease}",
        second.worker,
        taken_with(facts, second),
        first.worker,
    );
    let mut lines = vec![
        StoryItem::Grant(first),
        StoryItem::Said(second.begin_ns, Weight::Plot, text),
    ];
    lines.extend(last_extension(facts, first, second.begin_ns));
    lines.extend(long_section);
    lines.extend(holds.late_extension_ns.map(|asked_ns| {
        let text = format!(
            "worker {} asked to extend its lease, and no server heard of it before that was over",
            first.worker
        );
        StoryItem::Said(asked_ns, Weight::Plot, text)
    }));
    // What was taken from the first holder is told with its values.
    let is_told = |taken: &&Taken<'_>| {
        let of_first = taken.owner_hold.is_some_and(|owner| owner.op == first.op);
        of_first && taken.by.is_some() && taken.release.how != Taking::Prolonged
    };
    let taken = holds.taken.iter().filter(|taken| !is_told(taken));
    lines.extend(taken.map(StoryItem::Taken));
    lines.push(StoryItem::LostValues {
        hold: first,
        to_ns: second.begin_ns,
    });
    lines.push(StoryItem::Attempts {
        ops: vec![first.op, second.op],
        from_ns: first.acquire_ns.min(second.acquire_ns),
        to_ns: first.end_ns.max(second.end_ns),
    });
    for hold in [first, second] {
        lines.extend([StoryItem::ResumedLease(hold), StoryItem::Death(hold)]);
    }
    lines
}

/// That a client was told at its grant how little of its lease was left, and began a section that took longer.
fn long_section<'a>(facts: &Facts<'_>, holds: &Overlap<'_>) -> Option<StoryItem<'a>> {
    let hold = holds.first;
    let left_ns = hold.first_deadline_ns.saturating_sub(hold.begin_ns);
    let took_ns = hold.end_ns.saturating_sub(hold.begin_ns);
    let was_frozen = facts
        .faults
        .iter()
        .any(|fault| fault.freezes(hold.worker) && fault.touches(hold.begin_ns, hold.end_ns));
    // Nine tenths and more are a whole lease.
    let is_short = hold.told && left_ns < hold.ttl_ns / 10 * 9 && left_ns < took_ns;
    (holds.is_outlived && is_short && !was_frozen).then(|| {
        let text = format!(
            "worker {} was told that {} of its lease were left, and its section took {}",
            hold.worker,
            length(left_ns),
            length(took_ns)
        );
        StoryItem::Said(hold.begin_ns, Weight::Plot, text)
    })
}

/// The state of a holder's lease when another client got the lock.
fn lease_at(facts: &Facts<'_>, hold: &Hold, at_ns: u64) -> String {
    let worker = hold.worker;
    let begun = |lease: &&Lease| lease.from_ns <= at_ns;
    match hold.leases.iter().rev().find(begun) {
        Some(lease) if lease.until_ns > at_ns => {
            // Leases are cut at the hold's end, which was still to come then.
            let cut = lease.until_ns == hold.end_ns;
            let until_ns = if cut {
                hold.deadline_ns
            } else {
                lease.until_ns
            };
            format!("worker {worker}'s lease ran until {}", clock(until_ns))
        }
        _ if (hold.possible_leases.iter()).any(|l| l.from_ns <= at_ns && l.until_ns > at_ns) => {
            format!("how long worker {worker}'s lease ran is not known")
        }
        Some(lease) => {
            // What the lock said may be no more than a bound. Then its value shows the end.
            let ran_out = ran_out_ns(facts, hold, at_ns).filter(|_| hold.is_lease_a_bound());
            let ago = length(at_ns - ran_out.unwrap_or(lease.until_ns));
            format!("worker {worker}'s lease had expired {ago} earlier")
        }
        None => format!("how long worker {worker}'s lease ran is not known"),
    }
}

/// A stock that is wrong.
fn of_wrong_stock<'a>(
    facts: &Facts<'_>,
    wrong: &WrongStock,
    sellers: Option<&'a Overlap<'a>>,
    outside: Option<&'a Outside<'a>>,
) -> Vec<StoryItem<'a>> {
    let (header, at_ns) = (&facts.history.header, facts.at_ns);
    let mut lines = sellers.map_or_else(Vec::new, |sellers| of_overlap(facts, sellers));
    let (ops, from_ns) = match (outside, sellers) {
        (Some(outside), _) => {
            // The other story has told of their grants.
            if sellers.is_none() {
                lines.extend(outside.holds.map(StoryItem::Grant));
            }
            let from_ns = outside.holds.iter().map(|hold| hold.acquire_ns).min();
            let ops = outside.holds.map(|hold| hold.op).to_vec();
            (ops, from_ns.unwrap_or(0))
        }
        // A change that came late is no part of the other story.
        (None, Some(_)) => (wrong.op.into_iter().collect(), at_ns),
        (None, None) => (wrong.op.into_iter().collect(), 0),
    };
    lines.push(StoryItem::Attempts {
        ops,
        from_ns,
        to_ns: at_ns,
    });
    if wrong.left >= 0 {
        let stock = &facts.stock;
        let text = format!(
            "{} sold and {} left do not add up to the {} that {stock} started with",
            wrong.sold, wrong.left, header.stock_start
        );
        lines.push(StoryItem::Said(at_ns, Weight::Plot, text));
    }
    lines
}

/// A command that took another client's lock.
fn of_foreign_release<'a>(taken: &'a Taken<'a>) -> Vec<StoryItem<'a>> {
    let release = taken.release;
    let holds = || taken.taker_hold.into_iter().chain(taken.owner_hold);
    let mut lines = vec![StoryItem::Taken(taken)];
    lines.extend(holds().map(StoryItem::Grant));
    let from_ns = holds().map(|hold| hold.acquire_ns).min();
    let until_ns = taken.owner_hold.map(|owner| owner.end_ns);
    let until_ns = until_ns.unwrap_or(release.struck_ns);
    lines.push(StoryItem::Attempts {
        ops: vec![release.releaser, release.owner],
        from_ns: from_ns.unwrap_or(release.owned_ns),
        to_ns: until_ns.max(release.struck_ns),
    });
    lines
}

/// A token that was not higher than an earlier one.
fn of_stale_token<'a>(
    at_ns: u64,
    stale: &StaleToken,
    hold: Option<&Hold>,
    before: Option<&Hold>,
) -> Vec<StoryItem<'a>> {
    let mut lines = Vec::new();
    if let Some(earlier) = before {
        let text = format!(
            "worker {} got the lock with token {}",
            earlier.worker, stale.highest
        );
        lines.push(StoryItem::Said(earlier.begin_ns, Weight::Plot, text));
        lines.push(StoryItem::Faults {
            from_ns: earlier.acquire_ns,
            to_ns: at_ns,
        });
    }
    if let Some(hold) = hold {
        let text = format!(
            "worker {} got the lock with token {}, which is not higher than {}",
            hold.worker, stale.fence, stale.highest
        );
        lines.push(StoryItem::Said(at_ns, Weight::Plot, text));
    }
    lines
}

/// What was seen, and what happened to the attempts that prove it.
fn of_attempts<'a>(
    facts: &Facts<'_>,
    ops: &[u64],
    holds: &[&'a Hold],
    statement: &str,
) -> Vec<StoryItem<'a>> {
    let at_ns = facts.at_ns;
    let mut lines: Vec<StoryItem<'_>> = holds.iter().copied().map(StoryItem::Grant).collect();
    lines.extend(holds.iter().flat_map(|hold| written_values(facts, hold)));
    let from_ns = holds.iter().map(|hold| hold.acquire_ns).min();
    lines.push(StoryItem::Attempts {
        ops: ops.to_vec(),
        from_ns: from_ns.unwrap_or(0),
        to_ns: at_ns,
    });
    lines.push(StoryItem::Said(at_ns, Weight::Plot, statement.to_owned()));
    lines
}

/// A period in which a free lock was not granted.
fn of_starvation<'a>(
    facts: &Facts<'_>,
    starvation: &Starvation,
    last: Option<&'a Hold>,
) -> Vec<StoryItem<'a>> {
    let lock = &facts.lock;
    let from_ns = starvation.from_ns;
    let mut lines = vec![StoryItem::Faults {
        from_ns: 0,
        to_ns: from_ns,
    }];
    if let Some(last) = last {
        lines.extend([StoryItem::Grant(last), StoryItem::Death(last)]);
        lines.push(StoryItem::Attempts {
            ops: vec![last.op],
            from_ns: last.begin_ns,
            to_ns: from_ns,
        });
    }
    if let Some((worker, at_ns)) = starvation.doubt
        && !starvation.has_unexpiring_key
    {
        let text = format!(
            "the outcome of worker {worker}'s attempt to get {lock} is unknown: it may hold it"
        );
        lines.push(StoryItem::Said(at_ns, Weight::Plot, text));
    }
    if starvation.until_ns > starvation.from_ns {
        let text = match starvation.worker {
            Some(worker) if starvation.in_turn => format!(
                "{lock} should have been free, and workers asked for it in turn, the last one worker {worker}"
            ),
            Some(worker) => format!("{lock} should have been free, and worker {worker} wanted it"),
            None => format!("{lock} should have been free, and the probe after the run wanted it"),
        };
        lines.push(StoryItem::Said(from_ns, Weight::Plot, text));
        let waited = length(starvation.until_ns - from_ns);
        let text = format!("no client had got it for {waited}");
        lines.push(StoryItem::Said(starvation.until_ns, Weight::Plot, text));
    }
    let aftermath = aftermath(facts, starvation);
    lines.extend(kept_out(facts, starvation));
    lines.extend(aftermath);
    lines
}

/// What was found after the run.
fn aftermath<'a>(
    facts: &Facts<'_>,
    starvation: &Starvation,
) -> impl Iterator<Item = StoryItem<'a>> {
    let events = facts.history.events.iter();
    events.filter_map(|event| match event.what {
        EventKind::KeyLeft {
            node,
            key,
            ttl_ms: -1,
        } if key == starvation.key => {
            let text = format!("after the run the key was still on node {node}, without expiry");
            Some(StoryItem::Said(event.at_ns, Weight::Plot, text))
        }
        EventKind::Probe {
            key,
            granted: false,
            waited_ms,
        } if key == starvation.key => {
            let waited = length(ms(waited_ms));
            let text = format!("a probe after the run waited {waited} and was not granted");
            Some(StoryItem::Said(event.at_ns, Weight::Reason, text))
        }
        _ => None,
    })
}
