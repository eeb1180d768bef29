//! `servers`: it talks to the servers that it was given, and to no others.

use crate::conformance::check::Check;
use crate::conformance::evidence::Evidence;
use crate::conformance::finding::{Judgement, Problem, not_offered, passed, passed_with};
use crate::conformance::script::{Say, Step, TAKE, Who};

pub(super) const CHECK: Check = Check {
    name: "servers",
    about: "is connected to the server that it was given, and to no other",
    paragraph: "servers",
    script: &[
        Step::RequestKind(Who::One, TAKE, "grant"),
        Step::LookAtPeers(Who::One, "peers"),
        Step::RequestKind(Who::One, Say::Release { of: "grant" }, "release"),
    ],
    judge,
};

fn judge(evidence: &Evidence) -> Result<Judgement, Problem> {
    evidence.granted("grant")?;
    let peers = match evidence.peers.get("peers") {
        Some(Ok(peers)) => peers,
        Some(Err(error)) => return not_offered(format!("it cannot be seen here: {error}")),
        None => return not_offered("it cannot be seen here"),
    };
    let others = peers.iter().filter(|peer| Some(**peer) != evidence.node);
    let others: Vec<String> = others.map(ToString::to_string).collect();
    if !others.is_empty() {
        return Err(Problem::new(format!(
            "it is connected to {}, which it was not given; use the addresses in `nodes`",
            others.join(", ")
        )));
    }
    match peers.is_empty() {
        true => passed_with("it keeps no connection open"),
        false => passed(),
    }
}
