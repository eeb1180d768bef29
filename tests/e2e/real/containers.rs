//! Lists containers and their owners, using the command line of the engine.

use std::process::Command;

/// Runs `docker` with these arguments and returns its output.
pub fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker")
        .args(arguments)
        .output()
        .expect("`docker` must be on PATH");
    assert!(
        output.status.success(),
        "docker {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns the containers of the run of this process, in any state: their owner's label begins with the PID.
pub fn containers_of(pid: u32) -> Vec<String> {
    let format = r#"{{.ID}} {{.Label "picklock.owner"}}"#;
    let filter = "label=picklock.owner";
    let all = docker(&["ps", "-a", "--filter", filter, "--format", format]);
    let mark = format!("{pid}:");
    all.lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, owner)| owner.starts_with(&mark))
        .map(|(id, _)| id.to_owned())
        .collect()
}
