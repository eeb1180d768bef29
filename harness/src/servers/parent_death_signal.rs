//! Children that die with this process.
//!
//! Each child gets a process group of its own. So it can be killed together with its descendants,
//! and Ctrl-C in a terminal reaches only this process. The child asks the kernel for a signal when
//! its parent dies, which works even if the parent is killed with SIGKILL.
//!
//! **The kernel's notion of "parent" is the thread that forked.** Spawn these children from a
//! thread that lives as long as they do: the main thread, or a runtime's worker thread; never from
//! `spawn_blocking`, whose threads end when they have been idle for a while.
//!
//! The signal does not reach grandchildren. If this process is killed, the
//! [`Reaper`](super::Reaper) kills them through their group.

use std::io;

use rustix::process::{Resource, getpid, getppid, setrlimit};
use tokio::process::Command;

use super::{ProcessIdentity, descriptor_limit};

/// Environment variable that marks a child and its descendants as started by this process.
pub const OWNER_VARIABLE: &str = "PICKLOCK_OWNER";

/// Prepares a command so that its process dies with this one, and has the limits that this one was
/// started with. Used for servers and workers.
pub fn prepare(command: &mut Command) {
    command.process_group(0);
    if let Ok(owner) = ProcessIdentity::this_process() {
        command.env(OWNER_VARIABLE, owner.to_string());
    }
    die_with_parent(command);
}

#[expect(
    unsafe_code,
    reason = "the only way to act between fork and exec; everything called there is a bare system call, which is safe to do in a forked copy of a threaded process"
)]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let limit = descriptor_limit::inherited();
    let ask = move || {
        if let Some(limit) = limit {
            setrlimit(Resource::Nofile, limit)?;
        }
        // Elsewhere the reaper alone kills what is left behind.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // If the parent died before the request was made, no signal follows.
        if getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes three system calls, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(ask);
    }
}
