//! The meaning of a verdict in one line, with its remedy if there is one.

use picklock_verdicts::check::{Cause, Property, Status, Verdict, describe};

/// The meaning of this verdict on `property`.
pub fn verdict_line(property: Property, verdict: &Verdict) -> String {
    match verdict.status {
        Status::Held => match verdict.story.first() {
            Some(said) => said.clone(),
            None => describe(property).held.to_owned(),
        },
        Status::Violated => {
            let why = verdict.cause.unwrap_or(Cause::Undetermined).meaning();
            match verdict.violations {
                0 | 1 => why.to_owned(),
                times => format!("{why} ({times} times)"),
            }
        }
        Status::Unknown => match verdict.story.first() {
            Some(reason) => reason.clone(),
            None => "could not be decided".to_owned(),
        },
        Status::NotApplicable => match verdict.story.first() {
            Some(reason) => reason.clone(),
            None => describe(property).not_applicable.to_owned(),
        },
    }
}
