//! Progress: a client that wants the lock gets it.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | whether buyers want a lock | while a client with its quorum requests it, and until the next such request if the last one was denied and the next one, of any client, follows within a quarter of the bound: a client that pauses for longer is not kept waiting |
//! | how long a client waits that a fault keeps away | from its first request for the lock to the grant, over all its requests, unless it is killed. A part of the wait ends with the last request in it |
//! | "every lease that could be outstanding has expired" | one lease after each time a fault begins or ends, each kill, each failed release, and each attempt without a definite answer of a client that lacked its quorum; for a client that had it, only the first such attempt since a client last had the lock |
//! | a lease | the requested one, or the one that a client of the run wrote, not in order to release, if it is the requested one rounded up to a whole second |
//! | a hold | no other client can have the lock until its release was answered, or one lease after it was sent, unless a fault that delays commands takes the quorum from its client: then until it was answered |
//! | a holder that is frozen | keeps no other client out while it is frozen, from one lease after the freeze began, and from one lease after each command that renewed its value since |
//! | a dead client's value on the only node that other clients' commands keep alive | belongs to no client: from its due expiry until it is gone, no hold is an excuse |
//! | which faults make a node unreachable | a fault on its link to the waiting client, or its pause, crash or exhaustion; not a clock, not a cut replication, and not a delay of at most a tenth of a lease |
//! | a frozen client | does not want the lock while it is frozen |
//! | a fault that never ends | `unknown` if a client waited too long, and only that fault excuses it |
//! | how long a key lives on a node whose clock was set | undecided |
//! | a probe that was refused, while something was outstanding when it began | undecided: it waits for one lease and the bound, to the millisecond |
//! | a lock that waits for its replicas, when they are cut off or promoted | undecided |
//! | several waits that are too long | the cause of any of them |
//! | no value stands when the wait has become too long, or only one of an attempt that is under way | the last value that kept the lock in this wait may be the cause, besides a wake-up that was lost |
//! | an attempt that had the lock on enough nodes and gave it back | `taken-and-returned` may be the cause |
//! | a request that is not answered when the run ends its clients | ends then |
//! | a key without TTL | one that is left when the run is over |

use std::collections::BTreeMap;

use super::answer::{Answer, Finding};
use super::attempt::{self, Attempt};
use super::cause::Case;
use super::line::{Line, MS};
use super::renewal::idle_freezes;
use super::waiting::wait_causes;

type Span = (u64, u64);

/// A fault, as far as it makes nodes unreachable for clients.
struct Fault {
    word: String,
    workers: Vec<i64>,
    nodes: Vec<i64>,
    span: Span,
    ends: bool,
    /// Whether it delays each command too briefly to keep a node away.
    is_short: bool,
}

fn faults(case: &Case) -> Vec<Fault> {
    let end_of = |id: Option<u64>| {
        case.file
            .events("fault-ended")
            .find(|line| line.num("id") == id)
    };
    let read = |line: &Line| {
        let end = end_of(line.num("id"));
        Fault {
            word: line.text("fault").to_owned(),
            workers: line.list("workers"),
            nodes: line.list("nodes"),
            span: (line.at, end.map_or(u64::MAX, |end| end.at)),
            ends: end.is_some(),
            is_short: (line.num("delay_ms")).is_some_and(|ms| ms * MS * 10 <= case.file.ttl),
        }
    };
    case.file.events("fault-began").map(read).collect()
}

impl Fault {
    /// Returns `true` if it makes the node unreachable for the client.
    fn takes(&self, worker: u64, node: usize) -> bool {
        let node = self.nodes.contains(&(node as i64)) && !self.is_short;
        match self.word.as_str() {
            "delay" | "drop" | "hold" | "answer" | "false-answer" | "cut" | "partition" => {
                node && self.workers.contains(&(worker as i64))
            }
            "pause-node" | "crash-node" | "exhaust" => node,
            _ => false,
        }
    }
}

/// Returns the spans in which a client cannot reach as many nodes as the lock needs.
fn without_quorum(case: &Case, faults: &[Fault], worker: u64) -> Vec<Span> {
    let mut times: Vec<u64> = faults
        .iter()
        .flat_map(|one| [one.span.0, one.span.1])
        .collect();
    times.push(0);
    times.push(u64::MAX);
    times.sort_unstable();
    let steps = times.windows(2).map(|pair| (pair[0], pair[1]));
    let steps = steps.filter(|(from, until)| from < until);
    let lacks = |(from, _): &Span| {
        let active: Vec<&Fault> = (faults.iter())
            .filter(|one| one.span.0 <= *from && *from < one.span.1)
            .collect();
        let still =
            |one: &&Fault| one.word == "pause-client" && one.workers.contains(&(worker as i64));
        let reached = (0..case.file.nodes)
            .filter(|node| !active.iter().any(|one| one.takes(worker, *node)))
            .count();
        reached < case.file.quorum || active.iter().any(still)
    };
    steps.filter(lacks).collect()
}

