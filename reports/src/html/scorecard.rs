//! The scorecard for the page's template.

use picklock_scenarios::Family;

use super::name::{Name, name, sentence};
use crate::report_input::ReportInput;
use crate::scorecard::{FamilyScore, LockScore, Percentiles, Scorecard};

/// The advice, and a row for each lock.
pub(super) struct ScorecardView {
    /// Sentences, in parts: every second part is a name.
    pub(super) advice: Vec<Vec<String>>,
    pub(super) families: Vec<&'static str>,
    pub(super) rows: Vec<ScoreRow>,
}

/// A lock.
pub(super) struct ScoreRow {
    pub(super) lock: Name,
    pub(super) sentence: String,
    pub(super) scores: Vec<Score>,
    /// Fencing, commands, healthy, contended, failover, availability, needs.
    pub(super) figures: Vec<String>,
}

/// How many scenarios of a family were survived.
pub(super) struct Score {
    pub(super) words: String,
    /// `good`, `some` or `none`.
    pub(super) tone: &'static str,
}

/// Nothing if the matrix is too small to compare anything.
pub(super) fn scorecard(input: &ReportInput) -> Option<ScorecardView> {
    let scorecard = Scorecard::from_matrix(&input.matrix)?;
    let parts = |words: &str| words.split('`').map(|it| sentence(it).shown).collect();
    Some(ScorecardView {
        advice: scorecard.advice.iter().map(|it| parts(&it.words)).collect(),
        families: Family::ALL.map(Family::as_str).into(),
        rows: scorecard.locks.iter().map(row).collect(),
    })
}

fn row(of: &LockScore) -> ScoreRow {
    let families = Family::ALL.map(|family| of.families.get(family.as_str()).copied());
    let scores = std::iter::once(Some(of.all)).chain(families);
    let latency = |it: Option<Percentiles>| it.map_or_else(none, Percentiles::describe);
    let costs = &of.costs;
    ScoreRow {
        lock: name(&of.lock),
        sentence: sentence(&of.sentence()).shown,
        scores: scores.map(score).collect(),
        figures: vec![
            of.fencing.words().to_owned(),
            of.commands().unwrap_or_else(none),
            latency(costs.healthy),
            latency(costs.contended),
            latency(costs.failover),
            of.availability().unwrap_or_else(none),
            of.needs(),
        ],
    }
}

fn none() -> String {
    "–".to_owned()
}

fn score(of: Option<FamilyScore>) -> Score {
    let (words, tone) = match of.filter(|of| of.judged > 0) {
        Some(of) if of.survived == of.judged => (of.describe(), "good"),
        Some(of) => (of.describe(), "some"),
        None => (none(), "none"),
    };
    Score { words, tone }
}
