//! `end`: it exits when its standard input ends, and leaves nothing behind.

use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed};
use crate::conformance::script::{Say, Step, Who};

pub(super) const CHECK: Check = Check {
    name: "end",
    about: "exits with status 0 when its standard input ends, and leaves nothing behind",
    paragraph: "the-end",
    script: &[
        Step::RequestKind(Who::One, Say::Ping, "ping"),
        Step::EndInput(Who::One, "end"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.exchange("ping")?;
    let Some(end) = evidence.ends.get("end") else {
        return Err(Problem::new("the check did not get as far as its end"));
    };
    let Some(how) = &end.how else {
        return Err(Problem::new(format!(
            "it did not exit within {} s after its standard input had ended; it was killed",
            end.patience.as_secs()
        )));
    };
    if !end.left.is_empty() {
        return Err(Problem::new(format!(
            "it {how}, and left processes behind: {}; they were killed",
            end.left.join(", ")
        )));
    }
    match how.as_str() {
        "exited with status 0" => passed(),
        _ => Err(Problem::new(format!(
            "it {how} at the end of its standard input; expected status 0"
        ))),
    }
}
