//! `release`: after it the lock is free.

use super::refusal::must_be_refused;
use crate::adapter::message::{Answer, Notification};
use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, passed, passed_with};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "release",
    about: "releases what it holds, and the next client gets it",
    paragraph: "release",
    script: &[
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
        Step::RequestKind(Who::Two, TAKE, "next"),
        Step::RequestKind(Who::Two, Say::Release { of: "next" }, "release of the next"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    let grant = evidence.granted("grant")?;
    let release = evidence.exchange("release")?;
    let wrong = |what: &str| Err(Problem::new(what).with_line(&release.line()));
    let lost = |event: &Notification| matches!(event, Notification::Lost { token } if Some(token.as_str()) == grant.token());
    if evidence.events.iter().any(|(_, event)| lost(event)) {
        return Err(Problem {
            paragraph: Some("events"),
            ..Problem::new("it wrote the event `lost` for a lock whose lease was running")
        });
    }
    let remark = match &release.answer {
        Answer::Released {
            released: Some(false),
        } => {
            return wrong("it says that the lock was no longer held, and its lease was running");
        }
        Answer::Released { released: None } => "`null`: it does not say whether it still held it",
        Answer::Released { .. } => "",
        other => {
            return wrong(&format!(
                "it answered with `{}`, although the lease was running",
                other.reply()
            ));
        }
    };
    let next = evidence.exchange("next")?;
    if must_be_refused(next).is_ok() {
        return wrong("after it had answered `released`, the next client was refused");
    }
    evidence.granted("next")?;
    match remark.is_empty() {
        true => passed(),
        false => passed_with(remark),
    }
}
