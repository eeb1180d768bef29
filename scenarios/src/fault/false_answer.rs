//! `false-answer`: a command is executed, but answered with an error that claims that it was refused.

use super::answer::{OPTIONAL, answer_actions, error_word};
use super::{Affects, Field, Kind};

pub(super) const KIND: Kind = Kind {
    does: "executes {} and answers with {of}",
    required: &[Field::Error],
    optional: OPTIONAL,
    detail: error_word,
    answers_falsely: true,
    ..Kind::new("false-answer", Affects::Links, |plan| {
        answer_actions(plan, true)
    })
};
