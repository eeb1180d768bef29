//! `refusal`: a lock that somebody holds is refused.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::{Evidence, Exchange};
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "refusal",
    about: "answers `refused` while another client has the lock",
    paragraph: "refused",
    script: &[
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RequestKind(Who::Two, TAKE, "second"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    must_be_refused(evidence.exchange("second")?)?;
    passed()
}

/// The answer to an `acquire` of a lock that another client has.
pub(super) fn must_be_refused(exchange: &Exchange) -> Result<(), Problem> {
    let wrong = |what: String| Err(Problem::new(what).with_line(&exchange.line()));
    match &exchange.answer {
        Answer::Refused => Ok(()),
        Answer::Granted { .. } => {
            wrong("it granted the lock to a second client while the first one held it".into())
        }
        other => wrong(format!(
            "it answered with `{}` while another client had the lock; that is `refused`",
            other.reply()
        )),
    }
}
