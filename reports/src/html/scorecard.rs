//! The scorecard for the page's template.

use picklock_scenarios::Family;

use super::name::{Name, name, sentence};
use crate::report_input::ReportInput;
use crate::scorecard::{Choice, FamilyScore, LockScore, Percentiles, Scorecard};

/// The recommendations, and a row per lock.
pub(super) struct ScorecardView {
    pub(super) advice: Vec<Card>,
    /// The scenarios that do not count, in one line.
    pub(super) unscored: Option<String>,
    pub(super) families: Vec<&'static str>,
    pub(super) rows: Vec<ScoreRow>,
}

/// A recommendation in three lines, with its evidence.
pub(super) struct Card {
    pub(super) purpose: &'static str,
    pub(super) pick: Name,
    /// The reason in half a sentence.
    pub(super) reason: String,
    /// The needs of the lock, or empty.
    pub(super) needs: String,
    /// The evidence, split into parts. Every second part is a name.
    pub(super) evidence: Vec<String>,
}

/// A row of the scorecard.
pub(super) struct ScoreRow {
    pub(super) lock: Name,
    pub(super) sentence: String,
    pub(super) scores: Vec<Score>,
    /// The figures in the order of the columns: fencing, commands, healthy, contended, failover, availability,
    /// requirements.
    pub(super) figures: Vec<String>,
}

/// The number of scenarios of a family that a lock survived.
pub(super) struct Score {
    pub(super) words: String,
    /// `good`, `some` or `none`.
    pub(super) tone: &'static str,
}

/// Returns `None` if the matrix is too small for a comparison.
pub(super) fn scorecard(input: &ReportInput) -> Option<ScorecardView> {
    let scorecard = Scorecard::from_matrix(&input.matrix)?;
    let parts = |words: &str| words.split('`').map(|it| sentence(it).shown).collect();
    Some(ScorecardView {
        // A card without a recommendation would only take room.
        advice: (scorecard.advice.iter())
            .filter(|it| !matches!(it.choice, Choice::NotTried { .. }))
            .map(|it| Card {
                purpose: it.purpose.as_str(),
                pick: name(&it.pick),
                reason: sentence(it.reason.trim_start_matches([':', ';', ' '])).shown,
                needs: sentence(&it.needs).shown,
                evidence: parts(&it.words),
            })
            .collect(),
        unscored: scorecard.describe_unscored().map(|it| sentence(&it).shown),
        families: Family::ALL.map(Family::as_str).into(),
        rows: scorecard.locks.iter().map(row).collect(),
    })
}

fn row(score: &LockScore) -> ScoreRow {
    let families = Family::ALL.map(|family| score.families.get(family.as_str()).copied());
    let scores = std::iter::once(Some(score.all)).chain(families);
    let latency = |it: Option<Percentiles>| it.map_or_else(none, Percentiles::describe);
    let costs = &score.costs;
    ScoreRow {
        lock: name(&score.lock),
        sentence: sentence(&score.sentence()).shown,
        scores: scores.map(family_score).collect(),
        figures: vec![
            score.fencing.as_str().to_owned(),
            score.commands().unwrap_or_else(none),
            latency(costs.healthy),
            latency(costs.contended),
            latency(costs.failover),
            score.availability().unwrap_or_else(none),
            score.needs(),
        ],
    }
}

fn none() -> String {
    "–".to_owned()
}

fn family_score(score: Option<FamilyScore>) -> Score {
    let (words, tone) = match score.filter(|score| score.judged > 0) {
        Some(score) if score.survived == score.judged => (score.describe(), "good"),
        Some(score) => (score.describe(), "some"),
        None => (none(), "none"),
    };
    Score { words, tone }
}
