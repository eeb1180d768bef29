//! `wait`: it gives up when `wait_ms` has run out.

use super::refusal::must_be_refused;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed_with};
use crate::conformance::script::{LONG_LEASES, LockName, Say, Step, TAKE, Who};

const WAIT_MS: u64 = 300;

const TRY: Say = Say::Acquire {
    lock: LockName::First,
    leases: LONG_LEASES,
    wait_ms: WAIT_MS,
};

pub(super) const CHECK: Check = Check {
    name: "wait",
    about: "gives up when `wait_ms` has run out",
    paragraph: "waiting",
    script: &[
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RequestKind(Who::Two, TRY, "second"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    let second = evidence.exchange("second")?;
    must_be_refused(second)?;
    let took_ms = second.heard.saturating_sub(second.sent).as_millis();
    passed_with(format!(
        "with `wait_ms` = {WAIT_MS} it refused after {took_ms} ms"
    ))
}
