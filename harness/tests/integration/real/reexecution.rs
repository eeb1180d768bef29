//! Helper processes of the tests: this very test binary, executed again to play a role.
//!
//! The binary crate has subcommands for that; a library's tests have only themselves.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use picklock_harness::servers::{Reaper, run_reaper};

/// Names the role. Without it the "test" below is a mere entrance, and passes.
const ROLE: &str = "PICKLOCK_TEST_ROLE";

fn arguments() -> Vec<OsString> {
    ["--exact", "real::reexecution::entrance", "--nocapture"]
        .map(OsString::from)
        .to_vec()
}

/// A reaper that runs in another process of this test binary.
pub fn reaper() -> Reaper {
    let program = OsString::from("env");
    let mut args = vec![OsString::from(format!("{ROLE}=reaper"))];
    args.push(std::env::current_exe().unwrap().into());
    args.extend(arguments());
    Reaper::spawn(&PathBuf::from(program), &args).unwrap()
}

/// This test binary in a role. It says what it has to say on its standard output.
pub fn in_the_role_of(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(arguments())
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

#[test]
fn entrance() {
    match std::env::var(ROLE).as_deref() {
        Ok("reaper") => run_reaper(std::io::stdin().lock(), std::io::stdout()).unwrap(),
        Ok("detect") => super::detection::say_what_is_detected(),
        Ok(backend) => super::orphans::be_a_doomed_run(backend),
        Err(_) => {}
    }
}
