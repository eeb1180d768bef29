//! Children that die with this process.
//!
//! Each child gets its own process group. A child can then be killed together with its descendants, and Ctrl-C in a
//! terminal reaches only this process. The child also requests that the kernel sends it a signal when its parent dies,
//! even by SIGKILL.
//!
//! **For the kernel, the parent is the thread that forked.** Spawn such children from a thread that lives as long as
//! they do, which is the main thread or a worker thread of a runtime. Never use `spawn_blocking`, whose threads exit
//! after they have been idle for a while.
//!
//! The signal does not reach grandchildren. If this process is killed, the [`Reaper`](super::Reaper) kills the
//! grandchildren through their group.

use std::io;

use rustix::process::{Resource, getpid, getppid, setrlimit};
use tokio::process::Command;

use super::{ProcessIdentity, descriptor_limit};

/// Environment variable that marks a child and its descendants as started by this process.
pub const OWNER_VARIABLE: &str = "PICKLOCK_OWNER";

/// Prepares a command so that its process dies with this process, and has the limits with which this process was
/// started. Used for servers and workers.
pub fn prepare(command: &mut Command) {
    command.process_group(0);
    if let Ok(owner) = ProcessIdentity::this_process() {
        command.env(OWNER_VARIABLE, owner.to_string());
    }
    die_with_parent(command);
}

#[expect(
    unsafe_code,
    reason = "the only way to act between fork and exec; everything called there is a bare system call, which is safe in a forked copy of a threaded process"
)]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let limit = descriptor_limit::inherited();
    let request_signal = move || {
        if let Some(limit) = limit {
            setrlimit(Resource::Nofile, limit)?;
        }
        // On other systems only the reaper kills the children.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // If the parent died before the request, there is no signal, so the child must exit by itself.
        if getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes three system calls, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(request_signal);
    }
}
