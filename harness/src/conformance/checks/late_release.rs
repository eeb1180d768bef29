//! `late-release`: a release after the lease has run out says so.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed, passed_with};
use crate::conformance::script::{LockName, Say, Step, Who};

const TAKE: Say = Say::Acquire {
    lock: LockName::First,
    leases: 1.0,
    wait_ms: 0,
};

pub(super) const CHECK: Check = Check {
    name: "late-release",
    about: "does not claim to release what has run out",
    paragraph: "release",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::LookAtKeys("with it"),
        Step::Wait(1.3),
        Step::LookAtKeys("late"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    let release = evidence.exchange("release")?;
    let taken = evidence.written("before", "with it")?;
    let keys = evidence.of_lock(LockName::First, &taken);
    let late = &evidence.keys("late")?.ttl_ms;
    if keys.keys().any(|key| late.contains_key(*key)) {
        return passed_with("its key was still there: it renews the lease, or writes no expiry");
    }
    match &release.answer {
        Answer::Released {
            released: Some(true),
        } => Err(Problem::new(
            "it answered with `released` = true, and its key had run out before",
        )
        .with_line(&release.line())),
        _ => passed(),
    }
}
