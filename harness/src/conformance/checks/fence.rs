//! `fence`: fencing tokens grow.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::{Evidence, Exchange};
use crate::conformance::finding::{Judgement, Problem, not_offered, passed_with};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "fence",
    about: "gives every grant a larger `fence` than the one before",
    paragraph: "granted",
    script: &[
        Step::RequestKind(Who::One, TAKE, "first"),
        Step::RequestKind(Who::One, Say::Release { of: "first" }, "release"),
        Step::RequestKind(Who::Two, TAKE, "second"),
        Step::RequestKind(
            Who::Two,
            Say::Release { of: "second" },
            "release of the second",
        ),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    let (first, second) = (evidence.granted("first")?, evidence.granted("second")?);
    match (fence(first), fence(second)) {
        (None, None) => not_offered("no `fence`"),
        (Some(before), Some(after)) if before < after => {
            passed_with(format!("{before}, then {after}"))
        }
        (Some(before), Some(after)) => Err(Problem::new(format!(
            "`fence` was {before} for one grant and {after} for the next one, of another client; it must grow"
        ))
        .with_line(&second.line())),
        _ => Err(Problem::new("it gave a `fence` to one grant, and none to the next one")
            .with_line(&second.line())),
    }
}

fn fence(exchange: &Exchange) -> Option<u64> {
    match &exchange.answer {
        Answer::Granted { fence, .. } => *fence,
        _ => None,
    }
}
