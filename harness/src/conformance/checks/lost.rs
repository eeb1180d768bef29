//! `lost`: a holder whose key is gone is told so, if the lock notices.

use crate::adapter::message::{Answer, Notification};
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, not_offered, passed};
use crate::conformance::script::{LockName, Say, Step, Who};

const TAKE: Say = Say::Acquire {
    lock: LockName::First,
    leases: 1.0,
    wait_ms: 0,
};

pub(super) const CHECK: Check = Check {
    name: "lost",
    about: "tells a holder with `lost` that its key is gone",
    paragraph: "events",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RemoveKeysSince("before"),
        Step::Wait(1.2),
        Step::LookAtKeys("late"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    let grant = evidence.granted("grant")?;
    let release = evidence.exchange("release")?;
    let keys_are_back = !evidence.written("before", "late")?.is_empty();
    let claims = Answer::Released {
        released: Some(true),
    };
    if release.answer == claims && !keys_are_back {
        return Err(Problem {
            paragraph: Some("release"),
            ..Problem::new("it answered with `released` = true, and its key was gone before")
                .with_line(&release.line())
        });
    }
    let is_lost = |event: &Notification| matches!(event, Notification::Lost { token } if Some(token.as_str()) == grant.token());
    match evidence.events.iter().any(|(_, event)| is_lost(event)) {
        true => passed(),
        false => not_offered("no `lost` came within a lease after its key was gone"),
    }
}
