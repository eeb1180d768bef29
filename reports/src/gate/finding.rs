//! The reasons for the gate to fail.

use picklock_verdicts::check::{Property, Verdict};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::cell_key::CellKey;
use crate::matrix::Severity;

pub(super) const UPDATE: &str = "run `picklock gate --update-baseline`, and review the changes";

pub(super) const EXPECT: &str =
    "add an [[expect]] table for the cell to the configuration, or remove the cell";

/// The kind of a finding, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A verdict is unexpected.
    Verdict,
    /// An expected violation no longer occurs.
    UnexpectedPass,
    /// A limit is broken.
    Limit,
    /// A cell is in only one of the run and the baseline.
    MissingCell,
    /// The baseline is outdated.
    StaleBaseline,
    /// A limit requires a baseline, which is missing.
    NoBaseline,
    /// No cell was run.
    EmptyRun,
    /// A cell could not be run.
    NotRun,
    /// A run has too little evidence for a verdict.
    Inconclusive,
}

impl Kind {
    /// Returns the severity of such a finding.
    pub(super) fn severity(self) -> Severity {
        match self {
            Kind::NotRun => Severity::NotRun,
            Kind::Inconclusive => Severity::Inconclusive,
            _ => Severity::Failed,
        }
    }

    /// Returns the title of the kind.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Verdict => "unexpected verdict",
            Kind::UnexpectedPass => "unexpected pass",
            Kind::Limit => "limit broken",
            Kind::MissingCell => "missing cell",
            Kind::StaleBaseline => "stale baseline",
            Kind::NoBaseline => "no baseline",
            Kind::EmptyRun => "empty run",
            Kind::NotRun => "could not be run",
            Kind::Inconclusive => "inconclusive",
        }
    }
}

/// One reason for the gate to fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: Kind,
    /// Rank within the kind; 0 is the worst.
    #[serde(skip)]
    pub rank: u8,
    /// The property, if the finding is about a verdict.
    #[serde(skip)]
    pub property: Option<Property>,
    /// The cell, if the finding is about one.
    #[serde(flatten)]
    pub cell: Option<CellKey>,
    /// The problem, in one sentence.
    pub problem: String,
    /// Help for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The story of a violation, or the omitted cells of an empty run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// The command that repeats the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}

impl Finding {
    /// Creates a finding about a cell.
    pub(super) fn new(kind: Kind, cell: &CellKey, problem: impl Into<String>) -> Finding {
        Finding {
            cell: Some(cell.clone()),
            ..Finding::general(kind, problem)
        }
    }

    /// Creates a finding that is not about a particular cell.
    pub(super) fn general(kind: Kind, problem: impl Into<String>) -> Finding {
        Finding {
            kind,
            rank: 0,
            property: None,
            cell: None,
            problem: problem.into(),
            help: None,
            story: Vec::new(),
            reproduce: None,
        }
    }

    /// Adds a help text.
    pub(super) fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }

    /// Adds the story and the command of the run that the cell shows. `verdict` is `None` if the problem
    /// occurred in another run.
    pub(super) fn shown_by(mut self, cell: &Cell, verdict: Option<&Verdict>) -> Finding {
        if let Some(verdict) = verdict {
            self.story = verdict.story.clone();
            self.reproduce = Some(cell.reproduce.clone());
        }
        self
    }

    /// Returns the title, such as `redlock × calm × sim: unexpected verdict`, or only the kind.
    pub fn title(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{cell}: {}", self.kind.title()),
            None => self.kind.title().to_owned(),
        }
    }
}
