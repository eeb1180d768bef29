//! The judge's verdicts on a history.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | too little to judge, with a proven violation | the violation counts |
//! | "competed" | two attempts of two workers for one lock, from the request to the end of the hold, overlap |
//! | "competed", for jobs that run at ticks | two workers requested one lock for one tick, even if not at the same time |
//! | a grant without a command, a freeze breach | `unknown` for every property, even if a violation was observed |
//! | a planned fault that never fired | `unknown`, unless it is optional |
//! | a lock that breaks the protocol or hangs | judged anyway |
//! | "fewer than two clients are left" | at least one ended without a fault, and no client was granted the lock after the last such end |

use std::collections::BTreeMap;

use super::answer::{Answer, Finding};
use super::attempt::{Attempt, attempts, overlap};
use super::cause::Case;
use super::key_history::KeyHistory;
use super::line::{File, Line};
use super::renewal::{can_be_stale, shares_a_token};
use super::{claims, overlaps, progress, tokens};

/// The properties, with their names in documents.
pub const PROPERTIES: [&str; 7] = [
    "exclusion",
    "lease",
    "resource",
    "ownership",
    "fencing",
    "progress",
    "claims",
];

impl Case {
    /// Reads the text of a history.
    pub fn read(text: &str) -> Case {
        let file = File::read(text);
        let attempts = attempts(&file);
        let key_history = KeyHistory::read(&file, &attempts);
        Case {
            file,
            attempts,
            key_history,
        }
    }
}

/// Judges the text of a history.
pub fn judge(text: &str) -> BTreeMap<&'static str, Finding> {
    let case = Case::read(text);
    let mut found: BTreeMap<&'static str, Finding> = BTreeMap::new();
    for property in PROPERTIES {
        let finding = match property {
            "exclusion" => overlaps::exclusion(&case),
            "lease" => overlaps::lease(&case),
            "resource" => overlaps::resource(&case),
            "ownership" => tokens::ownership(&case),
            "fencing" => tokens::fencing(&case),
            "progress" => progress::progress(&case),
            _ => claims::claims(&case),
        };
        let finding = without_impossible(&case, finding);
        found.insert(
            property,
            apply_validity(&case.file, &case.attempts, finding),
        );
    }
    found
}

/// Removes causes that the run cannot have: `shared-token` without two attempts with one token, and `stale-reply`
/// without anything that makes a reply late.
fn without_impossible(case: &Case, mut finding: Finding) -> Finding {
    if let Answer::Violated(causes) = &mut finding.answer
        && causes.len() > 1
    {
        let (shares, stale) = (shares_a_token(case), can_be_stale(&case.file));
        causes.retain(|cause| match *cause {
            "shared-token" => shares,
            "stale-reply" => stale,
            _ => true,
        });
    }
    finding
}

/// Events which mean that the harness, or the lock, did not do what the scenario requires.
const NOT_DONE: [&str; 10] = [
    "harness-stalled",
    "resource-exhausted",
    "client-gone",
    "node-lost",
    "fault-not-undone",
    "backend-unsupported",
    "command-unknown",
    "extension-untested",
    "stock-unknown",
    "final-inspection-failed",
];

/// Applies what makes a whole run inconclusive, or not applicable, to a finding.
pub fn apply_validity(file: &File, attempts: &[Attempt], finding: Finding) -> Finding {
    let first = |event| file.events(event).next();
    let judges_nothing = [
        "grant-without-command",
        "freeze-breach",
        "unrequested-failover",
    ];
    if let Some(line) = judges_nothing.into_iter().find_map(first) {
        return Finding {
            lines: vec![line.number],
            ..Finding::plain(Answer::Unknown)
        };
    }
    if let Some(line) = not_offered(file)
        && !matches!(finding.answer, Answer::Violated(_) | Answer::Undecided(_))
    {
        return Finding {
            lines: vec![line.number],
            ..Finding::plain(Answer::NotApplicable)
        };
    }
    if finding.answer != Answer::Held {
        return finding;
    }
    let missed = file
        .events("fault-missed")
        .find(|line| !line.flag("optional"));
    let not_done = NOT_DONE.into_iter().find_map(first);
    if let Some(line) = missed.or(not_done) {
        return Finding {
            lines: vec![line.number],
            ..Finding::plain(Answer::Unknown)
        };
    }
    if let Some(line) = left_alone(file, attempts) {
        return Finding {
            lines: vec![line.number],
            ..Finding::plain(Answer::Unknown)
        };
    }
    let grants = attempts.iter().filter(|one| one.granted()).count();
    if grants < file.min_grants || !(competed(attempts) || competed_for_a_tick(file, attempts)) {
        return Finding {
            note: format!("{grants} grants"),
            ..Finding::plain(Answer::Unknown)
        };
    }
    finding
}

/// Returns the last end of a client that no fault had ended, if it left fewer than two clients, and no client got the
/// lock afterwards.
fn left_alone<'a>(file: &'a File, attempts: &[Attempt]) -> Option<&'a Line> {
    let mut down = BTreeMap::new();
    for line in &file.lines {
        match line.event.as_str() {
            "worker-down" => down.insert(line.num("worker"), line),
            "worker-up" => down.remove(&line.num("worker")),
            _ => continue,
        };
    }
    let by_themselves = down.values().filter(|line| !line.flag("by_fault"));
    let last = by_themselves.copied().max_by_key(|line| line.at)?;
    let is_over = attempts
        .iter()
        .all(|one| !one.granted() || one.answered <= last.at);
    (is_over && file.workers < down.len() as u64 + 2).then_some(last)
}

/// Returns the event which means that the scenario requires something that the lock or the backend does not offer.
fn not_offered(file: &File) -> Option<&Line> {
    let refused = file
        .events("extension-untested")
        .filter(|line| line.has("unsupported"));
    let unable = file
        .events("fault-missed")
        .filter(|line| line.text("because") == "unable" && !line.flag("optional"));
    let plain = ["lease-refused", "backend-unsupported", "not-offered"].into_iter();
    let mut all = plain.flat_map(|event| file.events(event));
    all.next().or(refused.chain(unable).next())
}

fn competed(attempts: &[Attempt]) -> bool {
    attempts.iter().enumerate().any(|(index, one)| {
        let span = |attempt: &Attempt| {
            if attempt.granted() {
                (attempt.requested_at, attempt.until)
            } else {
                (attempt.requested_at, attempt.answered)
            }
        };
        attempts[..index].iter().any(|other| {
            let against = one.key == other.key && one.worker != other.worker;
            against && overlap(span(one), span(other)).is_some()
        })
    })
}

fn competed_for_a_tick(file: &File, attempts: &[Attempt]) -> bool {
    let tick = |one: &Attempt| {
        let its = file
            .events("tick-due")
            .filter(|line| line.num("worker") == Some(one.worker) && line.at <= one.requested_at);
        its.filter_map(|line| line.num("tick")).max()
    };
    let asked: Vec<(u64, u64, Option<u64>)> = attempts
        .iter()
        .map(|one| (one.key, one.worker, tick(one)))
        .collect();
    asked.iter().any(|(key, worker, tick)| {
        let rival = |(its, other, of): &(u64, u64, Option<u64>)| {
            its == key && other != worker && of == tick
        };
        tick.is_some() && asked.iter().any(rival)
    })
}
