//! `answer`: a command is answered with an error, in the server's own words, and the server does not see it.

use super::{Action, Affects, FaultPlan, Field, Kind, LinkAction};

/// What an answer may have.
pub(super) const OPTIONAL: &[Field] = &[Field::For, Field::Workers, Field::Nodes, Field::Frames];

pub(super) const KIND: Kind = Kind {
    does: "answers {} with {of}",
    required: &[Field::Error],
    optional: OPTIONAL,
    of: word,
    ..Kind::new("answer", Affects::Links, |plan| answered(plan, false))
};

/// The error by its first word.
pub(super) fn word(plan: &FaultPlan) -> Option<String> {
    Some(plan.error?.as_str().to_owned())
}

/// What is done.
pub(super) fn answered(plan: &FaultPlan, executed: bool) -> Option<Vec<Action>> {
    let error = plan.error?;
    Some(vec![Action::Link(LinkAction::Answer { error, executed })])
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn answer_without_an_error_is_refused_with_all_errors() {
        for kind in ["answer", "false-answer"] {
            let text = format!(
                "name = \"x\"\nsummary = \"x\"\n[[fault]]\nkind = \"{kind}\"\nat = \"1s\"\n"
            );
            let error = Scenario::parse(&text, "x.toml").unwrap_err().to_string();
            assert!(error.contains("needs `error`"), "{error}");
            assert!(error.contains("READONLY, LOADING, MISCONF, CLUSTERDOWN, NOREPLICAS, BUSY"));
        }
    }
}
