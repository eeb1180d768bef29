//! A fact about a run, or about the cells of a matrix, with its name.

use super::name::{Name, sentence};

/// Something about how it was run.
pub(super) struct Fact {
    pub(super) what: &'static str,
    pub(super) value: Name,
}

pub(super) fn fact(what: &'static str, value: impl AsRef<str>) -> Fact {
    Fact {
        what,
        value: sentence(value.as_ref()),
    }
}
