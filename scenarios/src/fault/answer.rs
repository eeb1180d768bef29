//! `answer`: a command is answered with an error, in the server's own words. The server does not see it,
//! unless it is `executed` all the same.

use super::{Action, Field, Kind, LinkAction, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "answers {} with {of}",
    required: &[Field::Error],
    optional: &[
        Field::Executed,
        Field::For,
        Field::Workers,
        Field::Nodes,
        Field::Frames,
    ],
    of: |plan| {
        let word = plan.error?.word();
        Some(match plan.executed {
            false => word.to_owned(),
            true => format!("{word} (executed all the same)"),
        })
    },
    ..Kind::new("answer", Strikes::Links, |plan| {
        Some(vec![Action::Link(LinkAction::Answer {
            error: plan.error?,
            executed: plan.executed,
        })])
    })
};
