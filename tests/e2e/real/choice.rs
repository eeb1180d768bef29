//! Which backend a run takes, on a machine that has them all.

use crate::running::{Outcome, picklock};

#[test]
fn the_best_backend_is_taken_and_the_reason_told() {
    let line = "scenario calm --impl set-nx-px --ttl 300ms";
    // What the run comes to is of no interest here: on a busy machine it is not judged.
    let first = |outcome: Outcome| outcome.stdout.lines().next().unwrap_or_default().to_owned();
    let docker = first(picklock(&format!("{line} --backend auto")).run());
    assert!(
        docker.starts_with("backend docker (a container engine answers; "),
        "{docker}"
    );
    let down = picklock(line).env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let process = first(down.run());
    assert!(process.starts_with("backend process ("), "{process}");
    assert!(
        process.contains("not docker: no container engine answers"),
        "{process}"
    );
}

/// What the registry says differs from machine to machine; that it is named does not.
#[test]
fn an_image_that_is_nowhere() {
    let line = "scenario calm --impl set-nx-px --backend docker --image picklock-no-such:1";
    let outcome = picklock(line).run().exits(4);
    let said = &outcome.stderr;
    assert!(
        said.contains("image picklock-no-such:1 not found, and it cannot be pulled"),
        "{said}"
    );
}
