//! Every pair of holds, directly by the definitions. Quadratic, and shares no code with the checkers: holds are
//! collected by scanning the whole history for each attempt.

use picklock_scenarios::Phase;

use super::tries::{granted_write_ns, last_try};
use picklock_verdicts::history::{Event, EventKind, History, KeyChange};

const MS: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) worker: usize,
    pub(super) op: u64,
    pub(super) key: u32,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) deadline_ns: u64,
    acquire_ns: u64,
    first_deadline_ns: u64,
    told: bool,
    fence: Option<u64>,
    /// Spans in which the lease ran, cut at the end of the hold.
    pub(super) leases: Vec<(u64, u64)>,
    /// Spans in which the lease may have run.
    pub(super) possible_leases: Vec<(u64, u64)>,
    /// The earliest end of the lease according to the reports after the grant.
    kept_ns: u64,
    /// When the last command of a release that reported success was sent.
    claimed_ns: Option<u64>,
    forgotten: bool,
}

/// A report of the holder about its lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) arrived_ns: u64,
    /// The earliest and the latest time at which it was made.
    report_window_ns: (u64, u64),
    /// The earliest and the latest end of the lease according to it.
    pub(super) until_ns: (u64, u64),
}

/// Returns all holds in the order of their grants.
pub(super) fn holds(history: &History) -> Vec<Hold> {
    let events = &history.events;
    (events.iter().enumerate())
        .filter_map(|(index, event)| hold_of(events, index, event))
        .collect()
}

fn hold_of(events: &[Event], index: usize, granted: &Event) -> Option<Hold> {
    let EventKind::Granted {
        worker,
        op,
        fence,
        valid_ms,
        ..
    } = granted.what
    else {
        return None;
    };
    let (acquire_ns, key, ttl_ms) = request(events, op)?;
    let reports = reports(events, op);
    let deadline_ns = reports.first()?.until_ns.0;
    let later = &events[index..];
    let end_ns = later
        .iter()
        .find_map(|event| match event.what {
            EventKind::Release { op: ended, .. } if ended == op => Some(event.at_ns),
            EventKind::WorkerDown { worker: down, .. } if down == worker => Some(event.at_ns),
            _ => None,
        })
        .unwrap_or(events.last()?.at_ns);
    Some(Hold {
        worker,
        op,
        key,
        begin_ns: granted.at_ns,
        end_ns,
        deadline_ns: reports.last()?.until_ns.0,
        acquire_ns,
        first_deadline_ns: match valid_ms {
            // Expired at an unknown time.
            Some(0) => 0,
            Some(valid) if valid > ttl_ms => acquire_ns + ttl_ms * MS,
            _ => deadline_ns,
        },
        told: valid_ms.is_some(),
        fence,
        kept_ns: reports[1..]
            .iter()
            // A `lost` event does not affect the time before it.
            .map(|report| report.until_ns.0.max(report.report_window_ns.0))
            .fold(u64::MAX, u64::min),
        leases: lease_spans(&reports, end_ns, |report| {
            (report.report_window_ns.1, report.until_ns.0)
        }),
        possible_leases: lease_spans(&reports, end_ns, |report| {
            (report.report_window_ns.0, report.until_ns.1)
        }),
        claimed_ns: later.iter().find_map(|event| match event.what {
            EventKind::Released {
                op: released_op,
                released: Some(true),
                last_command_ns,
                ..
            } if released_op == op => Some(last_command_ns.unwrap_or(end_ns)),
            _ => None,
        }),
        forgotten: events[..index].iter().any(|event| {
            event.at_ns >= acquire_ns && matches!(event.what, EventKind::FaultBegan { .. })
        }),
    })
}

/// Returns the time of an attempt's request, the key, and the requested lease in milliseconds.
pub(super) fn request(events: &[Event], attempt: u64) -> Option<(u64, u32, u64)> {
    events.iter().find_map(|event| match event.what {
        EventKind::Acquire {
            op, key, ttl_ms, ..
        } if op == attempt => Some((event.at_ns, key, ttl_ms)),
        _ => None,
    })
}

/// Returns the report of a loss, which ends the lease that the previous report extended.
fn loss(at_ns: u64, previous: Option<&Report>) -> Report {
    let (early, late) = previous.map_or((at_ns, at_ns), |report| report.until_ns);
    Report {
        arrived_ns: at_ns,
        report_window_ns: (at_ns, at_ns),
        until_ns: (early.min(at_ns), late.min(at_ns)),
    }
}

