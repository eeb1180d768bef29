//! The backend that a run chooses on a machine that has them all.

use crate::running::{Outcome, picklock};

#[test]
fn the_best_backend_is_taken_and_the_reason_told() {
    let line = "scenario calm --impl set-nx-px --ttl 300ms";
    // The result of the run is irrelevant here: on a busy machine it is inconclusive.
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

/// The registry's message differs between machines, but the error always names the image.
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
