//! Parameters of runs that differ between two sets. They explain differences of many cells, so they come first, in one
//! line each.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::record::Cell;
use serde::Serialize;

use crate::units::{count, span_ms};

/// A parameter whose value differs in the later set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name, such as `ttl`.
    pub name: &'static str,
    /// Its values before, in words.
    pub before: Vec<String>,
    /// Its value after, in words.
    pub after: String,
    /// Number of cells in which it differs.
    pub cells: usize,
}

impl Parameter {
    /// Formats the change, such as `In 118 cells the lease is 3 s instead of 1 s or 2 s`. More than two values
    /// are a range.
    pub fn describe(&self) -> String {
        let before = match self.before.as_slice() {
            [least, _, .., greatest] => format!("{least} to {greatest}"),
            few => few.join(" or "),
        };
        let what = match self.name {
            "ttl" => "the lease is",
            "workers" => "the number of clients is",
            _ => "the number of nodes is",
        };
        let cells = count(self.cells, "cell");
        format!("In {cells} {what} {} instead of {before}", self.after)
    }
}

/// The changed parameters of the cells that were compared so far.
#[derive(Debug, Default)]
pub(super) struct Parameters(BTreeMap<(&'static str, u64), (BTreeSet<u64>, usize)>);

impl Parameters {
    /// Adds the parameters in which two runs of a cell differ. Returns `true` if there are any.
    pub(super) fn add(&mut self, before: &Cell, after: &Cell) -> bool {
        let (Some(before), Some(after)) = (before.setting, after.setting) else {
            return false;
        };
        let pairs = [
            ("ttl", before.ttl_ms.zip(after.ttl_ms)),
            (
                "workers",
                before
                    .workers
                    .zip(after.workers)
                    .map(|(before, after)| (before as u64, after as u64)),
            ),
            ("nodes", Some((before.nodes as u64, after.nodes as u64))),
        ];
        let mut differs = false;
        for (name, pair) in pairs {
            let Some((before, after)) = pair.filter(|(before, after)| before != after) else {
                continue;
            };
            let (values, cells) = self.0.entry((name, after)).or_default();
            values.insert(before);
            *cells += 1;
            differs = true;
        }
        differs
    }

    /// Returns all changes.
    pub(super) fn list(self) -> Vec<Parameter> {
        let describe = |name: &str, value: u64| match name {
            "ttl" => span_ms(value),
            _ => value.to_string(),
        };
        let all = self.0.into_iter();
        all.map(|((name, after), (before, cells))| Parameter {
            name,
            before: before.iter().map(|value| describe(name, *value)).collect(),
            after: describe(name, after),
            cells,
        })
        .collect()
    }
}
