//! The judge's answer for a property.

use std::collections::BTreeSet;
use std::fmt;

/// The answer for one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Held,
    /// Violated, by any of these causes; usually there is one.
    Violated(BTreeSet<&'static str>),
    Unknown,
    NotApplicable,
    /// The judge cannot decide, because the definitions leave it open or the times are too close.
    Undecided(&'static str),
}

/// An answer with the lines of the history that decided it.
#[derive(Debug, Clone)]
pub struct Finding {
    pub answer: Answer,
    pub lines: Vec<usize>,
    pub note: String,
}

impl Finding {
    pub fn plain(answer: Answer) -> Finding {
        Finding {
            answer,
            lines: Vec::new(),
            note: String::new(),
        }
    }

    pub fn violated(causes: impl IntoIterator<Item = &'static str>, note: String) -> Finding {
        let mut causes: BTreeSet<&'static str> = causes.into_iter().collect();
        if causes.is_empty() {
            causes.insert("undetermined");
        }
        Finding {
            answer: Answer::Violated(causes),
            lines: Vec::new(),
            note,
        }
    }

    /// Lets another violation be the one that is reported. An undecided finding leaves everything undecided.
    pub fn or(&mut self, other: Finding) {
        match (&mut self.answer, other.answer) {
            (Answer::Violated(causes), Answer::Violated(others)) => causes.extend(others),
            (Answer::Undecided(_), _) => {}
            (answer, other) => *answer = other,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Held => f.write_str("held"),
            Answer::Violated(causes) => {
                let causes: Vec<&str> = causes.iter().copied().collect();
                write!(f, "violated: {}", causes.join(" or "))
            }
            Answer::Unknown => f.write_str("unknown"),
            Answer::NotApplicable => f.write_str("not-applicable"),
            Answer::Undecided(why) => write!(f, "undecided ({why})"),
        }
    }
}
