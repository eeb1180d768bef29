//! `false-answer`: a command is executed, and answered with an error that says that it was refused. A lock that
//! believes it has been lied to.

use super::answer::{OPTIONAL, answered, word};
use super::{Affects, Field, Kind};

pub(super) const KIND: Kind = Kind {
    does: "executes {} and answers with {of}",
    required: &[Field::Error],
    optional: OPTIONAL,
    of: word,
    lies: true,
    ..Kind::new("false-answer", Affects::Links, |plan| answered(plan, true))
};
