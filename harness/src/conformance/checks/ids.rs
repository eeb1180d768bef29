//! `ids`: the answer has the id of its request, whatever that is.

use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, Who};

/// More than 32 bits, and exact in a floating-point number, as JavaScript has them.
const LARGE_ID: u64 = (1 << 32) + 5;

pub(super) const CHECK: Check = Check {
    name: "ids",
    about: "answers with the `id` of the request, also a large one",
    paragraph: "one-answer-each",
    script: &[
        Step::RequestKind(Who::One, Say::PingAs(LARGE_ID), "large"),
        Step::RequestKind(Who::One, Say::Ping, "next"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.exchange("large")?;
    evidence.exchange("next")?;
    passed()
}
