//! `ping`: it answers at once.

use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, Who};

pub(super) const CHECK: Check = Check {
    name: "ping",
    about: "answers `ping` with `pong`",
    paragraph: "ping",
    script: &[Step::RequestKind(Who::One, Say::Ping, "ping")],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.exchange("ping")?;
    passed()
}
