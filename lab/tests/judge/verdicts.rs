//! The whole judgement of one history.
//!
//! What sections 4 and 5 leave open, and how this judge reads it:
//!
//! | open | read as |
//! |---|---|
//! | too little to judge, with a proven violation | the violation stands |
//! | "competed" | two attempts of two workers for one lock, from the request to the end of the hold, overlap |
//! | a grant without a command, a fault that escaped | `unknown` for every property, also where something was seen |
//! | a planned fault that never struck | `unknown`, unless it is optional |
//! | a lock that breaks the protocol or hangs | judged all the same |

use std::collections::BTreeMap;

use super::answer::{Answer, Finding};
use super::attempt::{Attempt, attempts, overlap};
use super::cause::Case;
use super::key_history::KeyHistory;
use super::line::{File, Line};
use super::{claims, overlaps, progress, tokens};

/// The properties, by the names of the documents.
pub const PROPERTIES: [&str; 7] = [
    "exclusion",
    "lease",
    "resource",
    "ownership",
    "fencing",
    "progress",
    "claims",
];

/// Judges the text of a history.
pub fn judge(text: &str) -> BTreeMap<&'static str, Finding> {
    let file = File::read(text);
    let attempts = attempts(&file);
    let key_history = KeyHistory::read(&file, &attempts);
    let case = Case {
        file: &file,
        attempts: &attempts,
        key_history: &key_history,
    };
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
        found.insert(property, gated(&file, &attempts, finding));
    }
    found
}

/// Events that tell that the harness, or the lock, did not do what the scenario says.
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

fn gated(file: &File, attempts: &[Attempt], finding: Finding) -> Finding {
    let untrue = |event| file.of(event).next();
    let says_nothing = [
        "grant-without-command",
        "freeze-breach",
        "unrequested-failover",
    ];
    if let Some(line) = says_nothing.into_iter().find_map(untrue) {
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
    let missed = file.of("fault-missed").find(|line| !line.flag("optional"));
    let kept_back = NOT_DONE.into_iter().find_map(untrue);
    if let Some(line) = missed.or(kept_back) {
        return Finding {
            lines: vec![line.number],
            ..Finding::plain(Answer::Unknown)
        };
    }
    let grants = attempts.iter().filter(|one| one.granted()).count();
    if grants < file.min_grants || !competed(attempts) {
        return Finding {
            note: format!("{grants} grants"),
            ..Finding::plain(Answer::Unknown)
        };
    }
    finding
}

/// The event that tells that the scenario asks for what the lock or the backend does not offer.
fn not_offered(file: &File) -> Option<&Line> {
    let refused = file.of("extension-untested");
    let refused = refused.filter(|line| line.has("unsupported"));
    let unable = file.of("fault-missed");
    let unable = unable.filter(|line| line.text("because") == "unable" && !line.flag("optional"));
    let plain = ["lease-refused", "backend-unsupported"].into_iter();
    let mut all = plain.flat_map(|event| file.of(event));
    all.next().or(refused.chain(unable).next())
}

fn competed(attempts: &[Attempt]) -> bool {
    attempts.iter().enumerate().any(|(index, one)| {
        let span = |attempt: &Attempt| match attempt.granted() {
            true => (attempt.asked, attempt.until),
            false => (attempt.asked, attempt.answered),
        };
        attempts[..index].iter().any(|other| {
            let against = one.key == other.key && one.worker != other.worker;
            against && overlap(span(one), span(other)).is_some()
        })
    })
}
