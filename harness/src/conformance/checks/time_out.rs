//! `time-out`: a server that does not answer ends in an error in time, and in an honest one.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed, passed_with};
use crate::conformance::script::{LONG_LEASES, LockName, Say, Step, TAKE, Who};

const TAKE_SECOND: Say = Say::Acquire {
    lock: LockName::Second,
    leases: LONG_LEASES,
    wait_ms: 0,
};

pub(super) const CHECK: Check = Check {
    name: "time-out",
    about: "answers within `timeout_ms` when the server does not, and not `definite`",
    paragraph: "time-outs",
    script: &[
        // So that there is a connection.
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
        Step::LookAtKeys("before"),
        Step::FreezeServer,
        Step::RequestKind(Who::One, TAKE_SECOND, "frozen"),
        Step::ThawServer,
        Step::Wait(0.1),
        Step::LookAtKeys("after"),
        Step::RemoveKeysSince("before"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    let frozen = evidence.exchange("frozen")?;
    let wrong = |what: &str| Err(Problem::new(what).with_line(&frozen.line()));
    let wrote = !evidence.written("before", "after")?.is_empty();
    match &frozen.answer {
        Answer::Granted { .. } => wrong("it granted the lock while the server was frozen"),
        Answer::Error { definite: true, .. } if wrote => wrong(
            "it says `definite` = true: that nothing has happened; when the server went on, the key was there",
        ),
        Answer::Error { definite: true, .. } => {
            passed_with("it says `definite` = true; only an answer of Redis is definite")
        }
        Answer::Refused => {
            passed_with("it answers `refused`; `error` with `definite` = false says more")
        }
        _ => passed(),
    }
}