/// Returns `true` if a fault delays this client's commands, and it lacks its quorum, in some part of the span.
fn is_late(case: &Case, faults: &[Fault], worker: u64, span: Span) -> bool {
    let meets = |other: Span| other.0 < span.1 && span.0 < other.1;
    let delays = |one: &&Fault| {
        one.word == "delay" && one.workers.contains(&(worker as i64)) && meets(one.span)
    };
    let lacking = without_quorum(case, faults, worker);
    faults.iter().any(|one| delays(&one)) && lacking.into_iter().any(meets)
}

/// Returns the length of a lease: the requested one, or the written one if it is rounded up to a whole second.
pub fn lease(case: &Case) -> u64 {
    let ttl = case.file.ttl;
    let max = ttl.div_ceil(1000 * MS) * 1000 * MS;
    let values = case.key_history.values.iter();
    let of_clients = values.flat_map(|value| &value.expiries).filter(|one| {
        let by = one.by.as_ref();
        by.is_none_or(|by| by.worker < case.file.workers && by.phase != "release")
    });
    let written = of_clients.filter_map(|one| one.ttl);
    written
        .filter(|written| *written <= max)
        .fold(ttl, u64::max)
}

/// Returns the spans in which no client can be expected to get this lock.
fn excused(case: &Case, faults: &[Fault], key: u64, all: bool) -> Vec<Span> {
    let ttl = lease(case);
    let after = |at: u64| (at, at.saturating_add(ttl));
    let mut spans: Vec<Span> = Vec::new();
    for one in faults {
        spans.push(after(one.span.0));
        if one.ends {
            spans.push(after(one.span.1));
        }
    }
    spans.extend(case.file.events("worker-down").map(|line| after(line.at)));
    let kept_alive_spans = kept_alive(case, key);
    let of_key = |one: &&Attempt| one.key == key;
    let mut last_had = Vec::new();
    for hold in case
        .attempts
        .iter()
        .filter(of_key)
        .filter(|one| one.granted())
    {
        let answered = hold.released.map_or(hold.until, |(at, _)| at);
        let in_time = answered.min(hold.until.saturating_add(ttl));
        let late = is_late(case, faults, hold.worker, (in_time, answered));
        let until = if late { answered } else { in_time };
        let mut without_lease = idle_freezes(case, hold, ttl);
        without_lease.extend(&kept_alive_spans);
        without_lease.sort_unstable();
        spans.extend(free_parts((hold.from(), until), &without_lease));
        last_had.push(hold.from());
        if let Some((at, None)) = hold.released {
            spans.push(after(at));
        }
    }
    spans.extend(doubts(case, faults, key, &last_had, all));
    spans
}

/// Returns the spans in which a dead client's value exists only because other workers have prolonged it.
fn kept_alive(case: &Case, key: u64) -> Vec<Span> {
    if case.file.nodes > 1 {
        return Vec::new();
    }
    let mut spans = Vec::new();
    for value in case.key_history.values_of_lock(key) {
        let Some((owner, _)) = value.owner else {
            continue;
        };
        let mut deaths = case.file.events("worker-down");
        let died = deaths.find(|line| {
            line.num("worker") == Some(owner) && (value.from..value.until).contains(&line.at)
        });
        let Some(died) = died.map(|line| line.at) else {
            continue;
        };
        let due = value.runs_out(died);
        let prolonged = value
            .expiries
            .iter()
            .any(|one| one.at > died && one.by.as_ref().is_some_and(|by| by.worker != owner));
        if prolonged && due < value.until {
            spans.push((due, value.until));
        }
    }
    spans.sort_unstable();
    spans
}

/// Returns one lease after each attempt without a definite answer. A client that cannot reach as many nodes as the lock
/// needs is excused each time; any other client is excused once since a client last had the lock. With `all`, this
/// includes attempts of clients that lack their quorum permanently.
fn doubts(case: &Case, faults: &[Fault], key: u64, last_had: &[u64], all: bool) -> Vec<Span> {
    let in_doubt = |one: &&Attempt| one.key == key && one.answer == attempt::Answer::Failed(false);
    let mut doubts: Vec<&Attempt> = case.attempts.iter().filter(in_doubt).collect();
    doubts.sort_by_key(|one| one.answered);
    let mut spans = Vec::new();
    let mut excused_since: Option<u64> = None;
    let mut known: BTreeMap<u64, Vec<Span>> = BTreeMap::new();
    for one in doubts {
        let at = one.answered;
        let lacking = known.entry(one.worker);
        let lacking = lacking.or_insert_with(|| without_quorum(case, faults, one.worker));
        let lacks = lacking
            .iter()
            .copied()
            .rfind(|span| span.0 <= at && one.requested_at < span.1);
        let excused = match lacks {
            Some((_, until)) => all || until != u64::MAX,
            None => {
                let had = last_had.iter().copied().filter(|had| *had <= at).max();
                let first = excused_since.is_none() || had > excused_since;
                excused_since = excused_since.filter(|_| !first).or(Some(at));
                first
            }
        };
        if excused {
            spans.push((at, at.saturating_add(lease(case))));
        }
    }
    spans
}

