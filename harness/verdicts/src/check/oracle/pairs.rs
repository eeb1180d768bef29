//! Every pair of holds, by the definitions and nothing else. Quadratic, and shares no code with
//! the checkers: holds are gathered by scanning the whole history for each attempt.

use crate::history::{Event, History, What};

const MS: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) op: u64,
    key: u32,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) deadline_ns: u64,
    acquire_ns: u64,
    first_deadline_ns: u64,
    told: bool,
    fence: Option<u64>,
    /// Stretches in which the lease ran, cut at the end of the hold.
    leases: Vec<(u64, u64)>,
    /// When the release that claimed success was sent, and when its last command went out.
    claimed_ns: Option<u64>,
    forgotten: bool,
}

/// All holds in the order of their grants.
pub(super) fn holds(history: &History) -> Vec<Hold> {
    let events = &history.events;
    let grants = events.iter().enumerate();
    grants
        .filter_map(|(index, event)| hold_of(events, index, event))
        .collect()
}

fn hold_of(events: &[Event], index: usize, granted: &Event) -> Option<Hold> {
    let What::Granted {
        worker,
        op,
        fence,
        valid_ms,
        elapsed_ms,
        ..
    } = granted.what
    else {
        return None;
    };
    let (acquire_ns, key, ttl_ms) = events.iter().find_map(|event| match event.what {
        What::Acquire {
            op: asked,
            key,
            ttl_ms,
            ..
        } if asked == op => Some((event.at_ns, key, ttl_ms)),
        _ => None,
    })?;
    let sum = |elapsed: Option<u64>, valid: u64| acquire_ns + (elapsed.unwrap_or(0) + valid) * MS;
    let deadline_ns = valid_ms.map_or(acquire_ns + ttl_ms * MS, |valid| sum(elapsed_ms, valid));
    let later = &events[index..];
    let end_ns = later
        .iter()
        .find_map(|event| match event.what {
            What::Release { op: ended, .. } if ended == op => Some(event.at_ns),
            What::WorkerDown { worker: down, .. } if down == worker => Some(event.at_ns),
            _ => None,
        })
        .unwrap_or(events.last()?.at_ns);
    let mut hold = Hold {
        op,
        key,
        begin_ns: granted.at_ns,
        end_ns,
        deadline_ns,
        acquire_ns,
        first_deadline_ns: match valid_ms {
            // Expired at an unknown time.
            Some(0) => 0,
            Some(valid) if valid > ttl_ms => acquire_ns + ttl_ms * MS,
            _ => deadline_ns,
        },
        told: valid_ms.is_some(),
        fence,
        leases: vec![(granted.at_ns, deadline_ns)],
        claimed_ns: None,
        forgotten: events[..index].iter().any(|event| {
            event.at_ns >= acquire_ns && matches!(event.what, What::FaultBegan { .. })
        }),
    };
    for event in later {
        hold.take(event, sum);
    }
    for lease in &mut hold.leases {
        lease.1 = lease.1.min(end_ns);
    }
    Some(hold)
}

impl Hold {
    fn take(&mut self, event: &Event, sum: impl Fn(Option<u64>, u64) -> u64) {
        match event.what {
            What::Extended {
                op,
                valid_ms,
                elapsed_ms,
                ..
            } if op == self.op => {
                let deadline_ns = sum(elapsed_ms, valid_ms);
                if deadline_ns > self.deadline_ns {
                    if self.deadline_ns > event.at_ns {
                        self.leases.last_mut().unwrap().1 = deadline_ns;
                    } else {
                        self.leases.push((event.at_ns, deadline_ns));
                    }
                    self.deadline_ns = deadline_ns;
                }
            }
            What::Lost { op, .. } if op == self.op && event.at_ns < self.deadline_ns => {
                self.deadline_ns = event.at_ns;
                self.leases.last_mut().unwrap().1 = event.at_ns;
            }
            What::Released {
                op,
                released: true,
                last_command_ns,
                ..
            } if op == self.op => {
                self.claimed_ns = Some(last_command_ns.unwrap_or(self.end_ns));
            }
            _ => {}
        }
    }

    /// True when this hold was provably granted after one that began at `begin_ns`.
    fn came_after(&self, begin_ns: u64) -> bool {
        let ttl_ns = 5 * MS;
        let asked_after = self.acquire_ns > begin_ns;
        let lease_began_after = self.told && self.first_deadline_ns > begin_ns + ttl_ns;
        let lease_ran = !self.forgotten && self.first_deadline_ns > begin_ns;
        self.begin_ns > begin_ns && (asked_after || lease_began_after || lease_ran)
    }
}

fn strict((b1, c1): (u64, u64), (b2, c2): (u64, u64)) -> bool {
    b1.max(b2) < c1.min(c2)
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
                    if one.key == other.key && strict(mine, theirs) {
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
    overlaps(&holds(history), |hold| hold.leases.clone())
}

pub(super) fn ownership(history: &History) -> (u64, Option<u64>) {
    let holds = holds(history);
    let struck = |thief: &Hold| {
        let struck_ns = thief.claimed_ns?;
        let robbed = holds.iter().any(|other| {
            other.op != thief.op
                && other.key == thief.key
                && other.begin_ns < struck_ns
                && other.end_ns > struck_ns
                && other.came_after(thief.begin_ns)
        });
        robbed.then_some(struck_ns)
    };
    let thefts: Vec<u64> = holds.iter().filter_map(struck).collect();
    (thefts.len() as u64, thefts.into_iter().min())
}

pub(super) fn fencing(history: &History) -> (u64, Option<u64>) {
    let holds = holds(history);
    let stale: Vec<u64> = holds
        .iter()
        .filter(|hold| {
            let no_higher = |other: &Hold| other.fence.is_some() && other.fence >= hold.fence;
            let before = |other: &Hold| {
                let asked_after = other.begin_ns < hold.acquire_ns;
                // The grant arrived with its lease still running, and nothing was forgotten.
                let fresh = hold.acquire_ns == hold.begin_ns
                    || (!hold.forgotten && hold.first_deadline_ns >= hold.begin_ns)
                    || (hold.told && hold.first_deadline_ns >= hold.begin_ns + 5 * MS);
                asked_after || (fresh && other.end_ns < hold.begin_ns)
            };
            hold.fence.is_some()
                && holds.iter().any(|other| {
                    other.op != hold.op
                        && other.key == hold.key
                        && no_higher(other)
                        && before(other)
                })
        })
        .map(|hold| hold.begin_ns)
        .collect();
    (stale.len() as u64, stale.into_iter().min())
}
