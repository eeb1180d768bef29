//! `garbage`: a line that is not a request is not answered, and does no harm.

use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed, passed_with};
use crate::conformance::script::{Step, Who};

pub(super) const CHECK: Check = Check {
    name: "garbage",
    about: "writes nothing to its standard output for a line that is not a request",
    paragraph: "lines",
    script: &[Step::Babble(Who::One), Step::PingOrEnd(Who::One)],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    match &evidence.gave_up {
        Some(how) => passed_with(format!("it ends: {how}")),
        None => passed(),
    }
}
