//! The reasons for the gate to fail.

use picklock_verdicts::check::{Cause, Property, Verdict, Verdicts};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::cell_key::CellKey;
use crate::matrix::Severity;
use crate::problem::{Problem, problems_among};
use crate::units::count;

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

/// The explanation of a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The causes, the one that decides the fault first.
    pub causes: Vec<Cause>,
    /// The party at fault, in a few words.
    pub party: &'static str,
    /// The events, in one sentence without a full stop.
    pub headline: String,
    /// The party at fault and the reason.
    pub fault: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
}

impl Proof {
    fn new(problem: &Problem<'_>, verdicts: &Verdicts) -> Proof {
        Proof {
            causes: problem.causes.clone(),
            party: problem.party.fault(),
            headline: problem.headline(),
            fault: problem.fault(verdicts),
            remedy: problem.remedy(),
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
    /// The cell, if the finding is about one.
    #[serde(flatten)]
    pub cell: Option<CellKey>,
    /// Other cells of the same lock with the same problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<CellKey>,
    /// The properties, if the finding is about verdicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// The problem, with one line for each property that the story violates.
    pub problem: String,
    /// Cause, party at fault and remedy in the shown run.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
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
            cell: None,
            also_in: Vec::new(),
            properties: Vec::new(),
            problem: problem.into(),
            proof: None,
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

    /// Returns the number of cells in which the finding occurred.
    pub(super) fn cells(&self) -> usize {
        self.also_in.len() + 1
    }

    /// Returns the title, such as `redlock × calm × sim: unexpected verdict`, or only the kind.
    pub fn title(&self) -> String {
        let also = match self.also_in.len() {
            0 => String::new(),
            more => format!(" and {}", count(more, "more cell")),
        };
        match (&self.cell, &self.proof) {
            (Some(cell), Some(proof)) => {
                let cause = proof
                    .causes
                    .first()
                    .map_or(self.kind.title(), |it| it.as_str());
                format!("{cell}{also}: {cause}, {}", proof.party)
            }
            (Some(cell), None) => format!("{cell}{also}: {}", self.kind.title()),
            (None, _) => self.kind.title().to_owned(),
        }
    }
}

/// Joins the findings about verdicts of one cell that share a story.
pub(super) fn join_stories(cell: &Cell, findings: Vec<Finding>) -> Vec<Finding> {
    let (mut violated, mut rest): (Vec<Finding>, Vec<Finding>) = findings
        .into_iter()
        .partition(|one| one.kind == Kind::Verdict && one.reproduce.is_some());
    let is_found = |property| {
        violated
            .iter()
            .any(|one| one.properties.contains(&property))
    };
    for problem in problems_among(&cell.verdicts, is_found) {
        let is_told = |one: &mut Finding| {
            let mut properties = problem.properties.iter();
            properties.any(|it| one.properties.contains(it))
        };
        let told: Vec<Finding> = violated.extract_if(.., is_told).collect();
        let joined = told.into_iter().reduce(|mut joined, one| {
            joined.rank = joined.rank.min(one.rank);
            joined.problem = format!("{}\n{}", joined.problem, one.problem);
            joined
        });
        rest.extend(joined.map(|joined| {
            Finding {
                properties: problem.properties.clone(),
                proof: Some(Proof::new(&problem, &cell.verdicts)),
                story: problem
                    .fault_and_deciding()
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
                ..joined
            }
        }));
    }
    violated.append(&mut rest);
    violated
}

/// Joins the findings of one lock in several cells if they have the same cause and the lock itself is at fault, because
/// one bug appears in many scenarios. Also joins the cells of a lock that could not be run for the same reason. The
/// findings are sorted, so that the worst cell is shown.
pub(super) fn join_cells(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for finding in findings {
        let same = joined.iter_mut().find(|one| is_same_bug(one, &finding));
        match (same, &finding.cell) {
            (Some(same), Some(cell)) => same.also_in.push(cell.clone()),
            _ => joined.push(finding),
        }
    }
    joined
}

fn is_same_bug(one: &Finding, other: &Finding) -> bool {
    if one.kind == Kind::NotRun && other.kind == Kind::NotRun {
        return is_same_lock(one, other) && one.problem == other.problem;
    }
    let (Some(a), Some(b)) = (&one.proof, &other.proof) else {
        return false;
    };
    let is_known = a
        .causes
        .first()
        .is_some_and(|it| *it != Cause::Undetermined);
    one.kind == other.kind
        && is_same_lock(one, other)
        && is_known
        && a.causes.first() == b.causes.first()
        && a.party == b.party
}

/// Returns `true` if the findings are about two cells of the same lock in the same backend.
fn is_same_lock(one: &Finding, other: &Finding) -> bool {
    match (&one.cell, &other.cell) {
        (Some(a), Some(b)) => {
            a.lock == b.lock && a.options == b.options && a.backend == b.backend && a != b
        }
        _ => false,
    }
}
