//! What stands against opening the gate.

use serde::Serialize;

use super::cell_key::CellKey;

pub(super) const UPDATE: &str = "run `picklock gate --update-baseline`, and look at what changes";

/// What kind of thing is wrong; the first is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A property came out otherwise than expected.
    Verdict,
    /// An expected violation does not show any more.
    DeadAlarm,
    /// A limit is broken.
    Limit,
    /// A cell is in the run and not in the baseline, or the other way round.
    MissingCell,
    /// The baseline is about something else.
    StaleBaseline,
    /// A limit needs a baseline, and there is none.
    NoBaseline,
    /// Nothing was run.
    EmptyRun,
    /// A cell could not be run.
    NotRun,
    /// What came out is too little to say.
    NotJudged,
}

impl Kind {
    /// As titles have it.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Verdict => "verdict differs",
            Kind::DeadAlarm => "dead alarm",
            Kind::Limit => "limit broken",
            Kind::MissingCell => "missing cell",
            Kind::StaleBaseline => "stale baseline",
            Kind::NoBaseline => "no baseline",
            Kind::EmptyRun => "empty run",
            Kind::NotRun => "could not be run",
            Kind::NotJudged => "could not be judged",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What kind.
    pub kind: Kind,
    /// How bad among its kind; 0 is the worst.
    #[serde(skip)]
    pub severity: u8,
    /// Which cell, if it is about one.
    #[serde(flatten)]
    pub cell: Option<CellKey>,
    /// What is wrong, in one sentence.
    pub problem: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What happened, for a violation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// The command that shows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}

impl Finding {
    /// About a cell.
    pub(super) fn of(kind: Kind, cell: &CellKey, problem: impl Into<String>) -> Finding {
        Finding {
            cell: Some(cell.clone()),
            ..Finding::general(kind, problem)
        }
    }

    /// About no cell in particular.
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

    /// With what to do about it.
    pub(super) fn help(self, help: impl Into<String>) -> Finding {
        Finding {
            help: Some(help.into()),
            ..self
        }
    }

    /// `redlock × calm × sim: verdict differs`, or only what is wrong.
    pub fn title(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{cell}: {}", self.kind.title()),
            None => self.kind.title().to_owned(),
        }
    }
}