/// Returns the waits of each client for each lock, from its first request until the grant.
fn waits(attempts: &[Attempt]) -> Vec<(u64, u64, Span)> {
    let mut waits: Vec<(u64, u64, Span)> = Vec::new();
    let mut open: Vec<(u64, u64, usize)> = Vec::new();
    for one in attempts {
        let same = |(worker, key, _): &&(u64, u64, usize)| (*worker, *key) == (one.worker, one.key);
        match open.iter().find(same) {
            Some((_, _, place)) => waits[*place].2.1 = one.answered,
            None => {
                open.push((one.worker, one.key, waits.len()));
                waits.push((one.worker, one.key, (one.requested_at, one.answered)));
            }
        }
        if one.granted() {
            open.retain(|open| !same(&open));
        }
        if one.killed {
            open.retain(|(worker, _, _)| *worker != one.worker);
        }
    }
    waits
}

/// The part of a request during which its client can reach as many nodes as the lock needs.
struct Request {
    span: Span,
    worker: u64,
    denied: bool,
}

/// Returns the spans in which clients that can reach as many nodes as the lock needs want the lock, and the client that
/// requested it last.
fn wants(case: &Case, faults: &[Fault], key: u64) -> Vec<(u64, Span)> {
    let mut requests: Vec<Request> = Vec::new();
    for one in case.attempts.iter().filter(|one| one.key == key) {
        let lacking = without_quorum(case, faults, one.worker);
        for span in free_parts((one.requested_at, one.answered), &lacking) {
            let denied = !one.granted() && !one.killed && span.1 == one.answered;
            let worker = one.worker;
            requests.push(Request {
                span,
                worker,
                denied,
            });
        }
    }
    requests.sort_by_key(|one| one.span);
    let patience = case.file.bound / 4;
    let mut wants: Vec<(u64, Span)> = Vec::new();
    let mut last_denied = false;
    for one in requests {
        match wants.last_mut() {
            Some((worker, want))
                if one.span.0 <= want.1 || (last_denied && one.span.0 - want.1 <= patience) =>
            {
                if one.span.1 >= want.1 {
                    (want.1, last_denied, *worker) = (one.span.1, one.denied, one.worker);
                }
            }
            _ => {
                wants.push((one.worker, one.span));
                last_denied = one.denied;
            }
        }
    }
    wants
}

/// Returns the parts of a span that `covered` leaves free. `covered` is in chronological order.
fn free_parts(span: Span, covered: &[Span]) -> Vec<Span> {
    let mut parts = Vec::new();
    let mut from = span.0;
    for (start, end) in covered.iter().chain(&[(span.1, span.1)]) {
        let until = (*start).min(span.1);
        if until > from || (from, until) == span {
            parts.push((from, until));
        }
        from = from.max(*end);
    }
    parts
}

/// Returns the longest part of a span that `covered` leaves free. `covered` is in chronological order.
fn longest_free(span: Span, covered: &[Span]) -> Option<Span> {
    let parts = free_parts(span, covered).into_iter();
    parts.max_by_key(|(from, until)| until - from)
}