/// Returns the validity and the elapsed time that a report of this attempt contains. An extension by 0 of unknown age
/// is none.
fn lease_report(what: &EventKind, attempt: u64) -> Option<(Option<u64>, Option<u64>)> {
    match *what {
        EventKind::Extended {
            valid_ms: 0,
            elapsed_ms: None,
            ..
        } => None,
        EventKind::Granted {
            op,
            valid_ms,
            elapsed_ms,
            ..
        } if op == attempt => Some((valid_ms, elapsed_ms)),
        EventKind::Extended {
            op,
            valid_ms,
            elapsed_ms,
            ..
        } if op == attempt => Some((Some(valid_ms), elapsed_ms)),
        _ => None,
    }
}

/// Returns the reports about the lease of an attempt, in the order in which they arrived.
pub(super) fn reports(events: &[Event], attempt: u64) -> Vec<Report> {
    let Some((acquire_ns, _, ttl_ms)) = request(events, attempt) else {
        return Vec::new();
    };
    let mut reports: Vec<Report> = Vec::new();
    // When each report arrived, and the earliest time at which it was written according to its own figures.
    let mut written: Vec<(u64, u64)> = Vec::new();
    for event in events {
        if matches!(event.what, EventKind::Lost { op, .. } if op == attempt) {
            reports.push(loss(event.at_ns, reports.last()));
            continue;
        }
        let Some((valid_ms, elapsed_ms)) = lease_report(&event.what, attempt) else {
            continue;
        };
        let at_ns = event.at_ns;
        let not_before_ns = (written.iter())
            .flat_map(|(arrived, earliest)| {
                [(arrived < &at_ns).then_some(*arrived), Some(*earliest)]
            })
            .flatten()
            .fold(acquire_ns, u64::max);
        let (first_ns, grant_elapsed_ms) = first_write(events, attempt);
        let own_ns = elapsed_ms.map(|elapsed| {
            let granted_ns = granted_write_ns(events, attempt);
            let times_ns = (acquire_ns, at_ns, granted_ns.unwrap_or(0));
            report_window(elapsed, times_ns, (first_ns, grant_elapsed_ms))
        });
        written.push((at_ns, own_ns.map_or(acquire_ns, |own_ns| own_ns.0)));
        let report_window_ns = match (valid_ms, own_ns) {
            (None, _) => (acquire_ns, at_ns),
            (_, Some(own_ns)) => own_ns,
            (_, None) => (not_before_ns, at_ns),
        };
        let valid_ns = valid_ms.unwrap_or(ttl_ms) * MS;
        let (early_ns, late_ns) = (report_window_ns.0 + valid_ns, report_window_ns.1 + valid_ns);
        // An extension of unknown age does not shorten the lease.
        let is_undated = matches!(
            event.what,
            EventKind::Extended {
                elapsed_ms: None,
                ..
            }
        );
        let known_ns = reports.last().filter(|_| is_undated);
        let early_ns = early_ns.max(known_ns.map_or(0, |report| report.until_ns.0.min(late_ns)));
        // The value that it wrote since the previous report shows how long the lease can last.
        let runs_out_ns = match valid_ms.and(elapsed_ms) {
            Some(_) => runs_out(
                events,
                attempt,
                reports.last().map_or(0, |report| report.arrived_ns),
                at_ns,
            ),
            None => u64::MAX,
        };
        reports.push(Report {
            arrived_ns: at_ns,
            report_window_ns,
            until_ns: (early_ns, late_ns.min(runs_out_ns.max(early_ns))),
        });
    }
    reports
}

/// Returns the earliest and the latest time at which a report with an elapsed time was written. The last argument has
/// the first write of the attempt, and the elapsed time that its grant reported.
fn report_window(
    elapsed: u64,
    (acquire_ns, at_ns, granted_ns): (u64, u64, u64),
    (first_ns, grant_elapsed_ms): (Option<u64>, Option<u64>),
) -> (u64, u64) {
    // The request was read when it was sent, unless its first write shows that it was read later.
    let late_ns = first_ns
        .zip(grant_elapsed_ms)
        .and_then(|(first_ns, elapsed)| {
            let shown_ns = first_ns.saturating_sub(elapsed * MS + MS);
            (shown_ns > acquire_ns).then_some((shown_ns, first_ns))
        });
    let (from_ns, until_ns) = late_ns.unwrap_or((acquire_ns, acquire_ns));
    let report_window_ns = (from_ns + elapsed * MS)
        .max(first_ns.unwrap_or(0).max(granted_ns))
        .min(at_ns);
    let latest_ns = match late_ns {
        Some(_) => (until_ns + elapsed * MS + MS).clamp(report_window_ns, at_ns),
        None => report_window_ns,
    };
    (report_window_ns, latest_ns)
}

