//! Reports as read by people and by machines.

#![expect(
    clippy::unwrap_used,
    reason = "helper functions may fail the test, like the tests themselves"
)]

mod any_history;
mod cell;
mod cells;
mod comparisons;
mod conclusion;
mod default_matrix;
mod document;
mod gate;
mod gathered;
mod history_builder;
mod html;
mod junit;
mod key_history_samples;
mod limits;
mod markdown;
mod matrix;
mod merging;
mod open_loop;
mod repro;
mod samples;
mod scorecard;
mod searches;
mod similarity;
mod terminal;
mod trace;
mod warnings;

/// Returns an `unknown` verdict of a record that has only the text of the reason.
fn inconclusive(words: impl Into<String>) -> picklock_verdicts::check::Verdict {
    picklock_verdicts::check::Verdict {
        story: vec![words.into()],
        ..picklock_verdicts::check::Verdict::unknown(Vec::new())
    }
}
