//! Reasons for the gate to fail.

use picklock_verdicts::check::Verdict;
use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::cell_key::CellKey;

pub(super) const UPDATE: &str = "run `picklock gate --update-baseline`, and review the changes";

pub(super) const EXPECT: &str =
    "add an [[expect]] table for it to the configuration, or remove the cell";

/// The kind of a finding, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A verdict is not as expected.
    Verdict,
    /// An expected violation no longer shows.
    UnexpectedPass,
    /// A limit is broken.
    Limit,
    /// A cell is in only one of run and baseline.
    MissingCell,
    /// The baseline is outdated.
    StaleBaseline,
    /// A limit needs a baseline, and there is none.
    NoBaseline,
    /// Nothing was run.
    EmptyRun,
    /// A cell could not be run.
    NotRun,
    /// Too little happened to judge.
    Inconclusive,
}

impl Kind {
    /// The title of the kind.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Verdict => "verdict differs",
            Kind::UnexpectedPass => "unexpected pass",
            Kind::Limit => "limit broken",
            Kind::MissingCell => "missing cell",
            Kind::StaleBaseline => "stale baseline",
            Kind::NoBaseline => "no baseline",
            Kind::EmptyRun => "empty run",
            Kind::NotRun => "could not be run",
            Kind::Inconclusive => "could not be judged",
        }
    }
}

/// One reason for the gate to fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// Its severity within its kind; 0 is the worst.
    #[serde(skip)]
    pub severity: u8,
    /// The cell, if it is about one.
    #[serde(flatten)]
    pub cell: Option<CellKey>,
    /// The problem, in one sentence.
    pub problem: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What happened, for a violation; what was left out, for an empty run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// The command that repeats the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}

impl Finding {
    /// A finding about a cell.
    pub(super) fn new(kind: Kind, cell: &CellKey, problem: impl Into<String>) -> Finding {
        Finding {
            cell: Some(cell.clone()),
            ..Finding::general(kind, problem)
        }
    }

    /// A finding about no cell in particular.
    pub(super) fn general(kind: Kind, problem: impl Into<String>) -> Finding {
        Finding {
            kind,
            severity: 0,
            cell: None,
            problem: problem.into(),
            help: None,
            story: Vec::new(),
            reproduce: None,
        }
    }

    /// Adds what to do about it.
    pub(super) fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }

    /// Adds the story and the command of the run that the cell shows; `None`: another run shows the problem.
    pub(super) fn shown_by(mut self, cell: &Cell, verdict: Option<&Verdict>) -> Finding {
        if let Some(verdict) = verdict {
            self.story = verdict.story.clone();
            self.reproduce = Some(cell.reproduce.clone());
        }
        self
    }

    /// `redlock × calm × sim: verdict differs`, or only the kind.
    pub fn title(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{cell}: {}", self.kind.title()),
            None => self.kind.title().to_owned(),
        }
    }
}