/// Returns when a command of the attempt first wrote a key before its grant, and the elapsed time that the grant
/// reported.
fn first_write(events: &[Event], attempt: u64) -> (Option<u64>, Option<u64>) {
    let mut first_ns = None;
    for event in events {
        match &event.what {
            EventKind::KeyChanged {
                value: Some(_),
                why: KeyChange::Command(by),
                ..
            } if by.op == attempt && by.phase == Phase::Acquire => {
                first_ns.get_or_insert(event.at_ns);
            }
            EventKind::Granted { op, elapsed_ms, .. } if *op == attempt => {
                return (first_ns, *elapsed_ms);
            }
            _ => {}
        }
    }
    (None, None)
}

/// Returns when the first value that the attempt wrote between two times runs out.
fn runs_out(events: &[Event], attempt: u64, after_ns: u64, until_ns: u64) -> u64 {
    // A later try of the attempt begins again.
    let since = match after_ns {
        0 => &events[last_try(events, attempt)..],
        _ => events,
    };
    let written = since.iter().find_map(|event| match &event.what {
        EventKind::KeyChanged {
            value: Some(_),
            ttl_ms: Some(ttl_ms),
            why: KeyChange::Command(by),
            ..
        } if by.op == attempt && (after_ns..=until_ns).contains(&event.at_ns) => {
            Some(event.at_ns + u64::try_from(*ttl_ms).unwrap() * MS)
        }
        _ => None,
    });
    written.unwrap_or(u64::MAX)
}

/// Returns the lease spans according to these reports. `pick` returns when a report counts as made, and its deadline.
fn lease_spans(
    reports: &[Report],
    end_ns: u64,
    pick: impl Fn(&Report) -> (u64, u64),
) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for report in reports {
        let (reported_ns, until_ns) = pick(report);
        // Earlier reports about later times are void.
        all.retain(|(from_ns, _)| *from_ns <= until_ns);
        let ran_until_ns = all.last().map(|last| last.1);
        for span in &mut all {
            span.1 = span.1.min(until_ns);
        }
        if ran_until_ns.is_some_and(|ran| ran > reported_ns) {
            all.last_mut().unwrap().1 = until_ns;
        } else if until_ns > report.arrived_ns {
            all.push((report.arrived_ns, until_ns));
        }
    }
    let cut = |(from_ns, until_ns): (u64, u64)| (from_ns, until_ns.min(end_ns));
    all.into_iter().map(cut).collect()
}

impl Hold {
    /// Returns `true` if the lock does not report when this hold was granted, but the other client's lease was running
    /// at every possible time.
    fn granted_in(&self, other: &Hold) -> bool {
        let any_overlap = |span| other.leases.iter().any(|lease| overlapping(span, *lease));
        // All times are whole milliseconds, so testing every half millisecond suffices.
        let mut possible_grants = (self.acquire_ns..=self.begin_ns).step_by(500_000);
        let end_ns = self.end_ns.min(self.kept_ns);
        !self.told
            && end_ns >= self.begin_ns
            && possible_grants.all(|granted_ns| {
                let mut others = other.leases.iter();
                let inside = others.any(|(from, until)| *from < granted_ns && granted_ns < *until);
                let until_ns = (granted_ns + 5 * MS).min(end_ns);
                let ran = granted_ns + 5 * MS > self.begin_ns;
                let met = any_overlap((self.begin_ns, end_ns));
                met && (inside || (ran && any_overlap((self.begin_ns, until_ns))))
            })
    }

    /// Returns `true` if this hold was provably granted after one that began at `begin_ns`.
    fn came_after(&self, begin_ns: u64) -> bool {
        let ttl_ns = 5 * MS;
        let requested_after = self.acquire_ns > begin_ns;
        let lease_began_after = self.told && self.first_deadline_ns > begin_ns + ttl_ns;
        let lease_ran = !self.forgotten && self.first_deadline_ns > begin_ns;
        self.begin_ns > begin_ns && (requested_after || lease_began_after || lease_ran)
    }
}

