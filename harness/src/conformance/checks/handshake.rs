//! `handshake`: it starts, and answers `init` with `ready`.

use crate::adapter::message::Answer;
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed_with};
use crate::conformance::script::{Step, Who};

pub(super) const CHECK: Check = Check {
    name: "handshake",
    about: "starts, and answers `init` with `ready`",
    paragraph: "init",
    script: &[Step::Start(Who::One, "ready")],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    match &evidence.exchange("ready")?.answer {
        Answer::Ready {
            name: Some(name),
            version,
        } => {
            let version = version.iter().map(|version| format!(" {version}"));
            passed_with(format!("{name}{}", version.collect::<String>()))
        }
        _ => passed_with("without `name`: reports will show the command"),
    }
}
