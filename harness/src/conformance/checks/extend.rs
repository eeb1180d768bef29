//! `extend`: a lease can be extended, or the adapter says that it cannot.

use super::lease::{most_ms, ms};
use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, not_offered, passed};
use crate::conformance::script::{LockName, Say, Step, Who};

/// Long enough that it does not run out on a busy machine while the check waits.
const LEASES: f64 = 8.0;

const TAKE: Say = Say::Acquire {
    lock: LockName::First,
    leases: LEASES,
    wait_ms: 0,
};

const EXTEND: Say = Say::Extend {
    of: "grant",
    leases: LEASES,
};

pub(super) const CHECK: Check = Check {
    name: "extend",
    about: "extends a lease, or answers `unsupported`",
    paragraph: "extend",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::Wait(0.5),
        Step::RequestKind(Who::One, EXTEND, "extend"),
        Step::LookAtKeys("after"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    let extend = evidence.exchange("extend")?;
    let wrong = |what: String| Err(Problem::new(what).with_line(&extend.line()));
    match &extend.answer {
        Answer::Unsupported { message } => {
            return not_offered(message.clone().unwrap_or_else(|| "`unsupported`".into()));
        }
        Answer::Error {
            definite: true,
            message,
        } => {
            return not_offered(format!(
                "`error`: {message}. If the lock cannot be extended, `unsupported` says so"
            ));
        }
        Answer::Granted { .. } => {}
        other => {
            return wrong(format!(
                "it answered with `{}`, although the lease was running",
                other.reply()
            ));
        }
    }
    let written = evidence.written("before", "after")?;
    let keys = evidence.of_lock(LockName::First, &written);
    let rest_ms = keys.values().copied().max().filter(|rest| *rest >= 0);
    if let Some(rest_ms) = rest_ms {
        let at_most_ms = most_ms(evidence, extend, rest_ms)?;
        if at_most_ms < ms(extend.ttl_ms) {
            return wrong(format!(
                "it answered with `granted`, but the key was not extended: `ttl_ms` was {}, and the key lives for {at_most_ms} ms at the most",
                extend.ttl_ms
            ));
        }
    }
    let release = evidence.exchange("release")?;
    match &release.answer {
        Answer::Released {
            released: Some(true) | None,
        } => passed(),
        _ => Err(Problem::new(
            "after `extend`, it could not release the lock with the token of the extension",
        )
        .with_line(&release.line())),
    }
}