/// Returns `true` if two spans share more than one point in time, or if one of them has no length and is strictly
/// inside the other.
pub(super) fn overlapping((b1, c1): (u64, u64), (b2, c2): (u64, u64)) -> bool {
    let inside = |at: u64, from: u64, to: u64| from < at && at < to;
    let share = b1.max(b2) < c1.min(c2);
    share || (b1 == c1 && inside(b1, b2, c2)) || (b2 == c2 && inside(b2, b1, c1))
}

fn overlaps<'a>(
    holds: &'a [Hold],
    intervals: impl Fn(&'a Hold) -> Vec<(u64, u64)>,
) -> (u64, Option<u64>) {
    let mut count = 0;
    let mut onset: Option<u64> = None;
    for (index, one) in holds.iter().enumerate() {
        for other in &holds[index + 1..] {
            for mine in intervals(one) {
                for theirs in intervals(other) {
                    if one.key == other.key && overlapping(mine, theirs) {
                        count += 1;
                        let began = mine.0.max(theirs.0);
                        onset = Some(onset.map_or(began, |onset| onset.min(began)));
                    }
                }
            }
        }
    }
    (count, onset)
}

pub(super) fn exclusion(history: &History) -> (u64, Option<u64>) {
    overlaps(&holds(history), |hold| vec![(hold.begin_ns, hold.end_ns)])
}

pub(super) fn lease(history: &History) -> (u64, Option<u64>) {
    let holds = holds(history);
    let (mut count, mut onset) = overlaps(&holds, |hold| hold.leases.clone());
    for (index, one) in holds.iter().enumerate() {
        for other in &holds[index + 1..] {
            let both = [one.clone(), other.clone()];
            let met = overlaps(&both, |hold| hold.leases.clone()).0 > 0;
            if one.key == other.key && !met && (one.granted_in(other) || other.granted_in(one)) {
                count += 1;
                let began = one.begin_ns.max(other.begin_ns);
                onset = Some(onset.map_or(began, |onset| onset.min(began)));
            }
        }
    }
    (count, onset)
}

/// Like [`lease`], but with leases that may have run.
pub(super) fn possible_lease(history: &History) -> (u64, Option<u64>) {
    overlaps(&holds(history), |hold| hold.possible_leases.clone())
}

pub(super) fn ownership(history: &History) -> (u64, Option<u64>) {
    let holds = holds(history);
    let theft_ns = |thief: &Hold| {
        let fired_at_ns = thief.claimed_ns?;
        let robbed = holds.iter().any(|other| {
            other.op != thief.op
                && other.key == thief.key
                && other.begin_ns < fired_at_ns
                && other.end_ns > fired_at_ns
                && other.came_after(thief.begin_ns)
        });
        robbed.then_some(fired_at_ns)
    };
    let thefts: Vec<u64> = holds.iter().filter_map(theft_ns).collect();
    (thefts.len() as u64, thefts.into_iter().min())
}

pub(super) fn fencing(history: &History) -> (u64, Option<u64>) {
    let holds = holds(history);
    let numbered = holds.iter().enumerate();
    let stale: Vec<u64> = numbered
        .filter(|(index, hold)| {
            let again = holds[..*index]
                .iter()
                .any(|other| other.key == hold.key && other.fence == hold.fence);
            let no_higher = |other: &Hold| other.fence.is_some() && other.fence >= hold.fence;
            let before = |other: &Hold| {
                let requested_after = other.begin_ns < hold.acquire_ns;
                // The grant arrived while its lease was running, and no lock was forgotten.
                let fresh = hold.acquire_ns == hold.begin_ns
                    || (!hold.forgotten && hold.first_deadline_ns >= hold.begin_ns)
                    || (hold.told && hold.first_deadline_ns >= hold.begin_ns + 5 * MS);
                requested_after || (fresh && other.end_ns < hold.begin_ns)
            };
            hold.fence.is_some()
                && (again
                    || holds.iter().any(|other| {
                        other.op != hold.op
                            && other.key == hold.key
                            && no_higher(other)
                            && before(other)
                    }))
        })
        .map(|(_, hold)| hold.begin_ns)
        .collect();
    (stale.len() as u64, stale.into_iter().min())
}
