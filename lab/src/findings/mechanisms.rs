//! Counts the mechanisms behind a lock's violations.
//!
//! A mechanism is one reason why the lock is violated, whatever the number of scenarios, properties and causes that
//! show it. The findings file has one interpretation for each reason. A violation without an interpretation is known by
//! its cause only.

use picklock_verdicts::check::Cause;
use picklock_verdicts::record::Cell;

use super::violations::{grouped, is_proven};
use crate::library::{Kind, Library, Reading};

/// The number of a lock's mechanisms of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mechanisms {
    /// Number of known limits.
    pub limits: usize,
    /// Number of defects that the key history proves in at least one scenario.
    pub defects: usize,
    /// Number of causes without an interpretation, and of defects that the key history does not prove.
    pub unread: usize,
}

impl Mechanisms {
    /// Counts the mechanisms of a lock with these cells.
    pub fn of(library: &Library, cells: &[&Cell]) -> Mechanisms {
        let mut unread: Vec<Option<Cause>> = Vec::new();
        let mut proven: Vec<(&Reading, bool)> = Vec::new();
        for cell in cells {
            for (reading, all) in grouped(library, cell) {
                let Some(reading) = reading else {
                    unread.extend(all.iter().map(|violation| violation.cause));
                    continue;
                };
                let is_proven = is_proven(cell, &all);
                match proven.iter_mut().find(|(known, _)| *known == reading) {
                    Some((_, before)) => *before |= is_proven,
                    None => proven.push((reading, is_proven)),
                }
            }
        }
        unread.sort_unstable();
        unread.dedup();
        let count = |kind, needs_proof: bool| {
            let all = proven.iter();
            all.filter(|(reading, is_proven)| reading.kind == kind && (*is_proven || !needs_proof))
                .count()
        };
        let (limits, defects) = (count(Kind::Limit, false), count(Kind::Defect, true));
        Mechanisms {
            limits,
            defects,
            unread: unread.len() + proven.len() - limits - defects,
        }
    }
}
