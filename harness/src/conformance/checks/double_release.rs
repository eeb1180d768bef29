//! `double-release`: a second release finds nothing to release.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed_with};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "double-release",
    about: "does not claim to release what it released before",
    paragraph: "release",
    script: &[
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "again"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    evidence.exchange("release")?;
    let again = evidence.exchange("again")?;
    match &again.answer {
        Answer::Released {
            released: Some(true),
        } => Err(Problem::new(
            "it answered the second `release` of a grant with `released` = true: nothing was held",
        )
        .with_line(&again.line())),
        Answer::Released {
            released: Some(false),
        } => passed_with("`false`"),
        Answer::Released { released: None } => passed_with("`null`"),
        other => passed_with(format!("`{}`", other.reply())),
    }
}
