//! `unknown-words`: fields of later versions are ignored, and their requests answered with `error`.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, Who};

pub(super) const CHECK: Check = Check {
    name: "unknown-words",
    about: "ignores unknown fields, and answers an unknown `op` with `error`",
    paragraph: "versions",
    script: &[
        Step::RequestKind(Who::One, Say::PingWithUnknownField, "field"),
        Step::RequestKind(Who::One, Say::UnknownOp, "op"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.exchange("field")?;
    let answered = evidence.exchange("op")?;
    match &answered.answer {
        Answer::Error { .. } => passed(),
        other => Err(Problem::new(format!(
            "it answered a request that the protocol does not have with `{}`; expected `error`",
            other.reply()
        ))
        .with_line(&answered.line())),
    }
}