pub fn progress(case: &Case) -> Finding {
    if let Some(line) = case
        .file
        .events("key-left")
        .find(|line| line.signed("ttl_ms") == Some(-1))
    {
        return Finding {
            lines: vec![line.number],
            ..Finding::violated(["no-ttl"], "a key is left".into())
        };
    }
    let faults = faults(case);
    let length = |(free, _, _): &(Span, u64, u64)| free.1 - free.0;
    // Any of them may be the one that is reported.
    let mut found: Option<Finding> = None;
    for (free, worker, key) in free_wants(case, &faults) {
        if free.1 - free.0 <= case.file.bound {
            continue;
        }
        let note = format!(
            "lock {key} was wanted, at last by client {worker}, from {} to {}",
            free.0, free.1
        );
        let finding = too_long(case, key, free, note);
        match (&mut found, finding) {
            (None, finding) => found = Some(finding),
            (Some(first), finding) => first.or(finding),
        }
    }
    if let Some(found) = found {
        return found;
    }
    let prober = case.file.workers;
    let lacking = without_quorum(case, &faults, prober);
    let mut not_probed = false;
    for line in case
        .file
        .events("probe")
        .filter(|line| !line.flag("granted"))
    {
        not_probed = true;
        if !lacking.iter().any(|(_, until)| *until >= line.at) {
            let key = line.num("key").unwrap_or_default();
            let note = format!("the probe, line {}", line.number);
            let waited = line.num("waited_ms").unwrap_or_default() * MS;
            let began = line.at.saturating_sub(waited);
            let spans = excused(case, &faults, key, true);
            let outstanding = spans.iter().any(|span| span.0 <= began && began <= span.1);
            if outstanding {
                let answer = Answer::Undecided("the probe had just its bound and a lease");
                return Finding {
                    note,
                    ..Finding::plain(answer)
                };
            }
            return too_long(case, key, (line.at, line.at), note);
        }
    }
    // A client waited too long, and only a fault that never ends excuses it, either directly or because it leaves
    // every attempt without a definite answer.
    let unexcused = longest_wait(case, &faults);
    if not_probed || unexcused.is_some_and(|one| length(&one) > case.file.bound) {
        Finding::plain(Answer::Unknown)
    } else {
        Finding::plain(Answer::Held)
    }
}

/// Returns the longest part without an excuse of each want: its span, the client that requested last, and the lock.
fn free_wants(case: &Case, faults: &[Fault]) -> Vec<(Span, u64, u64)> {
    let free = (0..case.file.locks.len() as u64).flat_map(|key| {
        let mut covered = excused(case, faults, key, true);
        covered.sort_unstable();
        let wants = wants(case, faults, key).into_iter();
        let free = wants.filter_map(move |(worker, span)| {
            longest_free(span, &covered).map(|free| (free, worker, key))
        });
        free.collect::<Vec<_>>()
    });
    free.collect()
}

/// Returns the longest wait of a client that only a fault without an end excuses.
fn longest_wait(case: &Case, faults: &[Fault]) -> Option<(Span, u64, u64)> {
    // The result is the same for every wait of this worker for this lock.
    let mut known: BTreeMap<(u64, u64), (u64, Vec<Span>)> = BTreeMap::new();
    let covered = |worker: u64, key: u64| {
        let lacking = without_quorum(case, faults, worker);
        let for_good = lacking.iter().find(|(_, until)| *until == u64::MAX);
        let since = for_good.map_or(u64::MAX, |(since, _)| *since);
        let mut covered = excused(case, faults, key, false);
        covered.sort_unstable();
        (since, covered)
    };
    let mut longest: Option<(Span, u64, u64)> = None;
    for (worker, key, span) in waits(&case.attempts) {
        let place = known.entry((worker, key));
        let (since, covered) = place.or_insert_with(|| covered(worker, key));
        let kept_away = (span.0.max(*since), span.1);
        for free in free_parts(kept_away, covered) {
            let longest_ns = longest.map_or(0, |(span, _, _)| length_ns(span));
            if length_ns(free) < longest_ns {
                continue; // looking through all attempts takes time
            }
            let asked = asked_part(&case.attempts, (worker, key), free);
            if let Some(asked) = asked.filter(|asked| length_ns(*asked) >= longest_ns) {
                longest = Some((asked, worker, key));
            }
        }
    }
    longest
}

/// Returns the length of a span, which is 0 if it ends before it begins.
fn length_ns((from, until): Span) -> u64 {
    until.saturating_sub(from)
}

/// Returns the part of this span until the end of the last request that this worker makes for this lock in it.
fn asked_part(attempts: &[Attempt], of: (u64, u64), (from, until): Span) -> Option<Span> {
    let in_span = |one: &&Attempt| {
        (one.worker, one.key) == of && one.requested_at < until && from < one.answered
    };
    let last = attempts
        .iter()
        .filter(in_span)
        .map(|one| one.answered)
        .max();
    last.map(|last| (from, last.min(until)))
}

fn too_long(case: &Case, key: u64, free: Span, note: String) -> Finding {
    let clocks = ["clock-jump", "clock-skew"];
    let set = |line: &Line| line.at <= free.1 && clocks.contains(&line.text("fault"));
    let replicas = ["cut-replication", "failover"];
    let parted = |line: &Line| line.at <= free.1 && replicas.contains(&line.text("fault"));
    if case.file.needs_replicas && case.file.events("fault-began").any(parted) {
        let answer = Answer::Undecided("a lock that needs its replicas has lost them");
        return Finding {
            note,
            ..Finding::plain(answer)
        };
    }
    if case.file.events("fault-began").any(set) {
        let answer = Answer::Undecided("a clock was set, and a key may live longer");
        return Finding {
            note,
            ..Finding::plain(answer)
        };
    }
    Finding::violated(wait_causes(case, key, free), note)
}
