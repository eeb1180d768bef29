//! Children that die with us.
//!
//! A child is put into a process group of its own, so that it can be killed whole, grandchildren
//! included, and so that the Ctrl-C of a terminal reaches us alone. It asks the kernel to be
//! killed when its parent dies, which works even when the parent was killed with SIGKILL.
//!
//! **The kernel's notion of "parent" is the thread that forked.** Spawn guarded children from a
//! thread that lives as long as they shall: the main thread, or a runtime's worker thread; never
//! from `spawn_blocking`, whose threads end when they have been idle for a while.
//!
//! This module does not cover grandchildren after a SIGKILL of ours: the
//! [`Reaper`](super::Reaper) does, through the group.

use std::io;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::process::Command;

use super::Owner;

/// Environment variable by which a child, and what it starts, is known to be ours.
pub const OWNER_VARIABLE: &str = "PICKLOCK_OWNER";

/// Makes what the command will start a guarded child. Works for servers and for workers.
pub fn prepare(command: &mut Command) {
    command.process_group(0);
    if let Ok(owner) = Owner::this_process() {
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
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that died before the request was in place sends no signal any more.
        if getppid() != Some(parent) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(ask);
    }
}
