//! `key`: the key that it writes is the lock's, and two locks are two keys.

use std::collections::BTreeSet;

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::{Evidence, listed};
use crate::conformance::finding::{Judgement, Problem, passed, passed_with};
use crate::conformance::script::{LONG_LEASES, LockName, Say, Step, TAKE, Who};

const TAKE_SECOND: Say = Say::Acquire {
    lock: LockName::Second,
    leases: LONG_LEASES,
    wait_ms: 0,
};

pub(super) const CHECK: Check = Check {
    name: "key",
    about: "writes the lock's key to the server, and another one for another lock",
    paragraph: "keys",
    script: &[
        Step::LookAtKeys("before"),
        Step::RequestKind(Who::One, TAKE, "first"),
        Step::LookAtKeys("with first"),
        Step::RequestKind(Who::Two, TAKE_SECOND, "second"),
        Step::LookAtKeys("with both"),
        Step::RequestKind(Who::One, Say::Release { of: "first" }, "release"),
        Step::RemoveKeysSince("before"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("first")?;
    let name = evidence.lock(LockName::First);
    let first = evidence.written("before", "with first")?;
    if first.is_empty() {
        return Err(Problem::new(format!(
            "it granted `{name}`, and wrote no key to the server that it was given"
        )));
    }
    let keys = listed(first.keys().copied());
    let second = evidence.exchange("second")?;
    if let Answer::Refused | Answer::Error { .. } = &second.answer {
        let other = evidence.lock(LockName::Second);
        return Err(Problem::new(format!(
            "two locks share a key: while only `{name}` was held, with the key {keys}, it answered `acquire` of `{other}` with `{}`",
            second.answer.reply()
        ))
        .with_line(&second.line()));
    }
    let both = evidence.written("before", "with both")?;
    let fresh: BTreeSet<&str> = both.keys().copied().collect();
    if fresh.iter().all(|key| first.contains_key(key)) {
        return Err(Problem::new(format!(
            "two locks share a key: it granted both, and all that it wrote is {keys}"
        )));
    }
    if first.contains_key(name) {
        return passed();
    }
    passed_with(format!("for `{name}` it writes {keys}"))
}
