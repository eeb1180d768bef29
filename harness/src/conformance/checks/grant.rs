//! `grant`: a lock that nobody holds is granted.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "grant",
    about: "grants a lock that nobody holds",
    paragraph: "acquire",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::LookAtKeys("after"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    let problem = match evidence.granted("grant") {
        Ok(_) => return passed(),
        Err(problem) => problem,
    };
    let (before, after) = (evidence.keys("before")?, evidence.keys("after")?);
    let failed = matches!(evidence.exchange("grant")?.answer, Answer::Error { .. });
    match failed && before.connections == after.connections {
        true => Err(Problem {
            what: format!(
                "{}; nothing has connected to the server that `nodes` names",
                problem.what
            ),
            paragraph: Some("servers"),
            ..problem
        }),
        false => Err(problem),
    }
}
