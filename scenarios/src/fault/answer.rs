//! `answer`: a command is answered with a server's error, and does not reach the server.

use super::{Action, Affects, FaultPlan, Field, Kind, LinkAction};

/// The optional fields of an answer.
pub(super) const OPTIONAL: &[Field] = &[Field::For, Field::Workers, Field::Nodes, Field::Frames];

pub(super) const KIND: Kind = Kind {
    does: "answers {} with {of}",
    required: &[Field::Error],
    optional: OPTIONAL,
    detail: error_word,
    ..Kind::new("answer", Affects::Links, |plan| answer_actions(plan, false))
};

/// Returns the error's first word.
pub(super) fn error_word(plan: &FaultPlan) -> Option<String> {
    Some(plan.error?.as_str().to_owned())
}

pub(super) fn answer_actions(plan: &FaultPlan, executed: bool) -> Option<Vec<Action>> {
    let error = plan.error?;
    Some(vec![Action::Link(LinkAction::Answer { error, executed })])
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn answer_without_an_error_is_rejected_with_the_list() {
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
