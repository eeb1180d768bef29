//! Helper processes of the tests: this test binary, executed again in a role.
//!
//! The binary crate has subcommands for such processes; a library only has its test binary.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use picklock_harness::servers::{Reaper, run_reaper};

/// Environment variable with the role. Without it, the "test" below does nothing and passes.
const ROLE: &str = "PICKLOCK_TEST_ROLE";

fn arguments() -> Vec<OsString> {
    ["--exact", "real::reexecution::entrance", "--nocapture"]
        .map(OsString::from)
        .to_vec()
}

/// Starts a reaper that runs in another process of this test binary.
pub fn reaper() -> Reaper {
    let program = OsString::from("env");
    let mut args = vec![OsString::from(format!("{ROLE}=reaper"))];
    args.push(std::env::current_exe().unwrap().into());
    args.extend(arguments());
    Reaper::spawn(&PathBuf::from(program), &args).unwrap()
}

/// Returns a command that executes this test binary in a role, with its standard output piped.
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
        Ok("detect") => super::detection::print_detection(),
        Ok(backend) => super::orphans::run_until_killed(backend),
        Err(_) => {}
    }
}
